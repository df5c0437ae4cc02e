#!/usr/bin/env bash
# The kinds of policy that LibTorch computes, as a user runs them: in lockstep the same bits with one actor and with three, and
# with a kill and a resume between; without lockstep; placing with them; and what is said where libemplace_torch.so is absent.
# sgdp, which decides all groups at once, goes through all of it, those that decide one after the other through what differs.
# Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
[[ -e build/bin/libemplace_torch.so ]] || { echo "skipped: this build is without LibTorch"; exit 77; }
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

train() {  # train KIND RUN OPTION...
  local kind=$1 run=$2
  shift 2
  launch/cluster.sh configs/smoke.yaml --dir "$work/$run" --set "policy.kind=$kind" --set policy.hidden=16 --set training.max_minutes=5 \
    --set training.objective=ppo --set training.epochs=2 --set environment.reward=sqrt --set checkpoint.every=10 "$@"
}

says_what_is_missing() {
  mkdir "$work/bin"
  cp build/bin/emplace "$work/bin/"
  "$work/bin/emplace" "${place[@]}" >"$work/place.out" 2>"$work/place.err"
  [[ $? == 1 && $(wc -l <"$work/place.err") == 1 ]] && grep -q "there is no libemplace_torch.so in $work/bin" "$work/place.err"
}

says_that_there_is_no_gpu() {
  build/bin/emplace-learner --config configs/smoke.yaml --dir "$work/gpu" --set policy.kind=rnn --set policy.hidden=16 \
    --set training.device=cuda >"$work/gpu.out" 2>"$work/gpu.err"
  [[ $? == 1 && $(wc -l <"$work/gpu.err") == 1 ]] && grep -q "training.device is cuda, but no GPU can be used: " "$work/gpu.err"
}

lockstep=(--set training.sync=lockstep)
expect "lockstep with one actor" train sgdp one --actors 1 "${lockstep[@]}" --set training.iterations=40
expect "lockstep with three actors, up to update 20" train sgdp three --actors 3 "${lockstep[@]}" --set training.iterations=20
expect "its resume" train sgdp three --actors 2 --resume "${lockstep[@]}" --set training.iterations=40
expect "the same bits" cmp "$work/one/checkpoints/update_00000040/policy.safetensors" "$work/three/checkpoints/update_00000040/policy.safetensors"
expect "training without lockstep" train sgdp async --actors 2 --set training.iterations=40
for run in one three async; do expect "the ledger of $run balances" balanced "$work/$run/ledger.json"; done

expect "a graph" build/bin/emplace generate ptb --size small --count 1 --seed 9 --out "$work/graphs"
place=(place --graph "$work/graphs/ptb_00.graph.json" --devices configs/clusters/k80x2.yaml --method policy
  --policy "$work/one/policy.safetensors" --out "$work/placement.json" --json)
expect "placing with it" build/bin/emplace "${place[@]}"
expect "it says what is missing where there is no libemplace_torch.so" says_what_is_missing

if ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
  expect "it says why a policy on LibTorch cannot be trained on a GPU" says_that_there_is_no_gpu
fi

for kind in rnn hierarchical; do
  for actors in 1 3; do
    expect "$kind in lockstep with $actors" train "$kind" "$kind$actors" --actors "$actors" "${lockstep[@]}" --set training.iterations=10
    expect "its ledger balances" balanced "$work/$kind$actors/ledger.json"
  done
  expect "the same bits" cmp "$work/${kind}1/checkpoints/update_00000010/policy.safetensors" "$work/${kind}3/checkpoints/update_00000010/policy.safetensors"
  expect "placing with $kind" build/bin/emplace place --graph "$work/graphs/ptb_00.graph.json" --devices configs/clusters/k80x2.yaml \
    --method policy --policy "$work/${kind}1/policy.safetensors" --out "$work/$kind.json"
done

(( failures == 0 ))
