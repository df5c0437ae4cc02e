#!/usr/bin/env bash
# Installs what the cluster tests need besides tools/setup.sh: Slurm, munge and an ssh server. None of them is started, and
# nothing that runs already is touched. Idempotent; with nothing to do it takes well under a second.
set -euo pipefail
packages=(munge slurmctld slurmd slurm-client openssh-server openssh-client)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
(( ${#missing[@]} > 0 )) || exit 0
if [[ $EUID -ne 0 ]]; then
  echo "tests/cluster/setup.sh: needs root to install: ${missing[*]}" >&2
  exit 1
fi

# Debian starts a service as it installs it, unless this file says no.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
echo "tests/cluster/setup.sh: installing ${missing[*]}"
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo "tests/cluster/setup.sh: apt-get could not install: ${missing[*]}; the whole log is $log" >&2
  exit 1
fi
rm -f "$log"
# Nor are they to start with the machine, when it was us who brought them.
for package in "${missing[@]}"; do
  case $package in
    munge | slurmctld | slurmd) systemctl disable --quiet "$package" 2>/dev/null || true ;;
    openssh-server) systemctl disable --quiet ssh 2>/dev/null || true ;;
  esac
done
