# shellcheck shell=bash disable=SC2034,SC2154
# The command line of cluster.sh. Sets the variables below; they are all that the other parts know of it.
usage="usage: launch/cluster.sh CONFIG [--dir RUN_DIR] [--actors N] [--hardware N] [--resume] [--set section.key=value]... [--gpus N] [--slurm [--nodes N] [--actors-per-node M] [--ranks-per-node R] [--partition P] [--time T] [--gres LIST]] [--hosts FILE [--actors-per-node M] [--ranks-per-node R]]"

config="" run_dir="" actors="" hardware=0 resume=() sets=()
mode=local                     # local, slurm or hosts
hosts_file=""
actors_per_node=""             # Empty: fill_slots of nodes.sh chooses; see docs/cluster.md.
nodes_wanted=""                # --slurm only, as are the next three.
partition="" time_limit="" gres=""
gpus="" ranks_per_node=""      # Empty: no GPU; all ranks on the first node.
ranks=1                        # Processes of the learner (training.ranks).
rank_sets=()                   # What --gpus says of them, for the learner's command line.

show_help() {
  cat <<EOF
$usage

Trains a placement policy: sets up, builds, starts one learner and its actors, and stops all of them together.

  CONFIG               configuration of the run, such as configs/ptb.yaml
  --dir RUN_DIR        folder to which the run is written (default: runs/NAME-DATE-TIME)
  --actors N           number of actors on this machine (default: one for each core but one, 8 at most);
                       0 with --hardware: all rewards are measured
  --hardware N         number of actors on this machine, or on each node that has actors, that measure rewards on its
                       devices (docs/hardware.md)
  --resume             go on with the run in RUN_DIR, from its newest checkpoint
  --set SECTION.KEY=VALUE
                       replace a value of the configuration; may be repeated
  --gpus N             number of GPUs for the learner, and so of its processes, called ranks: sets training.ranks to N,
                       and with several also training.device to cuda
                       (default: no GPU, and as many ranks as the configuration says)

On a Slurm cluster:
  --slurm              submit the run as a Slurm job, or run it inside the current allocation
  --nodes N            number of nodes (default: as many as have ranks, or all nodes of the current allocation)
  --partition P        Slurm partition of the job
  --time T             time limit of the job, such as 2:00:00
  --gres LIST          generic resources of the nodes that have actors, as sbatch takes them, such as gpu:2

Over ssh:
  --hosts FILE         file with a host on each line, "[USER@]HOST [slots=ACTORS]"; the learner runs on the first host

With --slurm or --hosts:
  --actors-per-node M  number of actors on each node
  --ranks-per-node R   number of ranks on each of the first nodes (default: all ranks on the first node)

docs/cluster.md describes runs on clusters, docs/training.md what a run prints and writes.
EOF
}

bad_usage() {
  echo "cluster.sh: $1 (see --help)" >&2
  exit 2
}

# positive OPTION VALUE: no computer has room for more processes than that.
positive() { [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || bad_usage "$1 is '$2', expected a number from 1 to 9999"; }

choose_mode() {
  [[ $mode == local ]] || bad_usage "--$mode and --$1 together, expected one of them"
  mode=$1
}

# value_of OPTION: what has to follow it; empty: nothing.
value_of() {
  case $1 in
    --dir) echo "a folder" ;;
    --actors | --hardware | --gpus | --nodes | --actors-per-node | --ranks-per-node) echo "a number" ;;
    --set) echo "section.key=value" ;;
    --hosts) echo "a file" ;;
    --partition) echo "a name" ;;
    --time) echo "a time, such as 2:00:00" ;;
    --gres) echo "a list, such as gpu:2" ;;
  esac
}

parse_arguments() {
  while (( $# > 0 )); do
    (( $# > 1 )) || [[ -z $(value_of "$1") ]] || bad_usage "$1 needs $(value_of "$1")"
    case $1 in
      --dir) run_dir=$2; shift 2 ;;
      --actors) actors=$2; shift 2 ;;
      --hardware) hardware=$2; positive --hardware "$2"; shift 2 ;;
      --resume) resume=(--resume); shift ;;
      --set) sets+=(--set "$2"); shift 2 ;;
      --slurm) choose_mode slurm; shift ;;
      --hosts) choose_mode hosts; hosts_file=$2; shift 2 ;;
      --nodes) nodes_wanted=$2; shift 2 ;;
      --actors-per-node) actors_per_node=$2; shift 2 ;;
      --ranks-per-node) ranks_per_node=$2; shift 2 ;;
      --partition) partition=$2; shift 2 ;;
      --time) time_limit=$2; shift 2 ;;
      --gpus) gpus=$2; shift 2 ;;
      --gres) gres=$2; shift 2 ;;
      -h | --help) show_help; exit 0 ;;
      -*) bad_usage "unknown option '$1'" ;;
      *) [[ -z $config ]] || bad_usage "a second configuration '$1'"; config=$1; shift ;;
    esac
  done
  check_arguments
}

