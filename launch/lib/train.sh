# shellcheck shell=bash disable=SC2034,SC2154
# A run from the learner's start to its end, wherever its processes are. The ways to run one (local.sh, and nodes.sh
# for slurm.sh and hosts.sh) define
#   start_learner      starts it in the background and sets `learner` to the process to wait for
#   is_learners_own    whether learner_file, the text of learner.json, may be of the learner that was started: another one may have
#                      written it
#   ask_learner        asks it to end with a checkpoint
#   start_children     starts what makes episodes for the learner at $address, under supervise.sh
#   watch_ranks        looks after ranks of the learner that it has started, if any; rank_pid has their processes
learner="" learner_file="" address="" interrupted_by=""
rank_pid=()

stop_all() {
  stopping=1
  [[ -n $learner ]] && ask_learner
  # The learner ends cleanly by itself, with a checkpoint; it tells the actors to stop.
  for _ in $(seq 300); do
    if [[ -z $learner ]] || ! kill -0 "$learner" 2>/dev/null; then break; fi
    pause 0.1
  done
  # shellcheck disable=SC2086  # Empty when there is none any more.
  end_processes 50 "${child_pid[@]}" "${rank_pid[@]}" $learner
}

interrupt() {  # interrupt SIGNAL
  stopping=1
  interrupted_by=$1
  [[ -n $learner ]] && ask_learner
}

wait_for_learner() {  # Sets `code`.
  wait_for "$learner"
  code=$?
  learner=""
}

# Returns the learner's exit code.
train() {
  local code
  trap stop_all EXIT
  trap 'interrupt INT' INT
  trap 'interrupt TERM' TERM
  local before  # Of an earlier learner, or of one that works there still. Each start of a learner has a session of its own.
  before=$(cat "$run_dir/learner.json" 2>/dev/null)
  start_learner
  # Read once: the earlier learner's file goes when the new one starts.
  until learner_file=$(cat "$run_dir/learner.json" 2>/dev/null) && [[ -n $learner_file && $learner_file != "$before" ]] && is_learners_own; do
    if ! kill -0 "$learner" 2>/dev/null; then
      wait_for_learner
      if (( code != 0 )) && [[ -n $interrupted_by ]]; then echo "cluster.sh: stopped while the learner started" >&2; fi
      return "$code"
    fi
    pause 0.05
  done
  address=$(sed -nE 's/.*"address": *"([^"]+)".*/\1/p' <<<"$learner_file")
  start_children
  while kill -0 "$learner" 2>/dev/null; do  # Its end is the run's end.
    replace_dead
    watch_ranks
    if (( ! stopping )) && all_given_up; then
      echo "cluster.sh: no actor is left, so the run ends" >&2
      stopping=1
      ask_learner
    fi
    pause 0.2
  done
  wait_for_learner
  if (( code != 0 )); then
    echo "cluster.sh: the learner ended with exit code $code; its log is $run_dir/logs/learner.log" >&2
  elif all_given_up; then
    code=2
  elif [[ -f $run_dir/policy.safetensors ]]; then
    echo "policy: $run_dir/policy.safetensors"
    printf "place a graph with it: %q/emplace place --graph G.graph.json --devices DEVICES.yaml --policy %q --out placement.json\n" \
      "$(realpath -s --relative-base=. "$bin")" "$run_dir/policy.safetensors"
  fi
  return "$code"
}
