#!/usr/bin/env bash
# A policy that LibTorch computes and that decides all groups at once, as a user runs it: in lockstep the same bits with one
# actor and with three, and with a kill and a resume between; without lockstep; placing with it; and what is said where
# libemplace_torch.so is absent. Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
[[ -e build/bin/libemplace_torch.so ]] || { echo "skipped: this build is without LibTorch"; exit 77; }
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

train() {  # train RUN OPTION...
  local run=$1
  shift
  launch/cluster.sh configs/smoke.yaml --dir "$work/$run" --set policy.kind=sgdp --set policy.hidden=16 --set training.max_minutes=5 \
    --set training.objective=ppo --set training.epochs=2 --set environment.reward=sqrt --set checkpoint.every=10 "$@"
}

says_what_is_missing() {
  mkdir "$work/bin"
  cp build/bin/emplace "$work/bin/"
  "$work/bin/emplace" "${place[@]}" >"$work/place.out" 2>"$work/place.err"
  [[ $? == 1 && $(wc -l <"$work/place.err") == 1 ]] && grep -q "there is no libemplace_torch.so in $work/bin" "$work/place.err"
}

lockstep=(--set training.sync=lockstep)
expect "lockstep with one actor" train one --actors 1 "${lockstep[@]}" --set training.iterations=40
expect "lockstep with three actors, up to update 20" train three --actors 3 "${lockstep[@]}" --set training.iterations=20
expect "its resume" train three --actors 2 --resume "${lockstep[@]}" --set training.iterations=40
expect "the same bits" cmp "$work/one/checkpoints/update_00000040/policy.safetensors" "$work/three/checkpoints/update_00000040/policy.safetensors"
expect "training without lockstep" train async --actors 2 --set training.iterations=40
for run in one three async; do expect "the ledger of $run balances" balanced "$work/$run/ledger.json"; done

expect "a graph" build/bin/emplace generate ptb --size small --count 1 --seed 9 --out "$work/graphs"
place=(place --graph "$work/graphs/ptb_00.graph.json" --devices configs/clusters/k80x2.yaml --method policy
  --policy "$work/one/policy.safetensors" --out "$work/placement.json" --json)
expect "placing with it" build/bin/emplace "${place[@]}"
expect "it says what is missing where there is no libemplace_torch.so" says_what_is_missing

(( failures == 0 ))
