# shellcheck shell=bash disable=SC2034,SC2154
# A run inside a Slurm allocation, SLURM_JOB_ID's: each process is a step of it, and the steps share its resources.
# shellcheck source=nodes.sh
source "$root/launch/lib/nodes.sh" || exit 1
node_group=()  # The component of a heterogeneous job that each node is of; empty in any other job.

read_nodes() {
  local group list name i
  [[ -z $partition$time_limit ]] ||
    echo "cluster.sh: job $SLURM_JOB_ID is there already: --partition and --time change nothing" >&2
  if [[ -n ${SLURM_HET_SIZE:-} ]]; then
    for (( group = 0; group < SLURM_HET_SIZE; ++group )); do
      list=SLURM_JOB_NODELIST_HET_GROUP_$group
      for name in $(scontrol show hostnames "${!list}"); do nodes+=("$name") node_group+=("$group"); done
    done
  else
    mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
  fi
  (( ${#nodes[@]} >= ${nodes_wanted:-1} )) ||
    bad_usage "--nodes is $nodes_wanted, expected at most ${#nodes[@]}, what job $SLURM_JOB_ID has"
  [[ -z $nodes_wanted ]] || nodes=("${nodes[@]:0:nodes_wanted}")
  # The learner has the first node for itself, and so have its ranks theirs, unless there are no others.
  for i in "${!nodes[@]}"; do
    slots[i]=$actors_per_node
    (( ${#nodes[@]} == $(rank_nodes) || $(ranks_on "$i") == 0 )) || slots[i]=0
  done
}

on_node() {
  local i=$1
  shift
  remote=(srun --overlap --nodes=1 --ntasks=1 "--nodelist=${nodes[$i]}" ${node_group[$i]:+"--het-group=${node_group[$i]}"} "$@")
}

run() {
  # Not every cluster's node names are host names.
  learner_host=$(scontrol show node -o "${nodes[0]}" | sed -nE 's/.* NodeAddr=([^ ]+).*/\1/p')
  run_on_nodes
}
