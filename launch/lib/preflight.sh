# shellcheck shell=bash disable=SC2034,SC2154
# Looks at the nodes before anything starts there. Each check is one line on stdout, "ok    NAME: ..." or "FAILED NAME: ..." with
# what was expected. probe.sh gathers the facts, on all nodes at once.
declare -A fact=()       # "INDEX KEY": what probe.sh says of node INDEX.
checks_failed=0

passed() { echo "ok    $1: $2"; }
failed() { echo "FAILED $1: $2"; checks_failed=1; }

# judge NAME GOOD PROBLEM...: the one line of a check.
judge() {
  local name=$1 good=$2 text
  shift 2
  if (( $# == 0 )); then passed "$name" "$good"; return; fi
  text=$1
  shift
  (( $# == 0 )) || text+=$(printf '; %s' "$@")
  failed "$name" "$text"
}

configured_port() { configured_number network.port 0; }  # 0: any free one.
# The last of the ports: the second, or a third one for ranks on other nodes. Empty where any free ones are taken.
last_port() {
  local first
  first=$(configured_port)
  (( first == 0 )) || echo $((first + ($(rank_nodes) > 1 ? 2 : 1)))
}

# A node may say anything: what is to be a number becomes one, or is left out, for bash runs commands that it finds in `$(( ))`.
read_facts() {  # read_facts INDEX FILE
  local key value
  while read -r key value; do
    [[ $key =~ ^[a-z]+$ ]] || continue
    case $key in
      clock | before | after | cores | gpu)
        [[ $value =~ ^[0-9]{1,18}$ ]] || continue
        value=$((10#$value)) ;;
    esac
    fact["$1 $key"]=$value
  done <"$2"
}

# ask_node INDEX FOLDER: runs probe.sh there. The time here before and after brackets the time there.
ask_node() {
  local i=$1 out=$2/$1 programs=emplace-actor port="" gpu="" remote
  if (( i == 0 )); then
    programs+=" emplace-learner"
    port=$(configured_port)
  fi
  # Each node that has actors has those that measure, too.
  if (( hardware > 0 )) && [[ ${slots[$i]} != 0 ]]; then programs+=" emplace-hardware"; fi
  [[ -z $gpus ]] || gpu=$(ranks_on "$i")
  (( ${gpu:-0} > 0 )) || gpu=""
  [[ $port != 0 ]] || port=""
  on_node "$i" bash -s -- "$bin" "$programs" "$run_dir" "$token" "$run_dir/keys" "$port" "${port:+$(last_port)}" "$gpu"
  echo "before ${EPOCHREALTIME//[.,]/}" >"$out"
  "${remote[@]}" <"$root/launch/lib/probe.sh" >>"$out" 2>"$out.err"
  echo "after ${EPOCHREALTIME//[.,]/}" >>"$out"
}

check_reach() {
  local i problems=()
  for i in "${!nodes[@]}"; do
    [[ -v fact["$i end"] ]] || problems+=("${nodes[$i]} does not run commands for us: $(tail -n 1 "$1/$i.err")")
  done
  judge reach "${#nodes[@]} of ${#nodes[@]} nodes answer" "${problems[@]}"
}

check_binaries() {
  local i expected=${fact["0 programs"]} problems=()
  for i in "${!nodes[@]}"; do
    case ${fact["$i programs"]} in
      missing*) problems+=("${nodes[$i]} has no ${fact["$i programs"]#missing }, expected this checkout at the same path") ;;
      broken*) problems+=("${nodes[$i]}: ${fact["$i programs"]#broken }") ;;
      "$expected") ;;
      *) problems+=("${nodes[$i]} has version ${fact["$i programs"]#hash }, expected ${expected#hash } as on ${nodes[0]}") ;;
    esac
  done
  judge binaries "version ${expected#hash } on all nodes" "${problems[@]}"
}

check_directory() {
  local i problems=()
  for i in "${!nodes[@]}"; do
    case ${fact["$i directory"]} in
      absent) problems+=("${nodes[$i]} has no $run_dir, expected it to be shared") ;;
      read-only) problems+=("${nodes[$i]} cannot write to $run_dir") ;;
      unshared) problems+=("${nodes[$i]} has another $run_dir, expected it to be shared") ;;
    esac
  done
  judge directory "all nodes share $run_dir" "${problems[@]}"
}

