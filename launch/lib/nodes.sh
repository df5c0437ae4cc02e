# shellcheck shell=bash disable=SC2034,SC2154
# A run on several nodes: the learner on the first, or its ranks on the first few, and actors on those that have slots. slurm.sh and hosts.sh fill in
#   nodes=(NAME...)    slots=(ACTORS...)    learner_host    the name or address under which the others reach the first
#   on_node INDEX COMMAND...      sets remote=(...), which runs the command there; our stdin is its, and its exit code ours
nodes=() slots=() learner_host=""
rank_ended_at=""  # When the first rank of rank_pid ended badly ($SECONDS).
rank_failed=0

# What runs on a node ends when its stdin does (launch/tethered.sh), and so with us, however we end: file descriptor 8 holds the
# learner, 9 the actors. A child opens its end anew, read-only, and must not hold the others'.
make_tethers() {
  local folder
  folder=$(mktemp -d) && mkfifo "$folder/learner" "$folder/actors" || exit 1
  exec 8<>"$folder/learner" 9<>"$folder/actors"
  rm -r "$folder"
}

# Starts what on_node has put into `remote`, in a process group of its own: it ends with what this file descriptor holds.
start_remote() {  # start_remote DESCRIPTOR
  set -m
  "${remote[@]}" <"/proc/self/fd/$1" 8>&- 9>&- &
  set +m
}

start_learner() {
  local remote
  local await=()
  # Where all ranks are on its own node, the learner starts them itself.
  (( $(rank_nodes) == 1 )) || await=(--await-ranks)
  on_node 0 "$root/launch/tethered.sh" "$bin/emplace-learner" --config "$config" --dir "$run_dir" "${resume[@]}" "${await[@]}" \
    --set network.bind=0.0.0.0 --set "network.advertise=$learner_host" --set "network.keys=$run_dir/keys/learner.keys" \
    "${sets[@]}" "${rank_sets[@]}"
  start_remote 8
  learner=$!
}

is_learners_own() { :; }  # It is a process of another node.

ask_learner() { exec 8>&-; }

# A node's actors, all of them: launch/node.sh replaces single ones.
start_child() {
  local remote
  on_node "$1" "$root/launch/tethered.sh" "$root/launch/node.sh" "$address" "$run_dir/keys/actor-$1.keys" "${nodes[$1]}" \
    "${slots[$1]}" "$bin" "$run_dir/logs" "$hardware"
  start_remote 9
  child_pid[$1]=$!
}

# A rank ends with the learner, and is not replaced: without it there is no learner.
start_ranks() {
  local rank node=0 before=0 leader remote
  leader=$(sed -nE 's/.*"ranks_address": *"([^"]+)".*/\1/p' <<<"$learner_file")
  for (( rank = 1; rank < ranks; ++rank )); do
    while (( rank >= before + $(ranks_on "$node") )); do
      before=$((before + $(ranks_on "$node")))
      node=$((node + 1))
    done
    on_node "$node" "$root/launch/tethered.sh" "$bin/emplace-learner" --rank "$rank" --leader "$leader" \
      --keys "$run_dir/ranks.keys" --gpu "$((rank - before))"
    start_remote 8 >>"$run_dir/logs/rank-$rank.log" 2>&1
    rank_pid[rank]=$!
  done
}

# The learner says which rank has ended and why, unless that rank never reached it.
watch_ranks() {
  local rank code
  for rank in "${!rank_pid[@]}"; do
    kill -0 "${rank_pid[$rank]}" 2>/dev/null && continue
    wait_for "${rank_pid[$rank]}" && { unset "rank_pid[$rank]"; continue; }  # Told to stop: a clean end.
    code=$?
    [[ -n $rank_ended_at ]] || rank_ended_at=$SECONDS
    (( ! rank_failed && SECONDS - rank_ended_at >= 5 )) || continue
    echo "cluster.sh: rank $rank of $ranks has ended with exit code $code; see $run_dir/logs/rank-$rank.log" >&2
    rank_failed=1
    ask_learner
  done
}

start_children() {
  local i
  (( $(rank_nodes) == 1 )) || start_ranks
  for i in "${!nodes[@]}"; do
    (( slots[i] > 0 )) || continue
    child_name[i]="the connection to ${nodes[$i]}"
    child_log[i]=$run_dir/logs
    start_child "$i"
  done
}

# One key file for each node. Those of a run that goes on are kept, and it gets further ones when there are more nodes now.
make_keys() {
  local add=() problem
  if [[ -f $run_dir/keys/learner.keys ]]; then
    add=(--add)
  else
    rm -rf "$run_dir/keys"  # Without the learner's, which is written last, the others are of no use.
  fi
  problem=$("$bin/emplace" keygen "$run_dir/keys" --actors "${#nodes[@]}" "${add[@]}" 2>&1 >/dev/null) && return
  failed keys "${problem#emplace: }"
  nothing_started
}

# Where nobody said how many actors a node has: one a core.
fill_slots() {
  local i learner_cores
  for i in "${!nodes[@]}"; do
    learner_cores=$(ranks_on "$i")
    [[ -n ${slots[$i]} ]] || slots[i]=$(default_actors "${fact["$i cores"]:-1}" "$learner_cores")
  done
}

run_on_nodes() {
  (( $(rank_nodes) <= ${#nodes[@]} )) ||
    bad_usage "$ranks ranks with --ranks-per-node $ranks_per_node need $(rank_nodes) nodes, expected at most ${#nodes[@]}, as many as there are"
  refuse_bad_run
  mkdir -p "$run_dir/logs" || exit 1
  config=$(realpath "$config") run_dir=$(realpath "$run_dir")  # There they have another working directory.
  make_keys
  preflight_nodes
  fill_slots
  make_tethers
  train
  local code=$?
  (( ! rank_failed || code != 0 )) || code=1
  (( code <= 2 )) || code=1  # The way there failed, or the learner died of a signal.
  return "$code"
}
