#!/usr/bin/env bash
# Trains a policy: sets up, builds, starts one learner and its actors on this machine, on a Slurm cluster or over ssh, and stops
# them all together.
#
#   launch/cluster.sh CONFIG [--dir RUN_DIR] [--actors N] [--resume] [--set section.key=value]...
#       [--slurm [--nodes N] [--actors-per-node M] [--partition P] [--time T] [--gpus N]]
#       [--hosts FILE [--actors-per-node M]]
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=lib/arguments.sh
source "$root/launch/lib/arguments.sh" || exit 1
# shellcheck source=lib/build.sh
source "$root/launch/lib/build.sh" || exit 1
# shellcheck source=lib/preflight.sh
source "$root/launch/lib/preflight.sh" || exit 1
# shellcheck source=lib/supervise.sh
source "$root/launch/lib/supervise.sh" || exit 1
# shellcheck source=lib/train.sh
source "$root/launch/lib/train.sh" || exit 1
# shellcheck source=lib/local.sh
source "$root/launch/lib/local.sh" || exit 1
# shellcheck source=lib/nodes.sh
source "$root/launch/lib/nodes.sh" || exit 1
# shellcheck source=lib/allocation.sh
source "$root/launch/lib/allocation.sh" || exit 1
# shellcheck source=lib/slurm.sh
source "$root/launch/lib/slurm.sh" || exit 1
# shellcheck source=lib/hosts.sh
source "$root/launch/lib/hosts.sh" || exit 1

# In one function: bash reads a script as it runs it, and a pull or an edit must not reach a run that goes on for hours.
main() {
  parse_arguments "$@"
  [[ $mode != hosts ]] || read_hosts
  build
  mkdir -p "$run_dir/logs" || exit 1
  # Elsewhere there is another working directory.
  [[ $mode == local ]] || { config=$(realpath "$config"); run_dir=$(realpath "$run_dir"); }
  case $mode in
    local) run_local ;;
    hosts) run_on_hosts ;;
    slurm) if [[ -n ${SLURM_JOB_ID:-} ]]; then run_in_allocation; else run_as_job; fi ;;
  esac
}
main "$@"
