#!/usr/bin/env bash
# Trains a policy: sets up, builds, starts one learner and its actors on this machine, on a Slurm cluster or over ssh, and stops
# them all together.
#
#   launch/cluster.sh CONFIG [--dir RUN_DIR] [--actors N] [--hardware N] [--resume] [--set section.key=value]...
#       [--gpus N]
#       [--slurm [--nodes N] [--actors-per-node M] [--ranks-per-node R] [--partition P] [--time T] [--gres LIST]]
#       [--hosts FILE [--actors-per-node M] [--ranks-per-node R]]
set -uo pipefail
trap '' PIPE  # Who reads our output may end before us (| tee, | head): the run still ends with its checkpoint.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=lib/parts.sh
source "$root/launch/lib/parts.sh" || exit 1
# In one function: bash reads a script as it runs it, and a pull or an edit must not reach a run that goes on for hours.
main() {
  parse_arguments "$@"
  if [[ $mode == slurm && -z ${SLURM_JOB_ID:-} ]]; then mode=job; fi  # Inside an allocation there is nothing to submit.
  # shellcheck source=lib/local.sh source=lib/job.sh source=lib/slurm.sh source=lib/hosts.sh
  source "$root/launch/lib/$mode.sh" || exit 1
  read_nodes
  build
  say_which_configuration
  refuse_unmeasurable_run
  run
}
main "$@"
