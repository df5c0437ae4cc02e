#!/usr/bin/env bash
# Sets up, builds and runs tests; ends with "N passed, M failed, K skipped". Exit code 0 only when nothing failed.
#
#   tests/run.sh              everything: unit tests, sanitizers, fuzzing, whole runs here and on a cluster, a fresh machine
#   tests/run.sh --quick      the unit tests that need neither LibTorch nor another process: two minutes after a small change
#   tests/run.sh FOLDER...    the tests of these source folders: tests/run.sh simulator/methods learner
#
# EMPLACE_JOBS is how many compilers and tests run at once; one a core unless said.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=lib/record.sh
source tests/lib/record.sh

usage() {
  echo "tests/run.sh: $1" >&2
  exit 2
}

folders=()
quick=0
while (( $# )); do
  case $1 in
    --quick) quick=1 ;;
    -*) usage "unknown option '$1', expected --quick or source folders" ;;
    *)
      folder=${1%/}
      folder=${folder#tests/}
      [[ -f tests/$folder/CMakeLists.txt ]] ||
        usage "there are no tests of '$1', expected one of $(cd tests && find . -mindepth 2 -name CMakeLists.txt -printf '%P\n' | sed 's,/CMakeLists.txt,,' | sort | paste -sd' ')"
      folders+=("$folder") ;;
  esac
  shift
done

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}

# needs COMMAND NAME: whether the command is there; else the test NAME is skipped.
needs() {
  [[ -z $(command -v "$1") ]] || return 0
  echo "skipped $2: $1 is not installed"
  record skipped 0 "$2" "$1 is not installed"
  return 1
}

run_quick() {
  check "build of the fast tests" build dev fast_tests && run_ctest build -L 'fast|threads'
}

run_folders() {
  local folder
  check "build" build dev programs "${folders[@]/%//all}" || return
  for folder in "${folders[@]}"; do run_ctest "build/tests/$folder"; done
}

run_everything() {
  step "set-up of the tests"
  check "tools/setup.sh --tests" tools/setup.sh --tests

  step "style"
  check "includes point one way" python3 tools/check_layers.py --quiet
  check "what has changed is formatted and named as it should" tools/style.sh

  step "build (dev)"
  if check "dev build" build dev; then
    step "tests in this process and with a few others"
    run_ctest build -LE cluster
    step "tests on a cluster and on a fresh machine, both on this one, and faults"
    run_ctest build -L cluster
  fi

  if needs clang++ "asan build"; then
    step "build and test under the address and undefined-behaviour sanitizers (all but LibTorch)"
    if check "asan build" build asan; then
      run_ctest build-asan
      step "fuzzing, ten seconds a target"
      run_lines tests/fuzz/run.sh --seconds 10
    fi
    step "build and test under the thread sanitizer (what has threads, of these)"
    check "tsan build" build tsan && run_ctest build-tsan -L threads
  fi

  step "GPU kernels"
  PATH=$PATH:/usr/local/cuda/bin
  needs nvcc "GPU kernels compile" && check "GPU kernels compile for sm_80 and sm_90" build cuda-kernels
  if nvidia-smi -L 2>/dev/null | grep -q GPU; then
    check "cuda build" build cuda && run_ctest build-cuda -R 'PlacetoCudaGpu|GpuEngine|NcclCollective'
  else
    record skipped 0 "the learner on a GPU" "there is no NVIDIA GPU"
  fi
}

step "set-up"
check "tools/setup.sh" tools/setup.sh || { summarize; exit 1; }
if (( quick )); then
  run_quick
elif (( ${#folders[@]} > 0 )); then
  run_folders
else
  run_everything
fi
summarize
