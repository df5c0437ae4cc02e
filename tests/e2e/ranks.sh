#!/usr/bin/env bash
# A learner of several ranks, as a user runs it: in lockstep, 2 and 4 ranks come to the bits of one; so does a run whose rank is
# killed, whose rank 0 is killed, and which goes on with another number of ranks each time. Nothing is left of any of them.
# Prints what failed; exit code 0 when nothing did.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

train() {  # train RUN OPTION...
  local run=$1
  shift
  launch/cluster.sh configs/smoke.yaml --dir "$work/$run" --actors 1 --set training.shards=4 --set training.sync=lockstep \
    --set training.max_minutes=3 --set evaluation.patience=0 --set checkpoint.every=5 "$@"
}

same_run() {  # same_run RUN UPDATES: as one rank has it, at the end and in all that has been measured of the updates
  local file last
  last=checkpoints/$(printf 'update_%08d' "$2")
  for file in policy.safetensors "$last/policy.safetensors" "$last/optimizer.safetensors"; do
    cmp "$work/1/$file" "$work/$1/$file" || return 1
  done
  python3 - "$work/1" "$work/$1" <<'PY'
import json, sys
def measured(folder):
    return [{key: value for key, value in json.loads(line).items() if key in ("update", "loss", "entropy", "gradient_norm", "importance", "mean_ratio")}
            for line in open(f"{folder}/metrics.jsonl")]
one, ranks = (measured(folder) for folder in sys.argv[1:])
assert one == ranks and any("loss" in line for line in one), (one[:2], ranks[:2])
PY
}

ranks_of() { pgrep -f -- "emplace-learner --rank $2 --leader $(sed -nE 's/.*rank . of . follows (tcp:[^ ]+) .*/\1/p' "$work/$1/logs/rank-$2.log" | tail -n 1) "; }
ranks_left() { pgrep -f -- "emplace-learner --rank [0-9]+ --leader"; }
wait_for() {  # wait_for COMMAND...: for at most 60 s
  for _ in $(seq 600); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo "waited in vain for: $*"
  return 1
}
begin() {  # begin RUN OPTION...: sets launcher
  train "$@" >>"$work/$1.log" 2>&1 &
  launcher=$!
}
newest() { find "$work/$1/checkpoints" -name 'update_*' -printf '%f\n' 2>/dev/null | sed 's/update_0*//' | sort -n | tail -n 1; }
is_past() { (( $(newest "$1") > $2 )); }

# A rank dies, then rank 0, then all is well. Without an end, for a kill must not come too late.
endless=(--set training.iterations=1000000)
begin killed --set training.ranks=4 "${endless[@]}"
expect "the first checkpoint" wait_for is_past killed 0
expect "rank 2 is there" ranks_of killed 2
victim=$(ranks_of killed 2)
kill -KILL "${victim:-$launcher}"
wait "$launcher"
code=$?
expect "a run whose rank was killed ends with 1 and not with $code" test "$code" = 1
line=$(grep "^emplace-learner: " "$work/killed.log")
expect "the line that says so names it: $line" grep -Eq "^emplace-learner: rank 2 of 4 on .* \(process $victim\) is gone" <<<"$line"
before=$(newest killed)
expect "its checkpoints are there" test "$before" -gt 0
begin killed --resume --set training.ranks=2 "${endless[@]}"
expect "another checkpoint" wait_for is_past killed "$before"
learner=$(sed -nE 's/.*"pid": *([0-9]+).*/\1/p' "$work/killed/learner.json")
kill -KILL "$learner"
wait "$launcher"
expect "no rank outlives rank 0" wait_for eval "! pgrep -P $learner && ! ranks_of killed 1"
updates=$(($(newest killed) + 5))
expect "the resume with three ranks" train killed --resume --set training.ranks=3 --set "training.iterations=$updates"
expect "the ledger balances" balanced "$work/killed/ledger.json"

expect "one rank" train 1 --set "training.iterations=$updates"
expect "a run that was killed twice is one that was not" same_run killed "$updates"
for ranks in 2 4; do
  expect "$ranks ranks" train "$ranks" --set "training.ranks=$ranks" --set "training.iterations=$updates"
  expect "$ranks ranks are one" same_run "$ranks" "$updates"
  expect "the ledger balances" balanced "$work/$ranks/ledger.json"
done

expect "no rank is left: $(ranks_left)" eval "! pgrep -f -- '$work'"

(( failures == 0 ))
