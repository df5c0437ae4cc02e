#!/usr/bin/env bash
# Sets up, builds and runs every test; ends with "N passed, M failed". Exit code 0 only when nothing failed.
#
#   tests/run.sh            everything: unit tests, sanitizers, layering, fuzzing, whole runs here and on a cluster, faults, benchmarks
#   tests/run.sh --quick    unit tests only
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

quick=0
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "tests/run.sh: unknown option '$1', expected --quick or nothing" >&2; exit 2 ;;
esac

passed=0
failed=0
jobs=${EMPLACE_JOBS:-$(nproc)}
(( jobs > 2 )) && jobs=2  # LibTorch files take 2 GB each to compile.

step() { printf '\n== %s (%(%H:%M:%S)T)\n' "$*" -1; }

# check NAME COMMAND...: one passed or failed test.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
  fi
}

build() {
  local preset=$1 log
  log=$(mktemp)
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1; then
    tail -n 60 "$log"
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# run_ctest FOLDER [OPTION...]: adds ctest's counts to ours; the options say which tests.
run_ctest() {
  local folder=$1 log summary total bad
  shift
  log=$(mktemp)
  ctest --test-dir "$folder" "$@" -j "$jobs" --output-on-failure >"$log" 2>&1
  summary=$(grep -E 'tests passed, [0-9]+ tests failed out of' "$log")
  if [[ -z $summary ]]; then
    tail -n 40 "$log"
    failed=$((failed + 1))
  else
    total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
    bad=$(sed -E 's/.* ([0-9]+) tests failed.*/\1/' <<<"$summary")
    (( bad == 0 )) || { grep -vE '^ *[0-9]+/[0-9]+ Test.*Passed|^ *Start ' "$log" | tail -n 150; }
    echo "$summary"
    passed=$((passed + total - bad))
    failed=$((failed + bad))
  fi
  rm -f "$log"
}

# run_counting COMMAND...: adds the counts of its last line, "N passed, M failed", to ours.
run_counting() {
  local log summary
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  summary=$(tail -n 1 "$log")
  rm -f "$log"
  if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1))
    echo "FAILED $*"
  fi
}

# run_lines COMMAND...: adds its lines "ok ..." and "FAILED ..." to our counts.
run_lines() {
  local log
  log=$(mktemp)
  "$@" | tee "$log"
  if (( PIPESTATUS[0] != 0 )) && ! grep -q '^FAILED ' "$log"; then echo "FAILED $*: it ended early" | tee -a "$log"; fi
  passed=$((passed + $(grep -c '^ok ' "$log")))
  failed=$((failed + $(grep -c '^FAILED ' "$log")))
  rm -f "$log"
}

step "set-up"
check "tools/setup.sh" tools/setup.sh

step "build (dev)"
check "dev build" build dev
step "unit tests"
run_ctest build

if (( ! quick )); then
  step "layers"
  check "includes point one way" python3 tools/check_layers.py --quiet

  if [[ -n $(command -v nvcc) || -x /usr/local/cuda/bin/nvcc ]]; then
    step "GPU kernels"
    check "GPU kernels compile for sm_80 and sm_90" build cuda-kernels
    if nvidia-smi -L 2>/dev/null | grep -q GPU; then
      check "cuda build" build cuda
      run_ctest build-cuda -R 'PolicyCudaGpu|CudaEngine'
    fi
  fi

  step "a smoke run, end to end"
  check "smoke run" tests/e2e/smoke.sh

  step "runs on a cluster: Slurm and ssh, on this machine"
  if (( EUID == 0 )); then
    run_counting tests/cluster/run.sh
  elif sudo -n true 2>/dev/null; then
    run_counting sudo -n -E tests/cluster/run.sh
  else
    echo "skipped: needs root, as slurmd does"
  fi

  step "faults of a cluster, each once"
  run_lines tests/cluster/drill.sh

  step "many actors"
  run_lines tests/cluster/load.sh --actors 200 --minutes 0.34 --rate 200

  step "benchmarks"
  check "instruction counts are as committed" tools/bench/guard.py
  check "benchmarks run and print every figure" tests/e2e/bench.sh

  step "fuzzing, a minute a target"
  run_lines tests/fuzz/run.sh

  step "build and test under asan (Torch-free parts)"
  check "asan build" build asan
  run_ctest build-asan
  step "build and test under tsan (what has threads, of these)"
  check "tsan build" build tsan
  run_ctest build-tsan -L threads
fi

echo
echo "$passed passed, $failed failed"
(( failed == 0 ))
