#!/usr/bin/env bash
# Measures on an NVIDIA GPU what docs/speed.md says of one, in one call of under ten minutes, and prints one JSON document.
# What cannot be measured is named in it with the reason. Without a GPU nothing is measured: one line, exit code 77.
#
#   tools/bench/gpu.sh [--write] [PACK] [--only KEY...]   on the computer with the GPU; --write fills the table in docs/speed.md
#   tools/bench/gpu.sh --from FILE --write                fills the table from a document that was printed elsewhere
#   tools/bench/gpu.sh --pack [--arch 90-real] [PACK]     on a computer that builds, with nvcc and no GPU: puts the programs and
#                                                         their libraries, without LibTorch's and NCCL's, into an archive
#
# PACK is build-cuda/gpu.tar.gz unless said. Where that is missing, what `cmake --preset cuda` has built in build-cuda is run; any
# such folder can be named as well. A pack runs from a checkout of the same commit, which has the configurations and the
# scripts. LibTorch and NCCL are the torch wheel's of the version that tools/setup.sh installs, in its environment or that of
# python3.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[[ ${1:-} == --pack ]] || exec python3 "$root/tools/bench/gpu.py" "$@"
shift

arch=90-real archive=$root/build-cuda/gpu.tar.gz
while (( $# )); do
  case $1 in
    --arch)
      [[ -n ${2:-} ]] || { echo "gpu.sh: --arch without an architecture, expected one such as 90-real" >&2; exit 2; }
      arch=$2
      shift ;;
    -*) echo "gpu.sh: unknown option '$1' of --pack, expected --arch or an archive" >&2; exit 2 ;;
    *) archive=$1 ;;
  esac
  shift
done

"$root/tools/setup.sh" >&2
build=$root/build-cuda
mkdir -p "$build"
if ! { cmake -S "$root" --preset cuda -DCMAKE_CUDA_ARCHITECTURES="$arch" &&
  cmake --build "$build" -j "${EMPLACE_JOBS:-$(nproc)}" --target programs placeto_cuda_gpu_test gpu_engine_test torch_gpu_test; } >"$build/gpu.log" 2>&1; then
  tail -n 30 "$build/gpu.log" >&2
  echo "gpu.sh: the build failed; the whole log is $build/gpu.log" >&2
  exit 1
fi
python3 "$root/tools/bench/gpu_pack.py" "$build" "$archive"
