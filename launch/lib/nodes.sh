# shellcheck shell=bash disable=SC2034,SC2154
# A run on several nodes: the learner on the first, actors on those that have slots. slurm.sh and hosts.sh fill in
#   nodes=(NAME...)    slots=(ACTORS...)    learner_host    the name or address under which the others reach the first
#   on_node INDEX COMMAND...      sets remote=(...), which runs the command there; our stdin is its, and its exit code ours
nodes=() slots=() learner_host=""

# What runs on a node ends when its stdin does (launch/tethered.sh), and so with us, however we end: file descriptor 8 holds the
# learner, 9 the actors. A child opens its end anew, read-only, and must not hold the others'.
make_tethers() {
  local folder
  folder=$(mktemp -d) && mkfifo "$folder/learner" "$folder/actors" || exit 1
  exec 8<>"$folder/learner" 9<>"$folder/actors"
  rm -r "$folder"
}

start_learner() {
  local remote
  on_node 0 "$root/launch/tethered.sh" "$bin/emplace-learner" --config "$config" --dir "$run_dir" "${resume[@]}" \
    --set network.bind=0.0.0.0 --set "network.advertise=$learner_host" --set "network.keys=$run_dir/keys/learner.keys" \
    "${sets[@]}"
  set -m
  "${remote[@]}" </proc/self/fd/8 8>&- 9>&- &
  learner=$!
  set +m
}

ask_learner() { exec 8>&-; }

# A node's actors, all of them: launch/node.sh replaces single ones.
start_child() {
  local remote
  on_node "$1" "$root/launch/tethered.sh" "$root/launch/node.sh" "$address" "$run_dir/keys/actor-$1.keys" "${nodes[$1]}" \
    "${slots[$1]}" "$bin" "$run_dir/logs"
  set -m
  "${remote[@]}" </proc/self/fd/9 8>&- 9>&- &
  child_pid[$1]=$!
  set +m
}

start_children() {
  local i
  for i in "${!nodes[@]}"; do
    (( slots[i] > 0 )) || continue
    child_name[i]="the connection to ${nodes[$i]}"
    child_log[i]=$run_dir/logs
    start_child "$i"
  done
}

# One key file for each node. Those of a run that goes on are kept, and it gets further ones when there are more nodes now.
make_keys() {
  local add=()
  if [[ -f $run_dir/keys/learner.keys ]]; then
    add=(--add)
  else
    rm -rf "$run_dir/keys"  # Without the learner's, which is written last, the others are of no use.
  fi
  "$bin/emplace" keygen "$run_dir/keys" --actors "${#nodes[@]}" "${add[@]}" >/dev/null || exit 1
}

# Where nobody said how many actors a node has: one a core.
fill_slots() {
  local i learner_cores
  for i in "${!nodes[@]}"; do
    learner_cores=$(( i == 0 ))
    [[ -n ${slots[$i]} ]] || slots[i]=$(default_actors "${fact["$i cores"]:-1}" "$learner_cores")
  done
}

run_on_nodes() {
  config=$(realpath "$config") run_dir=$(realpath "$run_dir")  # There they have another working directory.
  refuse_second_run
  make_keys
  preflight_nodes
  fill_slots
  make_tethers
  train
  local code=$?
  (( code <= 2 )) || code=1  # The way there failed, or the learner died of a signal.
  return "$code"
}
