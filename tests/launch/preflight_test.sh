#!/usr/bin/env bash
# launch/lib/preflight.sh with nodes that say anything: no command of theirs runs here, and what is no number is none.
# shellcheck disable=SC2016,SC2034,SC2154,SC2317  # Variables and functions of the scripts under test.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$PWD nodes=(a b) gpus=1 resume=() sets=() config=configs/smoke.yaml run_dir=$work/run
# shellcheck source=../../launch/lib/preflight.sh
source launch/lib/preflight.sh
# shellcheck source=../../launch/lib/arguments.sh
source launch/lib/arguments.sh
gpus=1
# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh

# A node that wants commands run, wherever a number is computed with.
hostile=("a[\$(touch $work/ran)]" "x[0\$(touch $work/ran)]+1" "\$(touch $work/ran)" "1e3" "-5" "" "99999999999999999999")
for text in "${hostile[@]}"; do
  for key in clock before after cores gpu; do
    fact=()
    printf '%s %s\nclock[$(touch %s/ran)] 3\nend\n' "$key" "$text" "$work" >"$work/0"
    printf 'before 100\nclock 150\nafter 200\nend\n' >"$work/1"
    read_facts 0 "$work/0"
    read_facts 1 "$work/1"
    expect "'$key $text' is taken for a number" test -z "${fact["0 $key"]:-}"
    { check_clocks; check_gpu; default_actors "${fact["0 cores"]:-1}" 1; } >"$work/out" 2>&1
    expect "'$key $text' gives an error of bash: $(cat "$work/out")" bash -c '! grep -qE "syntax|token|unbound|line [0-9]" "$1"' - "$work/out"
  done
done
expect "a node's command ran" test ! -e "$work/ran"

fact=()
printf 'cores 08\ngpu 2\nbefore 1\nclock 0000009\nafter 20\nend\n' >"$work/0"
read_facts 0 "$work/0"
expect "cores 08 are not 8" test "${fact["0 cores"]}" = 8
expect "seven actors for eight cores" test "$(default_actors "${fact["0 cores"]}" 1)" = 7

# slots=08 in a hosts file.
actors_per_node="" hosts_file=$work/hosts
printf 'hostA slots=08\nhostB slots=010\n' >"$hosts_file"
# shellcheck source=../../launch/lib/hosts.sh
source launch/lib/hosts.sh
read_nodes
expect "slots=08 and slots=010 are ${slots[*]}" test "${slots[*]}" = "8 10"
exit "$wrong"
