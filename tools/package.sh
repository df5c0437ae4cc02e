#!/usr/bin/env bash
# Builds and packs emplace-VERSION-linux-PROCESSOR.tar.gz: the programs, every library they need but the C library, configs/,
# models/, launch/ and the documentation. It runs from whatever folder it is unpacked into, on machines where nothing else is
# installed; launch/cluster.sh in it works as the one of a checkout. Prints the archive's path.
#
#   tools/package.sh [--gpu] [FOLDER]
#
# --gpu packs the learner for NVIDIA GPUs (needs nvcc). FOLDER is where the archive is put, build/ unless said.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=dev build=build folder=

while (( $# )); do
  case $1 in
    --gpu) preset=cuda build=build-cuda ;;
    -*) echo "package: unknown option '$1', expected --gpu or a folder" >&2; exit 2 ;;
    *)
      [[ -z $folder && -d $1 ]] || { echo "package: unexpected argument '$1', expected one folder that is there" >&2; exit 2; }
      folder=$(realpath "$1") ;;
  esac
  shift
done

tools/setup.sh >&2
mkdir -p "$build"
{ cmake --preset "$preset" && cmake --build --preset "$preset" -j "${EMPLACE_JOBS:-$(nproc)}" --target programs; } >"$build/package.log" 2>&1 ||
  { tail -n 30 "$build/package.log" >&2; echo "package: the build failed; the whole log is $build/package.log" >&2; exit 1; }
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=emplace-$version-linux-$(uname -m)
archive=${folder:-$PWD/$build}/$name.tar.gz

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/$name" --strip >/dev/null
# Owned by nobody in particular, and there at once or not at all.
tar -C "$work" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -1 >"$archive.part"
mv "$archive.part" "$archive"
echo "$archive"
