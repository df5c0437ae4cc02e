# shellcheck shell=bash disable=SC2034,SC2154
# One actor of this machine, by its number.

# The actors that simulate come first, those that measure after them.
start_child() {
  local program=("$bin/emplace-actor")
  (( $1 < actors )) || program=("$bin/emplace-hardware" actor)
  start "${program[@]}" --learner "$address" --name "${child_name[$1]}" >>"${child_log[$1]}" 2>&1 &
  child_pid[$1]=$!
}
