#!/usr/bin/env bash
# Installs what Emplace is built with: Debian packages (only those that are missing) and LibTorch, as the torch wheel in a
# virtual environment that all clones of this user share. Idempotent; with nothing to do it takes well under two seconds.
#
#   tools/setup.sh            the environment is ${EMPLACE_TORCH_VENV:-$XDG_CACHE_HOME/emplace/torch-2.11.0}
#   tools/setup.sh --fuzz     what tests/fuzz needs: clang too, and no LibTorch
set -euo pipefail

torch_version=2.11.0
venv=${EMPLACE_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/emplace/torch-$torch_version}
packages=(g++ cmake ninja-build ccache git pkg-config util-linux procps python3 python3-venv
  libzmq3-dev cppzmq-dev libcapnp-dev capnproto libyaml-cpp-dev libcli11-dev libspdlog-dev
  nlohmann-json3-dev libzstd-dev libxxhash-dev libscotch-dev coinor-libclp-dev libgtest-dev libgmock-dev
  valgrind)

fuzz=0
case "${1:-}" in
  "") ;;
  --fuzz)
    fuzz=1
    packages+=(clang libclang-rt-dev llvm) ;;  # libFuzzer and the sanitizers; llvm-symbolizer, which names their lines.
  *) echo "setup: unknown option '$1', expected --fuzz or nothing" >&2; exit 2 ;;
esac

fail() {
  echo "setup: $*" >&2
  exit 1
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | awk '$2 == "installed" {print $1}')
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort <<<"$installed")
}

install_packages() {
  command -v apt-get >/dev/null || fail "packages are missing and there is no apt-get; on Debian 12 they are: $*"
  local as_root=()
  if [[ $EUID -ne 0 ]]; then
    sudo -n true 2>/dev/null || fail "needs root to install: $* (run 'sudo tools/setup.sh' once, or install them yourself)"
    as_root=(sudo -n)
  fi
  echo "setup: installing $*"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    fail "apt-get could not install: $* (no network, or no such package; the whole log is $log)"
  fi
  rm -f "$log"
}

# A wheel that pip has finished installing has its metadata folder; nothing else marks the environment as complete.
have_torch() {
  compgen -G "$venv/lib/python3*/site-packages/torch-$torch_version*.dist-info/RECORD" >/dev/null
}

install_torch() {
  echo "setup: installing torch $torch_version into $venv (about a minute, once)"
  mkdir -p "$(dirname "$venv")" || fail "cannot create $(dirname "$venv")"
  # Two clones may get here at once; the second finds the work done.
  exec 9>"$venv.lock"
  flock 9
  have_torch && return
  python3 -m venv "$venv" || fail "python3 -m venv $venv failed"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "torch==$torch_version" numpy ||
    fail "pip could not install torch==$torch_version (no network?); call again to go on"
}

mapfile -t missing < <(missing_packages)
[[ ${#missing[@]} -eq 0 ]] || install_packages "${missing[@]}"
(( fuzz )) || have_torch || install_torch
