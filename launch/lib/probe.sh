# shellcheck shell=bash
# What preflight.sh asks of a node, one fact a line: "KEY VALUE". It is sent to the node's bash on stdin, so that it can tell even
# that the checkout is not there. An empty argument is a question not asked.
#
#   bash -s -- BIN PROGRAMS RUN_DIR TOKEN KEYS PORT LAST_PORT GPU <probe.sh

programs_fact() {
  local bin=$1 programs=$2 program said
  for program in emplace-learner emplace-actor $programs; do
    [[ -x $bin/$program ]] || { echo "missing $bin/$program"; return; }
  done
  for program in $programs; do
    said=$("$bin/$program" --help 2>&1 >/dev/null) || { echo "broken $program does not start: $(tail -n 1 <<<"$said")"; return; }
  done
  echo "hash $(cat "$bin/emplace-learner" "$bin/emplace-actor" | sha256sum | cut -c 1-12)"
}

directory_fact() {
  local run_dir=$1 token=$2 mine
  [[ -d $run_dir ]] || { echo absent; return; }
  mine=$(mktemp "$run_dir/.preflight-XXXXXX" 2>/dev/null) || { echo read-only; return; }
  rm -f "$mine"
  # Another node's file: a network file system may take a moment to show it.
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [[ -n $token && ! -f $run_dir/.token ]] || break
    sleep 0.2
  done
  [[ -z $token || $(cat "$run_dir/.token" 2>/dev/null) == "$token" ]] && echo shared || echo unshared
}

# The first taken one of the ports from one number to another.
ports_fact() {
  awk -v first="$1" -v last="$2" 'FNR > 1 && $4 == "0A" {
      split($2, address, ":"); port = 0; digits = toupper(address[length(address)])
      for (i = 1; i <= length(digits); ++i) port = 16 * port + index("0123456789ABCDEF", substr(digits, i, 1)) - 1
      if (port >= first && port <= last && (!taken || port < taken)) taken = port
    }
    END { print taken ? "taken " taken : "free" }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

probe() {
  local bin=$1 programs=$2 run_dir=$3 token=$4 keys=$5 port=$6 last_port=$7 gpu=$8
  echo "clock ${EPOCHREALTIME//[.,]/}"  # Microseconds.
  echo "cores $(nproc)"
  [[ -z $bin ]] || echo "programs $(programs_fact "$bin" "$programs")"
  [[ -z $run_dir ]] || echo "directory $(directory_fact "$run_dir" "$token")"
  [[ -z $keys ]] || echo "keys $(stat -c %a "$keys"/*.keys 2>/dev/null | sort -u | paste -sd,)"
  [[ -z $port ]] || echo "port $(ports_fact "$port" "$last_port")"
  [[ -z $gpu ]] || echo "gpu $(nvidia-smi -L 2>/dev/null | grep -c '^GPU')"
  echo "end"
}
probe "$@"
