#!/usr/bin/env bash
# Causes the faults of a cluster for a learner and its actors (kills, cuts, full disks, damaged files, hostile peers), and checks
# that training survives. Prints a line for each fault: ok, FAILED or skipped. Needs the programs in build/bin. The exit code is
# 0 when nothing failed, and 77 when all faults were skipped.
#
#   tests/cluster/drill.sh                            causes every fault once
#   tests/cluster/drill.sh learner-killed disk-full   causes these faults
#   tests/cluster/drill.sh --minutes 60 [--seed N]    causes faults in random order for an hour
#   tests/cluster/drill.sh --set policy.kind=sgdp     causes every fault with another policy
#   tests/cluster/drill.sh --list                     lists the names of the faults
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
exec python3 -B tests/cluster/drill "$@"
