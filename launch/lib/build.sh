# shellcheck shell=bash disable=SC2034,SC2154
# Sets up and builds; `bin` is where the programs are. A learner that is to have a GPU is another build. Nothing is built where
# there is nothing to build from (the archive of tools/package.sh), or where EMPLACE_BIN names a folder with the programs.

choose_build() {
  if [[ ! -e $root/CMakeLists.txt ]]; then : "${EMPLACE_BIN:=$root/bin}"; fi
  preset=dev bin=$root/build/bin
  if [[ -n $gpus ]]; then preset=cuda bin=$root/build-cuda/bin; fi
  if [[ -n ${EMPLACE_BIN:-} ]]; then bin=$(realpath "$EMPLACE_BIN"); fi
}

# The archive of tools/package.sh does not hold it.
check_hardware_program() {
  (( hardware == 0 )) || [[ -x $bin/emplace-hardware ]] ||
    bad_usage "--hardware needs $bin/emplace-hardware, which is not there: build it from the sources"
}

build_programs() {
  cmake -S "$root" --preset "$preset" && cmake --build "$1" -j "${EMPLACE_JOBS:-$(nproc)}" --target programs
}

build() {
  choose_build
  if [[ -n ${EMPLACE_BIN:-} ]]; then check_hardware_program; return; fi
  "$root/tools/setup.sh" || exit 1
  local folder=${bin%/bin} log
  mkdir -p "$folder" || exit 1
  log=$folder/cluster-build.log
  # Runs that are started together build one after the other.
  if ! { flock 9 && build_programs "$folder" >"$log" 2>&1; } 9>"$folder/cluster-build.lock"; then
    tail -n 30 "$log" >&2
    echo "cluster.sh: the build failed; the whole log is $log" >&2
    exit 1
  fi
  check_hardware_program
}
