#!/usr/bin/env bash
# Runs with actors that measure their rewards on this computer's cores: beside one that simulates, killed on the way, with
# placements that cannot be run, and with wrong input. Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
export EMPLACE_LOCK_FOLDER=$work  # Runs beside this test are none of its business.
bin=build/bin
# Short episodes, of few steps each, and as many of them as it takes.
small=(--set grouping.max_groups=4 --set hardware.steps=2 --set hardware.warmup=0 --set training.iterations=1000000
  --set training.max_minutes=5 --set training.max_lag=1000000 --set evaluation.every=0 --set checkpoint.every=5)
cores=$(nproc)
if (( cores < 2 )); then
  sed 's/, cores: \[[01]\]//' configs/clusters/cpux2.yaml >"$work/cpus.yaml"
  small+=(--set "workload.devices=$work/cpus.yaml")
fi

await() {  # await SECONDS COMMAND...
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    (( SECONDS < deadline )) || return 1
    sleep 0.1
  done
}

# Episodes with measured rewards that updates have used.
measured() { sed -nE 's/.*"measured_episodes": ?([0-9.]+).*/\1/p' "$1/metrics.jsonl" | awk '{ sum += $1 } END { print int(sum) }'; }
measured_more_than() { (( $(measured "$1") > $2 )); }

# stop LAUNCHER RUN: ends the run as Ctrl-C does, and looks at what it leaves.
stop() {
  kill -TERM "$1"
  wait "$1"
  expect "$2 ends well" test $? -eq 0
  expect "$2 ends with its policy" test -s "$2/policy.safetensors"
  expect "the ledger of $2 balances" balanced "$2/ledger.json"
}

# All rewards are measured.
run=$work/alone
launch/cluster.sh configs/ptb_hardware.yaml --dir "$run" --actors 0 --hardware 1 "${small[@]}" --set training.iterations=3 \
  --set training.episodes_per_update=2 >"$work/alone.log" 2>&1
expect "a run without actors that simulate ends well" test $? -eq 0
all_measured() {
  python3 - "$run" <<'PY'
import json, pathlib, sys
run = pathlib.Path(sys.argv[1])
summary, total = json.loads((run / "summary.json").read_text()), json.loads((run / "ledger.json").read_text())["total"]
assert summary["updates"] == 3 and total["trained"] == 6 and summary["measured"] == total["measured"] >= 6, (summary, total)
PY
}
expect "each of its episodes was measured" all_measured
expect "the ledger says so" grep -q "^with measured rewards: " "$work/alone.log"

# What no actor can measure. The launcher ends with exit code 2, and says why.
fails_to_start() {  # fails_to_start NAME TEXT OPTIONS...
  local name=$1 text=$2 code
  shift 2
  launch/cluster.sh configs/ptb_hardware.yaml --dir "$work/$name" --actors 0 --hardware 1 "${small[@]}" "$@" >"$work/$name.log" 2>&1
  code=$?
  expect "$name: exit code $code, expected 2" test "$code" -eq 2
  expect "$name: the reason is said: $(tail -n 5 "$work/$name.log")" grep -qF -- "$text" "$work/$name.log"
}
fails_to_start no_lockstep "cluster.sh: training.sync is lockstep, expected async with --hardware" --set training.sync=lockstep
expect "no_lockstep: nothing was started" test ! -e "$work/no_lockstep"
sed 's/cpu:1/tpu:1/' configs/clusters/cpux2.yaml >"$work/tpu.yaml"
fails_to_start no_device "cluster.sh: hardware-0 ended with exit code 2 and is not replaced: emplace-hardware: " --set "workload.devices=$work/tpu.yaml"
expect "no_device: the run ends" grep -q "cluster.sh: no actor is left, so the run ends" "$work/no_device.log"
EMPLACE_LOCK_FOLDER=$work/none fails_to_start no_lock "EMPLACE_LOCK_FOLDER is '$work/none', expected a folder"

# One actor measures, one simulates. The first is killed, with what runs its steps; another takes its place.
run=$work/mixed
launch/cluster.sh configs/ptb_hardware.yaml --dir "$run" --actors 1 --hardware 1 "${small[@]}" >"$work/mixed.log" 2>&1 &
launcher=$!
expect "measured episodes are trained on" await 200 measured_more_than "$run" 0
address=$(sed -nE 's/.*"address":"([^"]+)".*/\1/p' "$run/learner.json")
victim=$(pgrep -o -f -- "emplace-hardware actor --learner $address")
steps=$(pgrep -o -P "${victim:-0}")
expect "what runs the steps can be killed" kill -KILL "${steps:-none}"
# Killed while it ran the reference placement, which is tried once more, it is no penalty: then the next one is killed.
penalty=(grep -q "counts as one that takes 10 times" "$run/logs/hardware-0.log")
for _ in {1..5}; do
  await 12 "${penalty[@]}" && break
  kill -KILL "$(pgrep -o -P "$victim")"
done
expect "that is a penalty and no dead actor" "${penalty[@]}"
before=$(measured "$run")
expect "the actor goes on with a fresh process" await 100 measured_more_than "$run" "$before"
steps=$(pgrep -o -P "$victim")
expect "it has a process again" test -n "$steps"
expect "the actor can be killed" kill -KILL "$victim"
expect "the killed actor is replaced" await 30 grep -q "hardware-0 died" "$work/mixed.log"
gone() { [[ ! -d /proc/$steps ]]; }
expect "its steps end with it" await 10 gone
before=$(measured "$run")
expect "the new one measures as well" await 100 measured_more_than "$run" "$before"
stop "$launcher" "$run"
simulated_and_measured() {
  python3 - "$run/ledger.json" <<'PY'
import json, sys
actors = json.load(open(sys.argv[1]))["actors"]
assert actors["hardware-0"]["measured"] > 0 and actors["hardware-0"]["incarnations"] == 2, actors
assert actors["actor-0"]["trained"] > 0 and actors["actor-0"]["measured"] == 0, actors
PY
}
expect "each actor's rewards are marked" simulated_and_measured
expect "the share of windows is shown" grep -q "1 measure, windows open" "$work/mixed.log"
no_process_left() { ! pgrep -f -- "$address|--dir $run"; }
expect "nothing of it is left" no_process_left

