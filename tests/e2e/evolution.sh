#!/usr/bin/env bash
# A planner trained by evolution, as a user does it: on instances and on a family the same bits with one actor and with three, and with
# an end and a resume between; the planner improves on what it is trained on, and places; what does not go together is said.
# Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

small=(--set training.episodes_per_update=32 --set evolution.population=8 --set evolution.checked=0.2)
train() {  # train CONFIG RUN OPTION...
  local config=$1 run=$2
  shift 2
  launch/cluster.sh "configs/$config.yaml" --dir "$work/$run" --set training.max_minutes=5 "${small[@]}" "$@"
}
on_instances() {
  train planner "$@" --set policy.parameters=67 --set instances.max_ops=150 --set evolution.most_budget=20 --set evolution.validation_instances=5 --set evolution.test_instances=2
}
on_family() {
  train ptb_planner "$@" --set policy.initial= --set workload.size=small --set workload.count=6 --set workload.train=4 --set workload.validation=2
}

improves() {  # improves RUN: on the graphs that it was trained on
  python3 - "$work/$1/metrics.jsonl" <<'PY'
import json, sys
losses = [line["loss"] for line in map(json.loads, open(sys.argv[1])) if line["kind"] == "update"]
third = len(losses) // 3
assert sum(losses[-third:]) < sum(losses[:third]), losses
PY
}

refused() {  # refused TEXT OPTION...
  local text=$1
  shift
  build/bin/emplace-learner --config configs/planner.yaml --dir "$work/refused" "$@" >"$work/refused.out" 2>"$work/refused.err"
  [[ $? == 2 && $(wc -l <"$work/refused.err") == 1 && ! -e $work/refused ]] && grep -q -- "$text" "$work/refused.err"
}

expect "instances with one actor" on_instances one --actors 1 --set training.iterations=6 --set checkpoint.every=3
expect "instances with three actors, up to update 3" on_instances three --actors 3 --set training.iterations=3 --set checkpoint.every=3
expect "its resume" on_instances three --actors 2 --resume --set training.iterations=6 --set checkpoint.every=3
expect "the same bits" cmp "$work/one/checkpoints/update_00000006/policy.safetensors" "$work/three/checkpoints/update_00000006/policy.safetensors"
mirrored() { on_instances "$@" --set evolution.algorithm=openai --set evolution.spread_decay=0.98; }
expect "OpenAI-ES with one actor" mirrored mirrored_one --actors 1 --set training.iterations=4 --set checkpoint.every=2
expect "OpenAI-ES with two actors, up to update 2" mirrored mirrored_two --actors 2 --set training.iterations=2 --set checkpoint.every=2
expect "its resume" mirrored mirrored_two --actors 3 --resume --set training.iterations=4 --set checkpoint.every=2
expect "the same bits" cmp "$work/mirrored_one/checkpoints/update_00000004/policy.safetensors" "$work/mirrored_two/checkpoints/update_00000004/policy.safetensors"
expect "a family" on_family family --actors 2 --set training.iterations=15
expect "it improves" improves family
for run in one three mirrored_one mirrored_two family; do expect "the ledger of $run balances" balanced "$work/$run/ledger.json"; done

expect "a graph" build/bin/emplace generate ptb --size small --count 1 --seed 9 --out "$work/graphs"
for method in policy list auto; do
  expect "placing by $method on machines of other sizes" build/bin/emplace place --graph "$work/graphs/ptb_00.graph.json" \
    --devices configs/clusters/k80x4.yaml --method "$method" --policy "$work/family" --seconds 0.2 --out "$work/$method.json"
done
expect "a look at it" build/bin/emplace inspect "$work/family/policy.safetensors"

expect "a report" build/bin/emplace report "$work/family" --out "$work/report.html"
expect "its placed graph" grep -q '"placed_by"' "$work/report.html"

expect "async is refused" refused "training.sync is async, expected lockstep" --set training.sync=async
expect "another kind is refused" refused "policy.kind is placeto, expected planner" --set policy.kind=placeto
expect "another objective is refused" refused "policy.kind is planner, expected training.objective: evolution" --set training.objective=ppo
expect "half of a pair is refused" refused "expected an even number" --set evolution.algorithm=openai --set evolution.population=3 --set training.episodes_per_update=30
expect "a part of a population is refused" refused "expected a multiple of evolution.population, 24" --set training.episodes_per_update=50

(( failures == 0 ))
