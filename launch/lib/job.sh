# shellcheck shell=bash disable=SC2034,SC2154
# A run as one Slurm job (launch/job.sbatch): submits it, shows how it goes, and stops it on Ctrl-C.
readonly actors_per_node_of_a_job=8  # Where --actors-per-node does not say.
job="" state="" reason="" exit_code="" where=""  # Its id, and what scontrol says of it.
stops=0                                          # How often we were asked to stop.

submit_job() {
  local common=() learner_nodes=() actor_nodes=() arguments learners nodes_asked cores
  learners=$(rank_nodes)
  nodes_asked=${nodes_wanted:-$learners}
  (( nodes_asked >= learners )) || bad_usage "--nodes is $nodes_asked, expected at least $learners: $ranks ranks are $ranks_per_node a node"
  [[ -n $actors_per_node ]] || actors_per_node=$actors_per_node_of_a_job
  cores=$actors_per_node
  if (( nodes_asked == learners )); then
    cores=$((cores + $(ranks_on 0)))
  elif (( cores < $(ranks_on 0) )); then
    cores=$(ranks_on 0)
  fi
  [[ -z $partition ]] || common+=(--partition "$partition")
  [[ -z $time_limit ]] || common+=(--time "$time_limit")
  common+=(--ntasks-per-node 1 --cpus-per-task "$cores")
  [[ -z $gres ]] || common+=(--gres "$gres")
  learner_nodes=(--nodes "$nodes_asked")
  if [[ -n $gpus ]]; then
    learner_nodes=(--nodes "$learners" --gpus-per-node "$(ranks_on 0)")
    # Only the ranks' nodes need them: a job of two components.
    (( nodes_asked == learners )) || actor_nodes=(: "${common[@]}" --nodes "$((nodes_asked - learners))")
  fi
  arguments=("$config" --dir "$run_dir" "${resume[@]}" "${sets[@]}" --slurm --actors-per-node "$actors_per_node" ${gpus:+--gpus "$gpus"}
    ${ranks_per_node:+--ranks-per-node "$ranks_per_node"} ${gres:+--gres "$gres"})
  (( hardware == 0 )) || arguments+=(--hardware "$hardware")
  # SIGTERM a minute before the time is over: job.sbatch then goes back into the queue. A % is special in a file's name.
  job=$(sbatch --parsable --job-name "emplace-$(basename "$run_dir")" --requeue --signal B:TERM@60 --open-mode append \
    --output "${run_dir//%/%%}/logs/job.out" --error "${run_dir//%/%%}/logs/job.err" "${common[@]}" "${learner_nodes[@]}" \
    "${actor_nodes[@]}" "$root/launch/job.sbatch" "$root" "${arguments[@]}" 2>"$run_dir/logs/sbatch.err") || {
    echo "cluster.sh: $(tail -n 1 "$run_dir/logs/sbatch.err")" >&2
    exit 2
  }
  job=${job%%;*}  # "12;cluster"
}

# The first signal lets the learner write its checkpoint, the second one ends the job at once.
stop_job() {
  stops=$((stops + 1))
  [[ -n $job ]] || exit 1
  look_at_job
  if (( stops == 1 )) && [[ $state == RUNNING ]]; then
    echo "job $job is told to stop; once more, and it is cancelled at once"
    scancel --batch --signal=INT "$job"
  elif ! scancel "$job" && (( stops > 1 )); then
    echo "cluster.sh: job $job could not be cancelled and may still be in the queue" >&2
    exit 1
  fi
}

# Sets state, reason and exit_code ("CODE:SIGNAL"); a heterogeneous job's are those of its first component, the learner's.
look_at_job() {
  local shown
  shown=$(scontrol show job -o "$job" 2>&1 | head -n 1)
  if [[ $shown == *"Invalid job id"* ]]; then state=UNKNOWN; return; fi
  [[ $shown == *JobState=* ]] || return  # The controller does not answer: ask again.
  state=$(sed -E 's/.* JobState=([^ ]+).*/\1/' <<<"$shown")
  reason=$(sed -E 's/.* Reason=([^ ]+).*/\1/' <<<"$shown")
  exit_code=$(sed -E 's/.* ExitCode=([^ ]+).*/\1/' <<<"$shown")
  where=$(sed -E 's/.* NodeList=([^ ]*).*/\1/' <<<"$shown")
}

follow_job() {
  local said="" line="" ended=0 tails=() out=$run_dir/logs/job.out err=$run_dir/logs/job.err
  set -m  # Ctrl-C is for us alone.
  tail -s 0.3 --pid=$$ -c "+$((out_size + 1))" -F "$out" 2>/dev/null &
  tails=($!)
  tail -s 0.3 --pid=$$ -c "+$((err_size + 1))" -F "$err" 3>&2 2>/dev/null >&3 &
  tails+=($!)
  set +m
  while (( ended < 2 )); do  # Twice: a job that goes back into the queue may seem to have ended for a moment.
    look_at_job
    case $state in
      PENDING) line="job $job is pending ($reason)" ended=0 ;;
      RUNNING) line="job $job runs on $where" ended=0 ;;
      COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | PREEMPTED | OUT_OF_MEMORY | DEADLINE | BOOT_FAIL | UNKNOWN) ended=$((ended + 1)) ;;
      *) ended=0 ;;
    esac
    [[ $line == "$said" ]] || echo "$line"
    said=$line
    sleep 1
  done
  { kill "${tails[@]}" && wait "${tails[@]}"; } 2>/dev/null
  end_with_job
}

# The learner's exit code is the job's.
end_with_job() {
  case $state in
    COMPLETED | FAILED) [[ $exit_code == *:0 ]] && exit "${exit_code%:*}" ;;
  esac
  if [[ $exit_code == 0:53 ]]; then  # What Slurm says when the script's output has nowhere to go.
    echo "cluster.sh: job $job found no $run_dir on ${where%%,*}, expected it to be shared by all nodes" >&2
    exit 2
  fi
  echo "cluster.sh: job $job ended as $state; its logs are in $run_dir/logs" >&2
  exit 1
}

# The job's nodes are known once it runs.
read_nodes() { command -v sbatch >/dev/null || bad_usage "--slurm needs sbatch, which is not on PATH"; }

run() {
  local out_size err_size
  refuse_bad_run
  mkdir -p "$run_dir/logs" || exit 1
  config=$(realpath "$config") run_dir=$(realpath "$run_dir")  # The job may have another working directory.
  # A job that goes on appends.
  touch "$run_dir/logs/job.out" "$run_dir/logs/job.err"
  out_size=$(stat -c %s "$run_dir/logs/job.out") err_size=$(stat -c %s "$run_dir/logs/job.err")
  trap stop_job INT TERM
  submit_job
  follow_job
}
