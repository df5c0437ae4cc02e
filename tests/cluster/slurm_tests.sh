# shellcheck shell=bash disable=SC2154
# Sourced by run.sh.
two_nodes=(--slurm --nodes 2 --actors-per-node 2)

whole_run() {
  train whole "${two_nodes[@]}" || { cat "$work/whole.log"; return 1; }
  grep -q "^ok    clock: " "$work/whole.log" && grep -q "'nodeB/1' joins" "$work/whole.log" && grep -q "^policy: " "$work/whole.log" &&
    [[ -s $work/whole/policy.safetensors && -s $work/whole/logs/actor-nodeB-1.log ]] && ! grep -q "'nodeA/0' joins" "$work/whole.log"
}

archive_on_slurm() { train_from_archive archive "${two_nodes[@]}" && grep -q "'nodeB/1' joins" "$work/archive.log"; }

# The learner's ranks on both nodes, so that actors are on both too.
ranks_on_slurm() {
  train slurm-ranks "${two_nodes[@]}" --ranks-per-node 1 --set training.ranks=2 --set training.iterations=20 ||
    { cat "$work/slurm-ranks.log"; return 1; }
  grep -q "rank 1 of 2 follows tcp://" "$work/slurm-ranks/logs/rank-1.log" && grep -q "'nodeA/0' joins" "$work/slurm-ranks.log" &&
    queue_empties && nothing_left slurm-ranks
}

one_node() {
  train single --slurm --actors-per-node 1 --set training.iterations=20 || { cat "$work/single.log"; return 1; }
  grep -q "'nodeA/0' joins" "$work/single.log"
}

# An actor killed, then the run cancelled as Ctrl-C does.
cancelled_run() {
  local launcher actor
  train cancelled "${long[@]}" "${two_nodes[@]}" &
  launcher=$!
  wait_for 60 it_trains cancelled || { cat "$work/cancelled.log"; return 1; }
  actor=$(pgrep -o -f -- "emplace-actor --learner .* --name nodeB/1$")
  kill -KILL "$actor"
  wait_for 20 grep -q "nodeB/1 died" "$work/cancelled.log" || return 1
  wait_for 20 pgrep -f -- "emplace-actor --learner .* --name nodeB/1$" || return 1
  kill -INT "$(launcher_of cancelled)"
  wait "$launcher" || { echo "exit code $?"; tail "$work/cancelled.log"; return 1; }
  queue_empties && has_checkpoint cancelled && nothing_left cancelled
}

updates_of() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['updates'])" "$work/$1/summary.json"; }

resumed_run() {
  train cancelled --resume --set "training.iterations=$(($(updates_of cancelled) + 10))" "${two_nodes[@]}" && resumed cancelled 1
}

# Its configuration says that it is encrypted and open to the network.
resumed_here() {
  train cancelled --resume --set "training.iterations=$(($(updates_of cancelled) + 10))" --actors 1 && resumed cancelled 2 &&
    grep -q "tcp://127.0.0.1:" "$work/cancelled/learner.json"
}

open_keys() {
  chmod 644 "$work/cancelled/keys/actor-1.keys"
  check_fails "actor-1.keys: mode is 0644, expected 0600" launch/cluster.sh configs/smoke.yaml --dir "$work/cancelled" --resume "${two_nodes[@]}"
}

# Slurm's signal to the script ahead of the end of the time, an administrator's requeue, then a preemption: after each, the same run
# goes on by itself; at last it is told to stop.
requeued_run() {
  local launcher job
  train requeued "${long[@]}" "${two_nodes[@]}" &
  launcher=$!
  wait_for 60 it_trains requeued || return 1
  job=$(squeue --noheader --format %A)
  scancel --batch --signal=TERM "$job"
  wait_for 40 resumed requeued 1 && wait_for 20 has_actors || return 1
  scontrol requeue "$job"
  wait_for 40 resumed requeued 2 && wait_for 20 has_actors || return 1
  sbatch --quiet --partition urgent --nodes 2 --exclusive --output /dev/null --wrap "sleep 1" || return 1
  wait_for 60 resumed requeued 3 && wait_for 20 has_actors || return 1
  kill -TERM "$(launcher_of requeued)"
  wait "$launcher" && queue_empties && nothing_left requeued
}
has_actors() { pgrep -f -- "emplace-actor --learner .* --name nodeB/0$"; }

# An administrator's way, or a user's from elsewhere: the job does not come back.
scancelled_run() {
  local launcher
  train scancelled "${long[@]}" "${two_nodes[@]}" &
  launcher=$!
  wait_for 60 it_trains scancelled || return 1
  scancel "$(squeue --noheader --format %A)"
  wait "$launcher"
  (( $? == 1 )) && grep -q "ended as CANCELLED" "$work/scancelled.log" && queue_empties && has_checkpoint scancelled && nothing_left scancelled
}