check_arguments() {
  [[ -n $config ]] || bad_usage "no configuration given"
  [[ -f $config ]] || bad_usage "$config: there is no such file, expected a configuration such as configs/ptb.yaml"
  [[ -z $actors ]] || { [[ $actors == 0 ]] && (( hardware > 0 )); } || positive --actors "$actors"
  [[ ${#resume[@]} -eq 0 || -n $run_dir ]] || bad_usage "--resume needs --dir RUN_DIR, the run to go on with"
  if [[ $mode != slurm ]]; then
    [[ -z $nodes_wanted ]] || bad_usage "--nodes needs --slurm"
    [[ -z $partition ]] || bad_usage "--partition needs --slurm"
    [[ -z $time_limit ]] || bad_usage "--time needs --slurm"
    [[ -z $gres ]] || bad_usage "--gres needs --slurm"
  fi
  if [[ $mode == local ]]; then
    [[ -z $actors_per_node ]] || bad_usage "--actors-per-node needs --slurm or --hosts, expected --actors"
    [[ -z $ranks_per_node ]] || bad_usage "--ranks-per-node needs --slurm or --hosts"
  else
    [[ -z $actors ]] || bad_usage "--actors is for one machine, expected --actors-per-node"
  fi
  [[ -z $nodes_wanted ]] || positive --nodes "$nodes_wanted"
  [[ -z $actors_per_node ]] || positive --actors-per-node "$actors_per_node"
  [[ -z $gpus ]] || positive --gpus "$gpus"
  [[ -z $ranks_per_node ]] || positive --ranks-per-node "$ranks_per_node"
  [[ $mode != hosts || -f $hosts_file ]] || bad_usage "$hosts_file: there is no such file, expected one with a host on each line"
  [[ -n $run_dir ]] || run_dir=runs/$(basename "$config" .yaml)-$(date +%Y%m%d-%H%M%S)
  if [[ -n $gpus ]]; then
    ranks=$gpus rank_sets=(--set "training.ranks=$gpus")
    # For several ranks `auto` is the CPU.
    (( gpus == 1 )) || [[ " ${sets[*]} " == *" training.device="* ]] || rank_sets+=(--set training.device=cuda)
  else
    ranks=$(configured_number training.ranks 1)
    (( ranks >= 1 && ranks <= 256 )) || ranks=1  # The learner complains of anything else.
  fi
}

# The file that counts: a run that goes on has a configuration of its own.
configuration_file() { [[ ${#resume[@]} -gt 0 && -f $run_dir/config.yaml ]] && echo "$run_dir/config.yaml" || echo "$config"; }

# The number that the configuration has for a key, "section.key", or else the default.
configured_number() {  # configured_number KEY DEFAULT
  local number setting
  number=$(sed 's/#.*//' "$(configuration_file)" | grep -oE "\\b${1#*.}: *[0-9]+" | grep -oE '[0-9]+$' | tail -n 1)
  for setting in "${sets[@]}"; do
    [[ $setting != $1=* ]] || number=${setting#*=}
  done
  [[ $number =~ ^[0-9]{1,5}$ ]] && echo $((10#$number)) || echo "$2"
}

# How many ranks a node has, the first being node 0.
ranks_on() {  # ranks_on INDEX
  local each=${ranks_per_node:-$ranks} number
  number=$((ranks - $1 * each))
  (( number >= 0 )) || number=0
  (( number <= each )) || number=$each
  echo "$number"
}

# How many nodes have ranks.
rank_nodes() {
  local each=${ranks_per_node:-$ranks}
  echo $(((ranks + each - 1) / each))
}

# A run that goes on keeps its configuration: says so where the one that is given is another. It is read all the same, for its errors.
say_which_configuration() {
  local given counts
  [[ $(configuration_file) != "$config" ]] || return 0
  given=$("$bin/emplace" config "$config" "${sets[@]}") && counts=$("$bin/emplace" config "$run_dir/config.yaml" "${sets[@]}") || exit 2
  [[ $given == "$counts" ]] || echo "cluster.sh: goes on with $run_dir/config.yaml; $config, which differs from it, is not read"
}

# What the learner would refuse too, but later than is good for a queue, or for the keys that are there, or would be left there.
refuse_bad_run() {
  "$bin/emplace" inspect "$(configuration_file)" "${sets[@]}" "${rank_sets[@]}" >/dev/null || exit 2
  [[ ${#resume[@]} -gt 0 || ! -e $run_dir/config.yaml ]] && return
  echo "cluster.sh: $run_dir: holds a run already, expected another --dir, or --resume to go on with it" >&2
  exit 2
}

# What no run with actors that measure can be, in one line.
refuse_unmeasurable_run() {
  local resolved
  (( hardware > 0 )) || return 0
  resolved=$("$bin/emplace" config "$(configuration_file)" "${sets[@]}" "${rank_sets[@]}") || exit 2
  unless_resolved training.objective evolution "expected another objective with --hardware: trials are simulated"
  unless_resolved training.sync lockstep "expected async with --hardware: nobody can repeat measured rewards"
  [[ $(resolved_value workload.family) == "" ]] ||
    unless_resolved workload.calls false "expected true with --hardware: ops are run by their calls"
}

# resolved_value KEY: what `resolved` has for a key, "section.key".
resolved_value() {
  awk -v section="${1%.*}:" -v key="${1#*.}:" '/^[a-z]/ { here = $1 == section } here && $1 == key { gsub(/"/, "", $2); print $2 }' <<<"$resolved"
}

# unless_resolved KEY VALUE EXPECTED: ends with one line where `resolved` has this value.
unless_resolved() { [[ $(resolved_value "$1") != "$2" ]] || { echo "cluster.sh: $1 is $2, $3" >&2; exit 2; }; }

# One actor for each core that the learner does not use, and 8 at most; docs/cluster.md says why.
default_actors() {  # default_actors CORES CORES_FOR_THE_LEARNER
  local number=$(($1 - $2))
  (( number >= 1 )) || number=1
  (( number <= 8 )) || number=8
  echo "$number"
}
