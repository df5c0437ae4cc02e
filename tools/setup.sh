#!/usr/bin/env bash
# Installs what Emplace needs: the Debian packages that are missing, and LibTorch, as the torch wheel in a virtual environment
# that all clones of this user share. Can be called again at any time; with nothing to do it takes well under two seconds.
#
#   tools/setup.sh               what the programs and launch/cluster.sh need
#   tools/setup.sh --tests       what tests/run.sh needs besides: clang, Chromium, Slurm, what tests the Python package, ...
#   tools/setup.sh --no-torch    everything but LibTorch
#
# The environment is ${EMPLACE_TORCH_VENV:-$XDG_CACHE_HOME/emplace/torch-VERSION}. The Python package is built and tested in
# ${EMPLACE_PYTHON_VENV:-$XDG_CACHE_HOME/emplace/python-tests}, which also sees that torch.
set -euo pipefail

torch_version=2.11.0
venv=${EMPLACE_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/emplace/torch-$torch_version}
python_venv=${EMPLACE_PYTHON_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/emplace/python-tests}
python=/usr/bin/python3  # Debian's: another one in PATH may lack venv, or be of a version that has no such wheel.
packages=(
  # To build.
  g++ cmake ninja-build ccache mold pkg-config python3 python3-venv python3-dev
  libzmq3-dev cppzmq-dev libcapnp-dev capnproto libyaml-cpp-dev libcli11-dev libspdlog-dev nlohmann-json3-dev
  libsimdjson-dev libeigen3-dev libzstd-dev libxxhash-dev libscotch-dev coinor-libclp-dev libgtest-dev libgmock-dev
  # That the launcher's scripts call.
  git util-linux procps openssh-client
)
test_packages=(
  clang clang-format clang-tidy libclang-rt-dev llvm  # llvm: its symbolizer names the lines of what a sanitizer finds.
  valgrind shellcheck chromium
  munge slurmctld slurmd slurm-client openssh-server iproute2
  mmdebstrap
)

torch=1
tests=0
while (( $# )); do
  case $1 in
    --tests) packages+=("${test_packages[@]}"); tests=1 ;;
    --no-torch) torch=0 ;;
    *) echo "setup: unknown option '$1', expected --tests, --no-torch or nothing" >&2; exit 2 ;;
  esac
  shift
done

fail() {
  echo "setup: $*" >&2
  exit 1
}

# dpkg-query fails as soon as it does not know one of the names, and still tells about the others.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(awk '$2 == "installed" {print $1}' <<<"$installed" | sort)
}

# Debian starts a service as it installs it, unless this file says no; none of ours is to run by itself.
keep_services_off() {
  local policy=/usr/sbin/policy-rc.d
  [[ ! -e $policy ]] || return 0
  # shellcheck disable=SC2064  # Now, while the variables are there.
  trap "${as_root[*]} rm -f $policy" EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}

as_root=()
install_packages() {
  command -v apt-get >/dev/null || fail "these packages are missing and there is no apt-get to install them: $*"
  if [[ $EUID -ne 0 ]]; then
    sudo -n true 2>/dev/null || fail "needs root to install: $* (call it once as root, or install them yourself)"
    as_root=(sudo -n)
  fi
  echo "setup: installing $*"
  keep_services_off
  local log package
  log=$(mktemp)
  # Another apt may be at work: wait for it.
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -q)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    fail "apt-get could not install: $* (no network, or no such package; the whole log is $log)"
  fi
  rm -f "$log"
  # Nor is a service that we brought to start with the machine.
  for package in "$@"; do
    case $package in
      munge | slurmctld | slurmd) "${as_root[@]}" systemctl disable --quiet "$package" 2>/dev/null || true ;;
      openssh-server) "${as_root[@]}" systemctl disable --quiet ssh 2>/dev/null || true ;;
    esac
  done
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
  ! have_torch || return 0
  "$python" -m venv "$venv" || fail "$python -m venv $venv failed"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "torch==$torch_version" numpy ||
    fail "pip could not install torch==$torch_version (no network?); call again to go on"
}

# The list of what is installed is copied into the environment at the end, which marks it as complete.
requirements=$(dirname "$0")/../tests/python/requirements.txt
have_python_tests() {
  cmp -s "$requirements" "$python_venv/requirements.txt"
}

install_python_tests() {
  echo "setup: installing what tests the Python package into $python_venv (once)"
  mkdir -p "$(dirname "$python_venv")" || fail "cannot create $(dirname "$python_venv")"
  exec 8>"$python_venv.lock"
  flock 8
  ! have_python_tests || return 0
  "$python" -m venv "$python_venv" || fail "$python -m venv $python_venv failed"
  "$python_venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" ||
    fail "pip could not install $requirements (no network?); call again to go on"
  # Modules that are not found here are looked for beside torch.
  echo "$venv/lib/$(basename "$python_venv"/lib/python3*)/site-packages" >"$(echo "$python_venv"/lib/python3*/site-packages)/torch.pth"
  cp "$requirements" "$python_venv/requirements.txt"
}

mapfile -t missing < <(missing_packages)
(( ${#missing[@]} == 0 )) || install_packages "${missing[@]}"
(( ! torch )) || have_torch || install_torch
(( ! tests )) || have_python_tests || install_python_tests
