#!/usr/bin/env bash
# tools/bench/run.sh as its users run it, with as few repetitions as it goes: one JSON document on stdout, with every figure.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! tools/bench/run.sh --quick --json >"$work/out" 2>"$work/err"; then
  tail -n 20 "$work/err"
  exit 1
fi
python3 - "$work/out" <<'PY'
import json, math, sys
document = json.load(open(sys.argv[1]))
names = """simulator_ns_per_op simulator_incremental_speedup actor_speedup_vs_libtorch actor_steps_per_s
    learner_speedup_vs_libtorch learner_states_per_s trajectory_bytes_per_step codec_MB_per_s end_to_end_steps_per_s""".split()
names += ["simulator_incremental_speedup_" + family for family in ("ptb", "cifar10", "nmt", "inception_v3", "nasnet")]
for name in names:
    spread = document["spread"][name]
    assert math.isfinite(document[name]) and spread["p10"] <= document[name] <= spread["p90"], (name, document[name], spread)
    assert document[name] > 0, name
PY
code=0
tools/bench/run.sh --jsn >"$work/out" 2>"$work/err" || code=$?
[[ $code -eq 2 && $(wc -l <"$work/err") -eq 1 ]] || { echo "bench: a misspelt option: exit code $code"; exit 1; }
