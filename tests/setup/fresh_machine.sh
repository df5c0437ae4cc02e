#!/usr/bin/env bash
# README's commands on a machine that has nothing: makes a minimal Debian with mmdebstrap from this machine's apt sources, and in
# it unpacks and runs the archive of tools/package.sh, then sets up, builds and trains from a copy of this checkout. The compiler
# cache and the environment with LibTorch are this machine's, so that this takes minutes. Prints a line for each step, ok or
# FAILED; exit code 0 when all are ok, 77 when this machine cannot do it (the last line says why).
#
#   tests/setup/fresh_machine.sh            of the Debian that this machine has
#   tests/setup/fresh_machine.sh trixie     of another one, from the same servers; without the archive, which is made for this one
# shellcheck disable=SC2016,SC2317  # apt and the other bash expand these; `try` calls the functions.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
checkout=$PWD

cannot() {
  echo "$1"
  exit 77
}
[[ $EUID -eq 0 ]] || cannot "needs root, for chroot and mounts"
[[ -n $(command -v mmdebstrap) ]] || cannot "mmdebstrap is not installed: run tools/setup.sh --tests"
unshare --mount --pid --fork --mount-proc true 2>/dev/null || cannot "this machine lets nobody mount, not even root"
# All that follows sees mounts and processes of its own, and none outlives it.
if [[ -z ${EMPLACE_FRESH_MACHINE:-} ]]; then
  EMPLACE_FRESH_MACHINE=1 exec unshare --mount --pid --fork --kill-child --mount-proc "$checkout/tests/setup/fresh_machine.sh" "$@"
fi
own_suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
suite=${1:-$own_suite}

work=$(mktemp -d)
machine=$work/machine
clean_up() {
  umount -R "$machine"/{proc,sys,dev} "${shared[@]/#/$machine}" 2>/dev/null
  # Never below something that is still mounted: it would be this machine's.
  if grep -q " $machine/" /proc/mounts; then echo "$machine stays: something is still mounted in it"; else rm -rf "$work"; fi
}
shared=()
trap clean_up EXIT
trap 'exit 1' INT TERM

failed=0
try() {  # try NAME COMMAND...
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$work/log" 2>&1; then
    echo "ok     $name ($((SECONDS - began)) s)"
  else
    tail -n 30 "$work/log"
    echo "FAILED $name"
    failed=1
    return 1
  fi
}
# On the fresh machine, in this folder of it: nothing of this one's environment goes along.
inside() {  # inside FOLDER COMMAND...
  local folder=$1
  shift
  env -i HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 EMPLACE_JOBS="${EMPLACE_JOBS:-$(nproc)}" \
    CCACHE_DIR="${CCACHE_DIR:-$HOME/.cache/ccache}" ${CCACHE_DISABLE:+CCACHE_DISABLE=1} \
    chroot "$machine" bash -c 'cd "$1" && shift && exec "$@"' bash "$folder" "$@"
}

# Debian's own sources alone, as this machine knows them; other ones would bring other versions.
sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    sed -n "s/\\b$own_suite\\b/$suite/; s/ Debian\$//p"
}
make_machine() {
  [[ -n $(sources) ]] || apt-get update -q
  sources >"$work/sources.list"
  cat "$work/sources.list"
  apt-config dump | grep -E '^Acquire::(http|https)::' >"$work/apt.conf"  # A proxy, its certificate.
  mmdebstrap --variant=apt --quiet --aptopt="$work/apt.conf" "$suite" "$machine" \
    - <"$work/sources.list"
}
if [[ $suite == "$own_suite" ]]; then
  try "a machine with nothing on it" make_machine || exit 1
elif ! make_machine >"$work/log" 2>&1; then
  tail -n 5 "$work/log"
  cannot "these servers give no machine of $suite"
fi
cp -L /etc/resolv.conf "$machine/etc/resolv.conf"
mount -t proc proc "$machine/proc" && mount --rbind /sys "$machine/sys" && mount --rbind /dev "$machine/dev" || exit 1
mount --make-rslave "$machine/sys" && mount --make-rslave "$machine/dev" || exit 1
# The launcher binds the learner to an address that others reach: names have to be found.
cp /etc/hosts /etc/hostname "$machine/etc/"

# 1. The archive, before anything is installed.
train=(launch/cluster.sh configs/smoke.yaml --dir /tmp/run)
unpack() {
  local archive
  archive=$(tools/package.sh "$work") || return 1
  mkdir -p "$machine/opt" && tar -C "$machine/opt" -xzf "$archive" && mv "$machine"/opt/emplace-* "$machine/opt/emplace"
}
place_unseen() {  # place_unseen FOLDER EMPLACE
  local graph
  graph=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["test"][0])' "$machine/tmp/run/graphs/split.json") || return 1
  inside "$1" "$2" place --graph "/tmp/run/graphs/$graph" --devices configs/clusters/k80x2.yaml \
    --policy /tmp/run/policy.safetensors --out /tmp/placement.json
}
if [[ $suite == "$own_suite" ]] && try "tools/package.sh, unpacked" unpack; then
  try "the archive trains configs/smoke.yaml" inside /opt/emplace "${train[@]}"
  try "the archive places a graph" place_unseen /opt/emplace bin/emplace
fi
rm -rf "$machine/opt/emplace" "$machine/tmp/run" "$work"/*.gz

# 2. README's commands, in a copy of this checkout at its own path, for that is how the compiler cache knows it.
copy() {
  mkdir -p "$machine$checkout" &&
    git ls-files --cached --others --exclude-standard -z | tar --null --files-from=- --ignore-failed-read -cf - | tar -C "$machine$checkout" -xf -
}
try "a copy of the checkout" copy || exit 1
caches=("${CCACHE_DIR:-$HOME/.cache/ccache}" "${EMPLACE_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/emplace}")
for folder in "${caches[@]}"; do
  mkdir -p "$folder" "$machine$folder"
  mount --bind "$folder" "$machine$folder" && shared+=("$folder")
done
# Set up otherwise, the compiler cache would find nothing that this machine has compiled.
[[ -z $(command -v ccache) ]] || ccache --show-config | sed '/^(default)/d; s/^([^)]*) //' >"$machine/etc/ccache.conf"

says_it_needs_root() {
  local code=0
  inside "$checkout" setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent tools/setup.sh >"$work/nobody" 2>&1 || code=$?
  cat "$work/nobody"
  (( code == 1 )) && [[ $(wc -l <"$work/nobody") -eq 1 ]] && grep -q '^setup: needs root to install: .*cmake' "$work/nobody"
}
try "tools/setup.sh without root says in one line what it needs" says_it_needs_root
try "tools/setup.sh" inside "$checkout" tools/setup.sh || exit 1
nothing_to_do() {
  inside "$checkout" tools/setup.sh >"$work/second" 2>&1 && [[ ! -s $work/second ]]
}
try "tools/setup.sh once more has nothing to do" nothing_to_do
try "configure and build" inside "$checkout" bash -c 'cmake --preset dev && cmake --build --preset dev --target programs -j "$EMPLACE_JOBS"'
if try "configs/smoke.yaml trains to its end" inside "$checkout" "${train[@]}"; then
  try "the trained policy places a graph" place_unseen "$checkout" build/bin/emplace
fi
exit "$failed"
