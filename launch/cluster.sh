#!/usr/bin/env bash
# Trains a policy: sets up, builds, starts one learner and the actors on this machine, and stops them all together.
#
#   launch/cluster.sh CONFIG [--dir RUN_DIR] [--actors N] [--resume] [--set section.key=value]...
set -uo pipefail
usage="usage: launch/cluster.sh CONFIG [--dir RUN_DIR] [--actors N] [--resume] [--set section.key=value]..."
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

bad_usage() {
  echo "cluster.sh: $1 ($usage)" >&2
  exit 2
}

config="" run_dir="" actors="" resume=() sets=()
while (( $# > 0 )); do
  case $1 in
    --dir) (( $# > 1 )) || bad_usage "--dir needs a folder"; run_dir=$2; shift 2 ;;
    --actors) (( $# > 1 )) || bad_usage "--actors needs a number"; actors=$2; shift 2 ;;
    --resume) resume=(--resume); shift ;;
    --set) (( $# > 1 )) || bad_usage "--set needs section.key=value"; sets+=(--set "$2"); shift 2 ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) bad_usage "unknown option '$1'" ;;
    *) [[ -z $config ]] || bad_usage "a second configuration '$1'"; config=$1; shift ;;
  esac
done
[[ -n $config ]] || bad_usage "no configuration given"
[[ -f $config ]] || bad_usage "$config does not exist, expected a configuration such as configs/ptb.yaml"
[[ -z $actors || $actors =~ ^[1-9][0-9]*$ ]] || bad_usage "--actors is '$actors', expected a number of at least 1"
[[ ${#resume[@]} -eq 0 || -n $run_dir ]] || bad_usage "--resume needs --dir RUN_DIR, the run to go on with"
if [[ -z $actors ]]; then
  # A core for the learner, and one for each actor; not on every core of a large machine: see README.md.
  actors=$(($(nproc) - 1))
  (( actors >= 1 )) || actors=1
  (( actors <= 8 )) || actors=8
fi
[[ -n $run_dir ]] || run_dir=runs/$(basename "$config" .yaml)-$(date +%Y%m%d-%H%M%S)

"$root/tools/setup.sh" || exit 1
mkdir -p "$root/build" || exit 1
build_log=$root/build/cluster-build.log
if ! { cmake -S "$root" --preset dev && cmake --build "$root/build" -j 2 --target emplace emplace-learner emplace-actor; } >"$build_log" 2>&1; then
  tail -n 30 "$build_log" >&2
  echo "cluster.sh: the build failed; the whole log is $build_log" >&2
  exit 1
fi
bin=$root/build/bin
mkdir -p "$run_dir/logs" || exit 1

# In one function: bash reads a script as it runs it, and a pull or an edit must not reach a run that goes on for hours.
main() {
learner=""
declare -A actor_pid=() restarts=()
stopping=0

# Every process we start dies with this script, even when it is killed outright: the kernel signals them.
start() { setpriv --pdeathsig TERM -- "$@"; }

start_actor() {
  start "$bin/emplace-actor" --learner "$address" --name "actor-$1" >>"$run_dir/logs/actor-$1.log" 2>&1 &
  actor_pid[$1]=$!
}

stop_all() {
  stopping=1
  local pid
  [[ -n $learner ]] && kill -TERM "$learner" 2>/dev/null
  # The learner ends cleanly by itself, with a checkpoint; it tells the actors to stop.
  for _ in $(seq 300); do
    [[ -n $learner ]] && kill -0 "$learner" 2>/dev/null || break
    sleep 0.1
  done
  for pid in "${actor_pid[@]}" $learner; do kill -TERM "$pid" 2>/dev/null; done
  for _ in $(seq 50); do
    local alive=0
    for pid in "${actor_pid[@]}" $learner; do kill -0 "$pid" 2>/dev/null && alive=1; done
    (( alive )) || break
    sleep 0.1
  done
  for pid in "${actor_pid[@]}" $learner; do kill -KILL "$pid" 2>/dev/null; done
}
trap stop_all EXIT
interrupted=0
trap 'interrupted=1; [[ -n $learner ]] && kill -TERM "$learner" 2>/dev/null' INT TERM

rm -f "$run_dir/learner.json"
# Its progress lines go straight through; in a process group of its own, so that Ctrl-C reaches it through us alone.
set -m
start "$bin/emplace-learner" --config "$config" --dir "$run_dir" "${resume[@]}" "${sets[@]}" &
learner=$!
set +m

while [[ ! -s $run_dir/learner.json ]]; do
  if ! kill -0 "$learner" 2>/dev/null; then
    wait "$learner"
    code=$?
    learner=""
    exit "$code"
  fi
  sleep 0.05
done
address=$(sed -nE 's/.*"address": *"([^"]+)".*/\1/p' "$run_dir/learner.json")
for (( i = 0; i < actors; ++i )); do
  restarts[$i]=0
  start_actor "$i"
done

# Watch: an actor that dies is replaced, more and more slowly if it keeps dying; the learner's end is the run's end.
while kill -0 "$learner" 2>/dev/null; do
  for i in "${!actor_pid[@]}"; do
    kill -0 "${actor_pid[$i]}" 2>/dev/null && continue
    wait "${actor_pid[$i]}" && { unset "actor_pid[$i]"; continue; }  # Told to stop: a clean end.
    code=$?
    (( interrupted || stopping )) && { unset "actor_pid[$i]"; continue; }
    restarts[$i]=$(( restarts[$i] + 1 ))
    if (( restarts[$i] > 20 )); then
      echo "cluster.sh: actor-$i died ${restarts[$i]} times and is not replaced any more; see $run_dir/logs/actor-$i.log" >&2
      unset "actor_pid[$i]"
      continue
    fi
    echo "cluster.sh: actor-$i died (exit code $code) and is replaced; see $run_dir/logs/actor-$i.log" >&2
    sleep "$(( restarts[$i] > 5 ? 2 : 0 )).2"
    start_actor "$i"
  done
  sleep 0.2
done
wait "$learner"
code=$?
learner=""
if (( code != 0 )); then
  echo "cluster.sh: the learner ended with exit code $code; its log is $run_dir/logs/learner.log" >&2
elif [[ -f $run_dir/policy.safetensors ]]; then
  echo "policy: $run_dir/policy.safetensors"
  echo "place a graph with it: build/bin/emplace place --graph G.graph.json --devices DEVICES.yaml --policy $run_dir/policy.safetensors --out placement.json"
fi
exit "$code"
}
main
