#!/usr/bin/env bash
# The actors of one node, named NODE/0, NODE/1, ..., and those that measure, NODE/hardware-0, ...: starts them, replaces those that
# die, and ends when the learner has told all of them to stop, or on SIGTERM. cluster.sh starts it on each node.
#
#   launch/node.sh ADDRESS KEYS NODE ACTORS BIN LOGS HARDWARE
set -uo pipefail
trap '' PIPE  # Who reads our output may end before us (| tee, | head): the run still ends with its checkpoint.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=lib/supervise.sh
source "$root/launch/lib/supervise.sh" || exit 1
# shellcheck source=lib/actors.sh
source "$root/launch/lib/actors.sh" || exit 1
address=$1 node=$3 actors=$4 bin=$5 logs=$6 hardware=$7
export EMPLACE_KEYS=$2

main() {
  local i
  trap 'stopping=1' TERM INT HUP
  # An actor sends what it has for 5 seconds at its end.
  trap 'end_processes 100 "${child_pid[@]}"' EXIT
  for (( i = 0; i < actors + hardware; ++i )); do
    if (( i < actors )); then child_name[i]=$node/$i; else child_name[i]=$node/hardware-$((i - actors)); fi
    child_log[i]=$logs/actor-$node-${child_name[i]#*/}.log
    start_child "$i"
  done
  while (( ${#child_pid[@]} > 0 && ! stopping )); do
    replace_dead
    pause 0.2
  done
  all_given_up && exit 2  # Here, too, they would be given up again.
  exit 0
}
main
