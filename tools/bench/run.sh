#!/usr/bin/env bash
# Runs the benchmarks, in under a minute on two cores, and prints a table, or with --json one JSON document.
#
#   tools/bench/run.sh [--json]            README.md beside this file says what each key means
#   tools/bench/run.sh --quick [--json]    makes two repetitions of each benchmark, only to see that it runs
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

options=() quick=()
for option in "$@"; do
  case $option in
    --json) options+=(--json) ;;
    --quick) quick=(--quick) ;;
    *) echo "run.sh: unknown option '$option', expected --json or --quick" >&2; exit 2 ;;
  esac
done

"$root/tools/setup.sh" >&2
build_log=$(mktemp)
figures=$(mktemp -d)
trap 'rm -rf "$build_log" "$figures"' EXIT
if ! { cmake -S "$root" --preset dev &&
  cmake --build "$root/build" -j "${EMPLACE_JOBS:-$(nproc)}" --target emplace-bench emplace-bench-libtorch emplace-learner emplace-actor; } >"$build_log" 2>&1; then
  tail -n 30 "$build_log" >&2
  echo "run.sh: the build failed" >&2
  exit 1
fi

bin=$root/build/bin
"$bin/emplace-bench" "${quick[@]}" >"$figures/1.json"
"$bin/emplace-bench-libtorch" "${quick[@]}" >"$figures/2.json"
python3 "$root/tools/bench/end_to_end.py" ${quick:+--seconds 3} >"$figures/3.json"
python3 "$root/tools/bench/report.py" "${options[@]}" "$figures"/*.json
