#!/usr/bin/env bash
# launch/lib/arguments.sh: what --gpus tells the learner.
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
exit "$wrong"
