#!/usr/bin/env bash
# launch/lib/supervise.sh: a process that keeps dying is given up, one that dies now and then is always replaced, and one with bad
# input never.
# shellcheck disable=SC2034,SC2154,SC2317  # Variables and functions of the script under test.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=../../launch/lib/supervise.sh
source launch/lib/supervise.sh
sleep() { :; }  # The pauses between restarts.
child_name=(actor-0) child_log=(actor-0.log)
starts=0
start_child() {
  starts=$((starts + 1))
  false &
  child_pid[0]=$!
  wait_until_dead
}
wait_until_dead() { while kill -0 "${child_pid[0]}" 2>/dev/null; do :; done; }
# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh

restart_limit=3
start_child 0 2>/dev/null
for _ in 1 2 3 4 5; do replace_dead 2>>"$work/err"; done
expect "dying all the time: started $starts times, expected once and three times more" test "$starts" -eq 4
expect "it does not say that it gives up" grep -q "died 4 times in .* s and is not replaced any more" "$work/err"
expect "it goes on after giving up" test -z "${child_pid[*]}"

# Each death in a window of its own.
restarts=() restarts_since=() starts=0 restart_window=100
start_child 0 2>/dev/null
for death in 1 2 3 4 5 6 7 8; do
  SECONDS=$((1000 * death))
  replace_dead 2>>"$work/err"
done
expect "dying now and then: started $starts times, expected once and eight times more" test "$starts" -eq 9
expect "a process is left" all_given_up

# One of two ends for its input.
restarts=() restarts_since=() given_up=0
child_name=(actor-0 hardware-0) child_log=("$work/actor-0.log" "$work/hardware-0.log")
printf '%s\n' "11:22:33.444 hardware-0: joins" "emplace-hardware: no such device" "11:22:33.445 hardware-0: goodbye" >"$work/hardware-0.log"
command sleep 60 &
child_pid[0]=$!
other=$!
(exit 2) &
child_pid[1]=$!
while kill -0 "${child_pid[1]}" 2>/dev/null; do :; done
starts=0
replace_dead 2>"$work/err"
expect "bad input is tried again" test "$starts" -eq 0
expect "the reason is not said: $(cat "$work/err")" test "$(cat "$work/err")" = \
  "cluster.sh: hardware-0 ended with exit code 2 and is not replaced: emplace-hardware: no such device"
some_left() { ! all_given_up; }
expect "the other one counts as given up" some_left
kill "$other"

# One that a signal ends: the launcher has words of its own.
said=$(bash -c '
  source launch/lib/supervise.sh
  child_name=(actor-0) child_log=(actor-0.log)
  sleep 600 &
  child_pid[0]=$!
  kill -KILL "${child_pid[0]}"
  while kill -0 "${child_pid[0]}" 2>/dev/null; do pause 0.1; done
  start_child() { child_pid[0]=$$; }
  replace_dead
  pause 0' 2>&1)
expect "bash has words of its own: $said" test "$said" = "cluster.sh: actor-0 died (exit code 137) and is replaced; see actor-0.log"
exit "$wrong"
