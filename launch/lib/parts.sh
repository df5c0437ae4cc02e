# shellcheck shell=bash disable=SC2154
# The parts that cluster.sh has on a user's machine and in a Slurm job.
# shellcheck source=arguments.sh
source "$root/launch/lib/arguments.sh" || exit 1
# shellcheck source=build.sh
source "$root/launch/lib/build.sh" || exit 1
# shellcheck source=preflight.sh
source "$root/launch/lib/preflight.sh" || exit 1
# shellcheck source=supervise.sh
source "$root/launch/lib/supervise.sh" || exit 1
# shellcheck source=train.sh
source "$root/launch/lib/train.sh" || exit 1