check_keys() {
  local i mode problems=()
  for i in "${!nodes[@]}"; do
    mode=${fact["$i keys"]}
    [[ $mode == 600 ]] || problems+=("${nodes[$i]} finds ${mode:+files of mode }${mode:-no file} in $run_dir/keys, expected key files of mode 600")
  done
  judge keys "a file for each node, mode 600" "${problems[@]}"
}

check_port() {
  local port ports problems=()
  port=$(configured_port)
  if (( port == 0 )); then passed port "any free one on ${nodes[0]}"; return; fi
  ports="$port to $(last_port)"
  [[ ${fact["0 port"]} == free ]] || problems=("${fact["0 port"]#taken } is taken on ${nodes[0]}, expected $ports to be free")
  judge port "$ports are free on ${nodes[0]}" "${problems[@]}"
}

# Each rank has a GPU of its own.
check_gpu() {
  local i seen wanted problems=()
  for i in "${!nodes[@]}"; do
    seen=${fact["$i gpu"]:-0} wanted=$(ranks_on "$i")
    (( seen >= wanted )) || problems+=("nvidia-smi shows $seen on ${nodes[$i]}, expected $wanted")
  done
  judge gpu "${fact["0 gpu"]:-0} on ${nodes[0]}" "${problems[@]}"
}

# How far the node's time lies outside the time that asking it took; what is inside cannot be told from equal.
check_clocks() {
  local i off worst=0 farthest=0 text problems=()
  for i in "${!nodes[@]}"; do
    off=$(( ${fact["$i before"]:-0} - ${fact["$i clock"]:-0} ))
    (( off >= 0 )) || off=$(( ${fact["$i clock"]:-0} - ${fact["$i after"]:-0} ))
    (( off >= 0 )) || off=0
    text="${nodes[$i]} is $(printf '%d.%02d' $((off / 1000000)) $((off / 10000 % 100))) s off"
    (( i == 0 || off > worst )) && worst=$off farthest=$text
    (( off <= 2000000 )) || problems+=("$text, expected 2 s at most")
  done
  judge clock "$farthest${nodes[1]:+, the others no more}" "${problems[@]}"
}

nothing_started() {
  echo "cluster.sh: nothing was started, as a check failed" >&2
  exit 2
}

# The nodes of `nodes`, asked through on_node.
preflight_nodes() {
  local i folder token=$RANDOM$RANDOM$RANDOM
  folder=$(mktemp -d) || exit 1
  echo "$token" >"$run_dir/.token"
  for i in "${!nodes[@]}"; do ask_node "$i" "$folder" & done
  wait
  rm -f "$run_dir/.token"
  for i in "${!nodes[@]}"; do read_facts "$i" "$folder/$i"; done
  check_reach "$folder"
  rm -r "$folder"
  if (( ! checks_failed )); then
    check_binaries
    check_directory
    check_keys
    check_port
    [[ -z $gpus ]] || check_gpu
    check_clocks
  fi
  (( ! checks_failed )) || nothing_started
}

# This machine alone, before a local run: what was just built is here, and the learner makes the run directory, or says why it cannot;
# so only the port may be in the way. Silent when it is not.
preflight_here() {
  local nodes=("this machine") port
  port=$(configured_port)
  (( port > 0 )) || port=""
  read_facts 0 <(bash "$root/launch/lib/probe.sh" "" "" "" "" "" "$port" "$(last_port)" "")
  ! check_port | grep FAILED || nothing_started
}
