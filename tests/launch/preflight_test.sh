#!/usr/bin/env bash
# launch/lib/preflight.sh with nodes that say anything: no command of theirs runs here, and what is no number is none.
# shellcheck disable=SC2016,SC2034,SC2154,SC2317  # Variables and functions of the scripts under test.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$PWD nodes=(a b) gpus=1 resume=() sets=() config=configs/smoke.yaml run_dir=$work/run
# shellcheck source=../../launch/lib/preflight.sh
source launch/lib/preflight.sh
# shellcheck source=../../launch/lib/arguments.sh
source launch/lib/arguments.sh
gpus=1
# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh

# A node that wants commands run, wherever a number is computed with.
hostile=("a[\$(touch $work/ran)]" "x[0\$(touch $work/ran)]+1" "\$(touch $work/ran)" "1e3" "-5" "" "99999999999999999999")
for text in "${hostile[@]}"; do
  for key in clock before after cores gpu; do
    fact=()
    printf '%s %s\nclock[$(touch %s/ran)] 3\nend\n' "$key" "$text" "$work" >"$work/0"
    printf 'before 100\nclock 150\nafter 200\nend\n' >"$work/1"
    read_facts 0 "$work/0"
    read_facts 1 "$work/1"
    expect "'$key $text' is taken for a number" test -z "${fact["0 $key"]:-}"
    { check_clocks; check_gpu; default_actors "${fact["0 cores"]:-1}" 1; } >"$work/out" 2>&1
    expect "'$key $text' gives an error of bash: $(cat "$work/out")" bash -c '! grep -qE "syntax|token|unbound|line [0-9]" "$1"' - "$work/out"
  done
done
expect "a node's command ran" test ! -e "$work/ran"

fact=()
printf 'cores 08\ngpu 2\nbefore 1\nclock 0000009\nafter 20\nend\n' >"$work/0"
read_facts 0 "$work/0"
expect "cores 08 are not 8" test "${fact["0 cores"]}" = 8
expect "seven actors for eight cores" test "$(default_actors "${fact["0 cores"]}" 1)" = 7

# slots=08 in a hosts file.
actors_per_node="" hosts_file=$work/hosts
printf 'hostA slots=08\nhostB slots=010\n' >"$hosts_file"
# shellcheck source=../../launch/lib/hosts.sh
source launch/lib/hosts.sh
read_nodes
expect "slots=08 and slots=010 are ${slots[*]}" test "${slots[*]}" = "8 10"

hosts_error() {  # hosts_error LINE...
  printf '%s\n' "$@" >"$hosts_file"
  (hosts=() nodes=() slots=(); read_nodes) 2>&1
}
expect "a host has two users" test "$(hosts_error "root@hA slots=1" "hA slots=1")" = "cluster.sh: $hosts_file:2: hA is there twice, expected each host once"
expect "a run needs no actors" test "$(hosts_error "hA slots=0")" = "cluster.sh: $hosts_file: no host has actors, expected slots=M above 0 for one"
expect "a host without slots has no actors" test -z "$(hosts_error hA "hB slots=0" hC)"

# The program that measures is looked for on nodes that have actors, where some measure.
programs_asked() {  # programs_asked HARDWARE INDEX
  hardware=$1 token=1 gpus="" slots=(0 "") config=configs/smoke.yaml
  on_node() { remote=(echo "programs $6"); }  # After the index: bash -s -- BIN PROGRAMS...
  ask_node "$2" "$work" && grep -h programs "$work/$2"
}
bin=$work/bin
mkdir "$bin"
for program in emplace-learner emplace-actor; do printf '#!/bin/sh\n' >"$bin/$program"; chmod +x "$bin/$program"; done
expect "nodes need emplace-hardware without --hardware" test "$(programs_asked 0 1)" = "programs emplace-actor"
expect "a node without actors needs emplace-hardware" test "$(programs_asked 1 0)" = "programs emplace-actor emplace-learner"
expect "emplace-hardware is not looked for" test "$(programs_asked 1 1)" = "programs emplace-actor emplace-hardware"
programs_fact() { bash launch/lib/probe.sh "$bin" "$1" "" "" "" "" "" "" | grep programs; }
expect "it is missed where nobody needs it" grep -q hash <(programs_fact emplace-actor)
expect "it is not missed" test "$(programs_fact "emplace-actor emplace-hardware")" = "programs missing $bin/emplace-hardware"
hardware=0 gpus=1

# Ports: the learner's two, and one more for ranks on other nodes.
check_ports() {  # check_ports RANKS RANKS_PER_NODE: the check's line where everything is free
  config=configs/smoke.yaml ranks=$1 ranks_per_node=$2 sets=(--set network.port=7000) fact=(["0 port"]=free)
  check_port
}
expect "a learner takes other ports than two" grep -qF "7000 to 7001 are free" <(check_ports 1 "")
expect "ranks beside the learner take a port" grep -qF "7000 to 7001 are free" <(check_ports 2 "")
expect "ranks on other nodes take no third port" grep -qF "7000 to 7002 are free" <(check_ports 2 1)

# Which port is taken is read from the system.
python3 -c '
import pathlib, socket, sys, time
taken = socket.create_server(("127.0.0.1", 0))
pathlib.Path(sys.argv[1]).write_text(str(taken.getsockname()[1]) + "\n")
time.sleep(60)' "$work/port" &
listener=$!
for _ in $(seq 100); do [[ -s $work/port ]] && break; sleep 0.1; done
port=$(cat "$work/port")
port_fact() { bash launch/lib/probe.sh "" "" "" "" "" "$1" "$2" "" | sed -n 's/^port //p'; }
expect "the first port is not looked at" test "$(port_fact "$port" "$((port + 1))")" = "taken $port"
expect "the last port is not looked at" test "$(port_fact "$port" "$port")" = "taken $port"
expect "a port before the first is looked at" test "$(port_fact "$((port + 1))" "$((port + 1))")" != "taken $port"
kill "$listener"
exit "$wrong"
