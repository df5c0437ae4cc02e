#!/usr/bin/env bash
# launch/lib/arguments.sh: what --gpus tells the learner, which numbers of actors there may be, and which runs cannot measure.
# shellcheck disable=SC2034  # Variables of the script under test.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=../../launch/lib/arguments.sh
source launch/lib/arguments.sh
# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh

# settings_of ARGUMENT...: what the learner gets beside the settings of the command line.
settings_of() { (parse_arguments configs/smoke.yaml "$@" && echo "${rank_sets[*]}"); }

expect "one GPU needs no more than a rank" test "$(settings_of --gpus 1)" = "--set training.ranks=1"
expect "several GPUs are not used" test "$(settings_of --gpus 2)" = "--set training.ranks=2 --set training.device=cuda"
expect "a device that was asked for does not count" \
  test "$(settings_of --set training.device=cpu --gpus 2)" = "--set training.ranks=2"
expect "without GPUs the configuration counts" test -z "$(settings_of --set training.ranks=3)"

# actors_of ARGUMENT...: how many actors simulate and how many measure, or why not.
actors_of() { (parse_arguments configs/ptb_hardware.yaml "$@" && echo "$actors and $hardware") 2>&1; }
expect "actors that measure need others" test "$(actors_of --actors 0 --hardware 2)" = "0 and 2"
expect "a run without any actor starts" test "$(actors_of --actors 0)" = "cluster.sh: --actors is '0', expected a number from 1 to 9999 (see --help)"
expect "'0x' is a number of actors" test "$(actors_of --actors 0x --hardware 1)" = "cluster.sh: --actors is '0x', expected a number from 1 to 9999 (see --help)"

for option in --dir --actors --hardware --set --hosts --nodes --actors-per-node --ranks-per-node --partition --time --gpus --gres; do
  expect "$option needs a value" grep -Eq "^cluster.sh: $option needs (a|section)[^(]+ \\(see --help\\)$" <(actors_of "$option")
done

# refusal CONFIGURATION: why a run of this resolved configuration cannot measure, from a stand-in for `emplace config`.
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
refusal() {
  printf '#!/bin/sh\ncat <<EOF\n%s\nEOF\n' "$1" >"$bin/emplace"
  chmod +x "$bin/emplace"
  (parse_arguments configs/smoke.yaml --hardware 1 && refuse_unmeasurable_run) 2>&1
}
measurable='workload:
  family: "ptb"  # Family.
  calls: true
training:
  sync: "async"  # lockstep
  objective: "reinforce"'
expect "a run that can measure is refused" test -z "$(refusal "$measurable")"
expect "lockstep is tried" test "$(refusal "${measurable/async/lockstep}")" = \
  "cluster.sh: training.sync is lockstep, expected async with --hardware: nobody can repeat measured rewards"
expect "evolution is tried" grep -q "training.objective is evolution" <(refusal "${measurable/reinforce/evolution}")
expect "graphs without calls are tried" test "$(refusal "${measurable/true/false}")" = \
  "cluster.sh: workload.calls is false, expected true with --hardware: ops are run by their calls"
files=${measurable/true/false}
expect "graphs from files are refused" test -z "$(refusal "${files/ptb/}")"
exit "$wrong"
