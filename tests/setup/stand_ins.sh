#!/usr/bin/env bash
# tools/setup.sh on a machine that has nothing, in a second and without root: dpkg-query is asked about an empty database, and
# what apt-get is asked for is written down. Prints what is wrong; exit code 0 when nothing is.
# shellcheck disable=SC2016,SC2317  # The stand-ins expand these; `expect` calls the functions.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/dpkg" "$work/home"
: >"$work/dpkg/status"
real=$(command -v dpkg-query)

stand_in() {
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}
stand_in dpkg-query "exec $real --admindir=$work/dpkg \"\$@\""
stand_in apt-get "printf '%s\n' \"\$*\" >>$work/asked"
# What it would do as root, or by sudo, to keep services from starting.
stand_in sudo '[[ $1 != -n ]] || shift; exec "$@"'
stand_in tee "cat >/dev/null"
stand_in chmod :
stand_in systemctl :

# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh
asked_for() { grep -E ' install ' "$work/asked" | tr ' ' '\n' | grep -qxF -- "$1"; }
PATH=$work/bin:$PATH HOME=$work/home tools/setup.sh --tests --no-torch >"$work/out" 2>&1
expect "it fails where no package is installed: $(cat "$work/out")" test $? -eq 0
expect "apt-get is never called" test -s "$work/asked"
for package in g++ cmake libyaml-cpp-dev libzmq3-dev util-linux openssh-client chromium slurmd clang; do
  expect "$package is not asked for" asked_for "$package"
done
expect "it does not wait for another apt" grep -q 'DPkg::Lock::Timeout' "$work/asked"
expect "it does not update apt's lists first" grep -q ' update$' <(head -n 1 "$work/asked")

# Where nobody may become root it says so in one line, and what is missing.
stand_in sudo "exit 1"
if [[ $EUID -eq 0 ]]; then as_nobody=(setpriv --reuid 65534 --clear-groups --); else as_nobody=(); fi
chmod 755 "$work" "$work/bin" "$work/dpkg"
: >"$work/asked"
PATH=$work/bin:$PATH "${as_nobody[@]}" tools/setup.sh --no-torch >"$work/out" 2>&1
expect "without root it does not fail" test $? -eq 1
expect "without root it does not say one clear line: $(cat "$work/out")" \
  grep -qE '^setup: needs root to install: .*cmake.*\(call it once as root, or install them yourself\)$' "$work/out"
expect "without root it says more than one line: $(cat "$work/out")" test "$(wc -l <"$work/out")" -eq 1
expect "without root it calls apt-get" test ! -s "$work/asked"

# A machine that has everything is left alone.
sed -n '/^packages=(/,/^)/p' tools/setup.sh | sed '1d;$d;s/#.*//' | tr ' ' '\n' | grep . |
  sed 's/.*/Package: &\nStatus: install ok installed\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n/' >"$work/dpkg/status"
PATH=$work/bin:$PATH tools/setup.sh --no-torch >"$work/out" 2>&1
expect "it does something where all is installed: $(cat "$work/out" "$work/asked")" test $? -eq 0 -a ! -s "$work/out" -a ! -s "$work/asked"
exit "$wrong"
