#!/usr/bin/env bash
# configs/smoke.yaml as a user runs it: train with two actors while one is killed, resume, place an unseen graph, and give
# it wrong input. Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

refused() {  # refused NAME TEXT COMMAND...: exit code 2, one line on stderr with TEXT in it, log lines aside
  local name=$1 text=$2
  shift 2
  "$@" >"$work/out" 2>"$work/all"
  local code=$?
  grep -vE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} ' "$work/all" >"$work/err"
  if (( code != 2 )) || [[ $(wc -l <"$work/err") -ne 1 ]] || ! grep -qF -- "$text" "$work/err"; then
    echo "smoke: $name: expected exit code 2 and one line with '$text', got $code and:"
    cat "$work/err"
    failures=$((failures + 1))
  fi
}

better_than_start() {
  python3 - "$1" <<'PY'
import json, sys
test = json.load(open(sys.argv[1]))["test"]
assert test["policy"] < test["start"], test
PY
}

no_process_left() { ! pgrep -f -- "$work/run" >/dev/null; }

# Train, and kill an actor on the way: that is noticed, and it is replaced.
launch/cluster.sh configs/smoke.yaml --dir "$work/run" --actors 2 --set training.iterations=400 --set training.max_minutes=10 \
  >"$work/log" 2>&1 &
launcher=$!
for _ in $(seq 1200); do  # Until it trains; a first build may come before.
  grep -qs "^update" "$work/log" && break
  kill -0 "$launcher" 2>/dev/null || break
  sleep 0.1
done
address=$(sed -nE 's/.*"address":"([^"]+)".*/\1/p' "$work/run/learner.json")
victim=$(pgrep -o -f -- "emplace-actor --learner $address --name actor-1")
expect "there is an actor to kill" kill -KILL "${victim:-none}"
if ! wait "$launcher"; then
  echo "smoke: the run failed"
  tail -n 20 "$work/log"
  failures=$((failures + 1))
fi
expect "the killed actor is replaced" grep -q "actor-1 died" "$work/log"
expect "the ledger balances" balanced "$work/run/ledger.json"
expect "the policy beats its start placement" better_than_start "$work/run/summary.json"
for file in config.yaml policy.safetensors metrics.jsonl ledger.json logs/learner.log; do
  expect "$file is there" test -s "$work/run/$file"
done
expect "TensorBoard has events" compgen -G "$work/run/tensorboard/events.out.tfevents.*"
expect "the summary says when Placeto is rewarded" grep -q '"rewarded": "each_decision"' "$work/run/summary.json"
expect "no process is left" no_process_left

# Resume for some more updates.
updates=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['updates'])" "$work/run/summary.json")
expect "resuming" launch/cluster.sh configs/smoke.yaml --dir "$work/run" --resume --set training.iterations=$((updates + 20)) \
  --set training.max_minutes=1
expect "it went on" grep -q "resumed after update" "$work/run/logs/learner.log"
expect "the ledger still balances" balanced "$work/run/ledger.json"
launch/cluster.sh configs/nmt.yaml --dir "$work/run" --resume --set training.iterations=$((updates + 20)) >"$work/other" 2>&1
expect "it says that it keeps its configuration" grep -q "goes on with $work/run/config.yaml; configs/nmt.yaml, which differs from it, is not read" "$work/other"

# Ctrl-C in a pipe: whoever reads the output is gone before the run has ended, and the run still ends with all that it has learned.
: >"$work/piped.log"
# (What bash starts in the background ignores SIGINT unless told otherwise.)
env --default-signal=INT launch/cluster.sh configs/smoke.yaml --dir "$work/piped" --actors 1 --set training.iterations=100000 \
  --set training.max_minutes=10 --set evaluation.patience=0 2>&1 | head -n 8 >"$work/piped.log" &
