# shellcheck shell=bash disable=SC2034,SC2154
# A run over ssh, on the hosts of a file, one a line: "[USER@]HOST [slots=M]"; # begins a comment. The learner runs on the first.
# shellcheck source=nodes.sh
source "$root/launch/lib/nodes.sh" || exit 1
hosts=()  # As ssh knows them; `nodes` are without their users.

read_nodes() {
  local line number=0 name slot first_slots=""
  local -A seen=()
  while read -r line || [[ -n $line ]]; do
    number=$((number + 1))
    line=${line%%#*}
    [[ -n ${line// /} ]] || continue
    [[ $line =~ ^[[:space:]]*([^[:space:]=]+)([[:space:]]+slots=([0-9]{1,6}))?[[:space:]]*$ && ${BASH_REMATCH[1]} != -* ]] ||
      { echo "cluster.sh: $hosts_file:$number: '$line', expected HOST [slots=M]" >&2; exit 2; }
    name=${BASH_REMATCH[1]} slot=${BASH_REMATCH[3]:+$((10#${BASH_REMATCH[3]}))}
    # Actors have their host's name, whoever the user is.
    [[ -z ${seen[${name#*@}]:-} ]] || { echo "cluster.sh: $hosts_file:$number: ${name#*@} is there twice, expected each host once" >&2; exit 2; }
    seen[${name#*@}]=1
    hosts+=("$name") nodes+=("${name#*@}") slots+=("${slot:-$actors_per_node}")
    # The learner has its host for itself, unless slots are said or there is no other.
    (( ${#nodes[@]} > 1 )) || first_slots=$slot
  done <"$hosts_file"
  (( ${#nodes[@]} > 0 )) || { echo "cluster.sh: $hosts_file: no host, expected one a line" >&2; exit 2; }
  (( ${#nodes[@]} == 1 )) || slots[0]=${first_slots:-0}
  for slot in "${slots[@]}"; do [[ $slot == 0 ]] || return 0; done
  echo "cluster.sh: $hosts_file: no host has actors, expected slots=M above 0 for one" >&2
  exit 2
}

# EMPLACE_SSH may name another command, such as "ssh -F FILE".
on_node() {
  local host=${hosts[$1]}
  shift
  # shellcheck disable=SC2206  # Words.
  remote=(${EMPLACE_SSH:-ssh} -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 "$host")
  remote+=("$(printf '%q ' "$@")")
}

run() {
  # The name that ssh makes of it: the file's may be known to its configuration alone.
  learner_host=$(${EMPLACE_SSH:-ssh} -T -G "${hosts[0]}" | sed -n 's/^hostname //p')
  run_on_nodes
}
