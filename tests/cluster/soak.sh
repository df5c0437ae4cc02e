#!/usr/bin/env bash
# A training for long, of configs/ptb.yaml unless told otherwise: prints what grew, and ok / FAILED lines.
#
#   tests/cluster/soak.sh [--minutes 60] [--dir FOLDER] [CONFIG]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S "$root" --preset dev && cmake --build "$root/build" -j "${EMPLACE_JOBS:-$(nproc)}" --target emplace-learner emplace-actor; } >"$log" 2>&1; then
  tail -n 30 "$log"
  echo "FAILED soak: the programs are built"
  exit 1
fi
python3 "$root/tests/cluster/soak.py" "$@"
