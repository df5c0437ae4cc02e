#!/usr/bin/env bash
# Does to a learner and its actors what happens to them in a cluster (kills, cuts, full disks, damaged files, strangers), and
# checks that training keeps its promises; one line a fault, ok, FAILED or skipped. Needs the programs in build/bin.
# Exit code 0 only when nothing failed, 77 when all were skipped.
#
#   tests/cluster/drill.sh                            every fault once
#   tests/cluster/drill.sh learner-killed disk-full   these
#   tests/cluster/drill.sh --minutes 60 [--seed N]    faults in random order, for an hour
#   tests/cluster/drill.sh --list                     what there is
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
exec python3 -B tests/cluster/drill "$@"