for _ in $(seq 1200); do [[ $(wc -l <"$work/piped.log") -ge 8 ]] && break; sleep 0.1; done
piped=$(pgrep -o -f -- "^bash .*launch/cluster.sh .*--dir $work/piped ")
expect "a run outlives who reads its output" kill -INT "$piped"
for _ in $(seq 600); do [[ -d /proc/$piped ]] || break; sleep 0.1; done
expect "it ends with a summary" grep -q '"interrupted": *true' "$work/piped/summary.json"
expect "it ends with its policy" test -s "$work/piped/policy.safetensors"
no_piped_process_left() { ! pgrep -f -- "$work/piped" >/dev/null; }
expect "nothing of it is left" no_piped_process_left

# The best placements found, over both sittings: exported, each simulates to what was said of it.
exported_simulates() {
  python3 - "$work" <<'PY'
import json, math, pathlib, subprocess, sys
work = pathlib.Path(sys.argv[1])
def emplace(*arguments):
    return json.loads(subprocess.run(["build/bin/emplace", *map(str, arguments), "--json"], check=True, capture_output=True).stdout)
overview = emplace("export", work / "run", "--policy", work / "best.safetensors")
assert overview["policy"]["file"] == "policy.safetensors", overview
graphs = emplace("export", work / "run")["graphs"]
for graph in graphs:
    name = graph["graph"]
    emplace("export", work / "run", "--graph", name, "--placement", work / "found.json")
    simulated = emplace("simulate", "--graph", work / f"run/graphs/{name}.graph.json", "--devices", "configs/clusters/k80x2.yaml",
                        "--placement", work / "found.json")
    assert simulated["makespan_us"] == graph["makespan_us"], (graph, simulated["makespan_us"])
summary = json.load(open(work / "run/summary.json"))["train"]
mean = math.exp(sum(math.log(graph["ratio"]) for graph in graphs) / len(graphs))
assert len(graphs) == summary["graphs"] and abs(mean - summary["best_found"]) < 1e-9, (mean, summary)
# Each found later than the one before, and better.
lines = [json.loads(line) for line in open(work / "run/placements.jsonl")]
for graph in graphs:
    of_graph = [line for line in lines if line["graph"] == graph["graph"]]
    assert of_graph[-1]["makespan_us"] == graph["makespan_us"], of_graph[-1]
    for key, ascending in (("episodes", True), ("steps", True), ("makespan_us", False)):
        values = [line[key] for line in of_graph]
        assert values == sorted(values, reverse=not ascending), (key, values)
PY
}
expect "exporting" exported_simulates
refused "an unknown graph" "did you mean 'ptb_0" build/bin/emplace export "$work/run" --graph ptb_0x --placement "$work/found.json"

# Place an unseen graph.
graph=$work/run/graphs/$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['test'][0])" "$work/run/graphs/split.json")
devices=configs/clusters/k80x2.yaml
emplace=build/bin/emplace
expect "placing" "$emplace" place --graph "$graph" --devices "$devices" --policy "$work/run/policy.safetensors" \
  --samples 8 --out "$work/placement.json" --trace "$work/trace.json"
expect "simulating it" "$emplace" simulate --graph "$graph" --devices "$devices" --placement "$work/placement.json" --json
expect "inspecting the run" "$emplace" inspect "$work/run"

# An evaluation that is interrupted keeps what it has, and goes on. The first result is written at once, and many runs follow it.
evaluation=("$emplace" evaluate --graphs "$work/run/graphs" --devices "$devices" --methods "single,heft,annealing" --jobs 2
  --budget 120000 --seeds "1,2,3" --out "$work/results.json")
"${evaluation[@]}" >/dev/null 2>"$work/interrupted" &
evaluating=$!
until [[ -s $work/results.json ]] || ! kill -0 "$evaluating" 2>/dev/null; do sleep 0.01; done
kill -INT "$evaluating"
wait "$evaluating"
expect "an interrupted evaluation says how to go on" grep -q "runs to go; --out .* --resume goes on" "$work/interrupted"
expect "an evaluation goes on" "${evaluation[@]}" --resume --json
expect "it has all runs" python3 -c "import json, sys; assert len(json.load(open(sys.argv[1]))['results']) == 4 * 5" "$work/results.json"

