#!/usr/bin/env bash
# Builds, runs one learner with many actors, and prints a table and lines that begin with ok or FAILED. load.sh --help explains
# the options.
#
#   tests/cluster/load.sh [--actors 1000] [--minutes 10] [--rate EPISODES_PER_S] [--keys] [--dir FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S "$root" --preset dev && cmake --build "$root/build" -j "${EMPLACE_JOBS:-$(nproc)}" --target emplace emplace-learner emplace-load; } >"$log" 2>&1; then
  tail -n 30 "$log"
  echo "FAILED load: the programs are built"
  exit 1
fi
python3 "$root/tests/cluster/load.py" "$@"