# Runs whole, and then goes on until Ctrl-C.
in_an_allocation() {
  local allocate=(salloc --quiet --nodes 2 --ntasks-per-node 1 --cpus-per-task 2) launcher
  "${allocate[@]}" launch/cluster.sh configs/smoke.yaml --dir "$work/inside" --set training.iterations=20 "${two_nodes[@]}" || return 1
  "${allocate[@]}" launch/cluster.sh configs/smoke.yaml --dir "$work/inside" --resume "${long[@]}" "${two_nodes[@]}" >>"$work/inside.log" 2>&1 &
  launcher=$!
  wait_for 60 it_trains inside || return 1
  kill -INT "$(launcher_of inside)"
  wait "$launcher" && queue_empties && resumed inside 1 && nothing_left inside
}

cancelled_while_pending() {
  local launcher other code
  other=$(sbatch --parsable --nodes 2 --exclusive --output /dev/null --wrap "sleep 60") || return 1
  train pending "${two_nodes[@]}" &
  launcher=$!
  wait_for 30 grep -q "^job [0-9]* is pending (Resources)" "$work/pending.log"
  kill -INT "$(launcher_of pending)"
  wait "$launcher"
  code=$?
  scancel "$other"
  (( code == 1 )) && grep -q "ended as CANCELLED" "$work/pending.log" && queue_empties
}

# A job of two components, as only the learner's node is to have a GPU. That there is one is pretended.
gpu_run() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\necho "GPU 0: pretended"\n' >"$work/bin/nvidia-smi"
  chmod 755 "$work/bin/nvidia-smi"
  PATH=$work/bin:$PATH train gpu "${two_nodes[@]}" --gpus 1 --set training.iterations=20 ||
    { cat "$work/gpu.log"; return 1; }
  grep -q "^ok    gpu: 1 on nodeA" "$work/gpu.log" && grep -q "'nodeB/1' joins" "$work/gpu.log"
}

no_gpu() {
  printf '#!/bin/sh\nexit 9\n' >"$work/bin/nvidia-smi"
  PATH=$work/bin:$PATH check_fails "nvidia-smi shows 0 on nodeA, expected 1" \
    launch/cluster.sh configs/smoke.yaml --dir "$work/no-gpu" "${two_nodes[@]}" --gpus 1
}

unshared_directory() {
  mkdir -p "$work/unshared/logs"
  on_node_b mount -t tmpfs tmpfs "$work/unshared" && mkdir -p "$work/unshared/logs" && on_node_b mkdir "$work/unshared/logs"
  check_fails "nodeB has another $work/unshared" launch/cluster.sh configs/smoke.yaml --dir "$work/unshared" "${two_nodes[@]}"
  local result=$?
  on_node_b umount "$work/unshared"
  return "$result"
}

another_binary() {
  local actor=$PWD/build/bin/emplace-actor
  { cat "$actor"; echo; } >"$work/emplace-actor" && chmod 755 "$work/emplace-actor"
  on_node_b mount --bind "$work/emplace-actor" "$actor"
  check_fails "nodeB has version " launch/cluster.sh configs/smoke.yaml --dir "$work/another" "${two_nodes[@]}"
  local result=$?
  on_node_b umount "$actor"
  return "$result"
}

taken_port() {
  local port
  port=$(sed -n 's/^SlurmctldPort=//p' "$SLURM_CONF")
  check_fails "$port is taken" launch/cluster.sh configs/smoke.yaml --dir "$work/taken" --set "network.port=$port" "${two_nodes[@]}"
}

check "a Slurm of two nodes starts" start_slurm "$work/slurm" || return
check "a whole run on two nodes" whole_run
check "a run on two nodes from an archive" archive_on_slurm
check "ranks on two nodes" ranks_on_slurm
check "a whole run on one node" one_node
check "a killed actor is replaced; Ctrl-C leaves a checkpoint and no job" cancelled_run
check "--resume goes on with it" resumed_run
check "a local run goes on with it" resumed_here
check "a key file that others can read" open_keys
check "a run goes on by itself after SIGTERM, scontrol requeue and a preemption" requeued_run
check "scancel leaves a checkpoint and no job" scancelled_run
check "a run inside an allocation" in_an_allocation
check "a run with a GPU for the learner" gpu_run
check "a node without a GPU" no_gpu
check "a job cancelled while it is pending" cancelled_while_pending
check_hidden "a run directory that is not shared" unshared_directory
check_hidden "a node with another binary" another_binary
check "a port that is taken" taken_port
check "an unknown partition" says "Invalid partition" 2 launch/cluster.sh configs/smoke.yaml --dir "$work/partition" --slurm --partition none
check "a run directory in use" says "holds a run already" 2 launch/cluster.sh configs/smoke.yaml --dir "$work/whole" --slurm
check "--nodes without --slurm" says "--nodes needs --slurm" 2 launch/cluster.sh configs/smoke.yaml --nodes 2
check "--nodes 0" says "--nodes is '0', expected a number from 1 to 9999" 2 launch/cluster.sh configs/smoke.yaml --slurm --nodes 0
check "--slurm with --hosts" says "expected one of them" 2 launch/cluster.sh configs/smoke.yaml --slurm --hosts "$SLURM_CONF"