# Wrong input: one clear line each.
head -c 300 "$graph" >"$work/half.graph.json"
head -c 300 "$work/run/policy.safetensors" >"$work/half.safetensors"
printf 'training: {iteratons: 3}\n' >"$work/typo.yaml"
refused "a damaged graph" "half.graph.json" "$emplace" place --graph "$work/half.graph.json" --devices "$devices" --method single
refused "a damaged policy" "half.safetensors" "$emplace" inspect "$work/half.safetensors"
refused "a policy for two devices on four" "2 devices" "$emplace" place --graph "$graph" --devices configs/clusters/k80x4.yaml --policy "$work/run/policy.safetensors"
refused "a misspelt key" "typo.yaml:1:12" launch/cluster.sh "$work/typo.yaml" --dir "$work/typo"
refused "a value out of range" "training.epochs is 0" launch/cluster.sh configs/smoke.yaml --dir "$work/typo" --set training.epochs=0
expect "a refused configuration leaves nothing" test ! -e "$work/typo"
refused "other graphs for a run that goes on" "keeps its graphs" \
  launch/cluster.sh configs/smoke.yaml --dir "$work/run" --resume --set workload.seed=9
refused "other rewards for a run that goes on" "environment.reward: a run that goes on keeps its rewards" \
  launch/cluster.sh configs/smoke.yaml --dir "$work/run" --resume --set environment.reward=seconds
refused "another start for a run that goes on" "policy.initial: a run that goes on has its policy" \
  launch/cluster.sh configs/smoke.yaml --dir "$work/run" --resume --set "policy.initial=$work/run/policy.safetensors"
refused "another network for a run that goes on" "policy.message_rounds is 1, expected 8, as when the run was started" \
  launch/cluster.sh configs/smoke.yaml --dir "$work/run" --resume --set policy.message_rounds=1
# The same run on graphs that have changed since: of equal numbers of ops, but with another cost.
files=(--set workload.family= --set "workload.train_graphs=[$work/changing.graph.json]" --set "workload.devices=$PWD/$devices")
cp "$graph" "$work/changing.graph.json"
expect "a run on a graph file" launch/cluster.sh configs/smoke.yaml --dir "$work/files" --set training.iterations=5 "${files[@]}"
python3 - "$work/changing.graph.json" <<'PY'
import json, sys
graph = json.load(open(sys.argv[1]))
for op in graph["ops"]:
    op["cost_us"] = 7
json.dump(graph, open(sys.argv[1], "w"))
PY
refused "a graph that has changed since a run began" "graphs are no longer those" \
  launch/cluster.sh configs/smoke.yaml --dir "$work/files" --resume
refused "a run directory in use" "holds a run already" launch/cluster.sh configs/smoke.yaml --dir "$work/run"
refused "a learner's address that is none" "address is 'foo', expected tcp://host:port" build/bin/emplace-actor --learner foo
expect "it is refused before the log begins" test "$(wc -l <"$work/all")" = 1
refused "an address that cannot be bound" "network.bind is 'eth0'" launch/cluster.sh configs/smoke.yaml --dir "$work/again" --set network.bind=eth0
expect "a good start where one has failed" launch/cluster.sh configs/smoke.yaml --dir "$work/again" --set training.iterations=5
refused "no configuration" "no configuration given" launch/cluster.sh
for state in "$work"/run/checkpoints/update_*/state.json; do : >"$state"; done
refused "damaged checkpoints" "every checkpoint in it is damaged" build/bin/emplace-learner --config configs/smoke.yaml --dir "$work/run" --resume

(( failures == 0 ))
