#!/usr/bin/env bash
# Sets up, builds (preset asan) and runs the fuzz targets, one a core; one line a target, ok or FAILED with the input that broke it.
# Exit code 0 only when nothing failed. What is new and interesting goes to build-asan/fuzz/corpus/TARGET, from where the next
# call goes on.
#
#   tests/fuzz/run.sh                                   every target for 60 seconds
#   tests/fuzz/run.sh --seconds 7200 graph_json policy  two of them for two hours
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

seconds=60
targets=()
while (( $# )); do
  case $1 in
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "tests/fuzz/run.sh: --seconds is '${2:-}', expected a whole number above 0" >&2; exit 2; }
      seconds=$2
      shift 2 ;;
    -*) echo "tests/fuzz/run.sh: unknown option '$1', expected --seconds N and names of targets" >&2; exit 2 ;;
    *)
      [[ -f tests/fuzz/$1_fuzz.cc ]] || { echo "tests/fuzz/run.sh: there is no tests/fuzz/$1_fuzz.cc" >&2; exit 2; }
      targets+=("$1")
      shift ;;
  esac
done
if (( ${#targets[@]} == 0 )); then
  for source in tests/fuzz/*_fuzz.cc; do
    name=${source##*/}
    targets+=("${name%_fuzz.cc}")
  done
fi
jobs=${EMPLACE_JOBS:-$(nproc)}
out=build-asan/fuzz
mkdir -p "$out"

if ! { tools/setup.sh --tests --no-torch && cmake --preset asan && cmake --build --preset asan -j "$jobs" --target fuzz_targets; } >"$out/build.log" 2>&1; then
  tail -n 60 "$out/build.log"
  echo "FAILED fuzz build"
  exit 1
fi

# A bound on what one input may take: seconds, MiB in all, MiB at once (zstd asks for a window of 128).
limits=(-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=160)
# The default quarantine of freed memory would count as the input's.
export ASAN_OPTIONS=quarantine_size_mb=16

# fuzz TARGET: prints its line.
fuzz() {
  local name=$1 folders=("$out/corpus/$1" "tests/fuzz/corpus/$1") dictionary=() log=$out/$1.log inputs coverage broken
  [[ -d tests/fuzz/regressions/$name ]] && folders+=("tests/fuzz/regressions/$name")
  [[ -f tests/fuzz/dictionaries/$name.dict ]] && dictionary=("-dict=tests/fuzz/dictionaries/$name.dict")
  mkdir -p "$out/corpus/$name" "$out/broken/$name"
  # The limits of its own do not end a target that prints why it broke one of them, which can take hours.
  if timeout -s KILL $((seconds + 120)) "$out/${name}_fuzz" "${limits[@]}" "${dictionary[@]}" -max_total_time="$seconds" -print_final_stats=1 -close_fd_mask=1 \
    -artifact_prefix="$out/broken/$name/" "${folders[@]}" >"$log" 2>&1; then
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    coverage=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
    printf "ok    fuzz %s: %s inputs in %s s, coverage %s\n" "$name" "$(sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta' <<<"$inputs")" "$seconds" "$coverage"
  else
    broken=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    # The sanitizer's or our own complaint, then what to look at.
    grep -m 3 -E 'ERROR: |runtime error|internal check failed|terminate called|what\(\):' "$log"
    echo "FAILED fuzz $name: ${broken:-no input was written}, see $log"
    return 1
  fi
}

failed=0
running=0
for name in "${targets[@]}"; do
  if (( running == jobs )); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz "$name" &
  running=$((running + 1))
done
for (( ; running > 0; --running )); do wait -n || failed=1; done
exit "$failed"