# A parameter that an op changes in place has to be on the op's device: some placements of this graph fail. The learner has two
# ranks, which pause for windows as it does, and wait for each other meanwhile.
cat >"$work/fails.graph.json" <<'JSON'
{"format": "emplace.graph/1", "name": "fails", "ops": [
 {"name": "w", "type": "emplace.parameter", "cost_us": 0, "inputs": [], "attrs": {"name": "w"}, "outputs": [{"bytes": 4096, "shape": [32, 32], "dtype": "f32"}]},
 {"name": "x", "type": "emplace.input", "cost_us": 0, "inputs": [], "attrs": {"name": "x"}, "outputs": [{"bytes": 4096, "shape": [32, 32], "dtype": "f32"}]},
 {"name": "a", "type": "aten.mm", "cost_us": 20, "inputs": ["x:0", "w:0"], "outputs": [{"bytes": 4096, "shape": [32, 32], "dtype": "f32"}],
  "call": {"op": "aten.mm.default", "args": [{"in": 0}, {"in": 1}], "kwargs": {}}},
 {"name": "u", "type": "aten.add_", "cost_us": 20, "inputs": ["w:0", "a:0"], "outputs": [{"bytes": 4096, "shape": [32, 32], "dtype": "f32"}],
  "call": {"op": "aten.add_.Tensor", "args": [{"in": 0}, {"in": 1}], "kwargs": {}}}]}
JSON
run=$work/fails
launch/cluster.sh configs/ptb_hardware.yaml --dir "$run" --actors 1 --hardware 1 "${small[@]}" --set grouping.max_groups=0 \
  --set workload.family= --set "workload.train_graphs=[$work/fails.graph.json]" --set environment.start=random \
  --set training.ranks=2 >"$work/fails.log" 2>&1 &
launcher=$!
expect "a placement that fails is a penalty" await 60 grep -q "expected a parameter on the op's own device" "$run/logs/hardware-0.log"
expect "training goes on with it" await 60 measured_more_than "$run" 4
expect "rank 1 takes part" grep -q "rank 1 of 2 follows" "$run/logs/rank-1.log"
expect "rank 1 can have the lock" bash -c "! grep -q 'are disturbed by' '$run/logs/rank-1.log'"
expect "no actor has died of it" bash -c "! grep -q died '$work/fails.log'"
stop "$launcher" "$run"

# Wrong input: one line and exit code 2 from the actor; the learner goes on.
learner() {  # learner NAME OPTIONS...: starts one and sets address
  local name=$1
  shift
  "$bin/emplace-learner" --config configs/ptb_hardware.yaml --dir "$work/$name" "${small[@]}" "$@" >"$work/$name.log" 2>&1 &
  learner=$!
  await 60 test -s "$work/$name/learner.json"
  address=$(sed -nE 's/.*"address":"([^"]+)".*/\1/p' "$work/$name/learner.json")
}
end_learner() {
  expect "$1: the learner is unharmed" kill -TERM "$learner"
  wait "$learner"
  expect "$1: the learner ends well" test $? -eq 0
}
refused() {  # refused NAME TEXT OPTIONS...
  local name=$1 text=$2 code
  shift 2
  "$bin/emplace-hardware" actor --learner "$address" --name wrong "$@" >"$work/out" 2>"$work/all"
  code=$?
  grep -vE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} ' "$work/all" >"$work/err"
  if (( code != 2 )) || [[ $(wc -l <"$work/err") -ne 1 ]] || ! grep -qF -- "$text" "$work/err"; then
    echo "hardware: $name: expected exit code 2 and one line with '$text', got $code and:"
    cat "$work/err"
    failures=$((failures + 1))
  fi
}
devices() {  # devices NAME CORES: two devices, the second with this name and these cores
  sed -E "s/\"cpu:1\"(.*)cores: \[1\]/\"$1\"\1cores: [$2]/" configs/clusters/cpux2.yaml >"$work/devices.yaml"
}
learner uncalled --set workload.calls=false
refused "a graph without calls" "has no call"
end_learner "a graph without calls"
learner lockstep --set training.sync=lockstep
refused "lockstep" "training.sync is lockstep"
end_learner "lockstep"
sed 's/aten\.mm\.default/aten.from_file.default/' "$work/fails.graph.json" >"$work/reads.graph.json"
learner reads --set workload.family= --set "workload.train_graphs=[$work/reads.graph.json]"
refused "an operator outside the list" "aten.from_file"
end_learner "an operator outside the list"
learner devices
devices cpu:1 4000
refused "a core that is not there" "core 4000 is not there" --devices "$work/devices.yaml"
devices cpu:1 0
refused "cores that overlap" "core 0 is also one of" --devices "$work/devices.yaml"
devices tpu:1 1
refused "a device that is not there" "'tpu:1'" --devices "$work/devices.yaml"
sed '/cpu:1/d' configs/clusters/cpux2.yaml >"$work/one.yaml"
refused "other devices than the learner's" "has 1 devices, expected 2" --devices "$work/one.yaml"
end_learner "devices"

(( failures == 0 ))
