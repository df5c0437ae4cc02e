#!/usr/bin/env bash
# launch/cluster.sh on a real Slurm and over real ssh, both on this machine: one line a test, "ok ..." or "FAILED ...", and at the end
# "N passed, M failed". Needs root, as slurmd does. What a failed test leaves to look at is printed beneath it.
#
#   tests/cluster/run.sh [slurm | hosts]...      both when none is named
set -uo pipefail
# Whoever started us in the background may have made us ignore these, which bash cannot undo; tests send them.
[[ -n ${EMPLACE_SIGNALS:-} ]] || EMPLACE_SIGNALS=default exec env --default-signal=HUP,INT,QUIT "$0" "$@"
cd "$(dirname "$0")/../.." || exit 1
here=tests/cluster
passed=0 failed=0

# check NAME COMMAND...: one passed or failed test.
check() {
  local name=$1
  shift
  if "$@" >"$work/check.out" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    tail -n 20 "$work/check.out"
    return 1
  fi
}

# wait_for SECONDS COMMAND...
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    (( SECONDS < end )) || { echo "waited in vain for: $*"; return 1; }
    sleep 0.2
  done
}

# check_hidden NAME COMMAND...: a test that hides something from the second node.
check_hidden() {
  if (( ${#own_mounts[@]} > 0 )); then check "$@"; else echo "skipped $1: needs mounts of its own"; fi
}

free_ports() {  # free_ports N
  python3 -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
for s in sockets: print(s.getsockname()[1])' "$1"
}

# train_in FOLDER NAME ARGUMENTS...: configs/smoke.yaml of a checkout or archive, in $work/NAME, its output in $work/NAME.log.
train_in() {
  local folder=$1 name=$2
  shift 2
  # Bounded: a run that nothing ends must not hold up all tests.
  (cd "$folder" && timeout --foreground --kill-after 30 400 launch/cluster.sh configs/smoke.yaml --dir "$work/$name" "$@") \
    >>"$work/$name.log" 2>&1
}
train() { train_in . "$@"; }  # train NAME ARGUMENTS...

# train_from_archive NAME ARGUMENTS...: with what tools/package.sh packs.
train_from_archive() {
  [[ -d $work/emplace ]] || cmake --install build --prefix "$work/emplace" >/dev/null || return 1
  (unset EMPLACE_BIN && train_in "$work/emplace" "$@") || { cat "$work/$1.log"; return 1; }
  grep -q "^policy: " "$work/$1.log" && nothing_left "$1"
}

# For as long as a test needs to do something to it on the way.
long=(--set training.iterations=1000000 --set training.max_minutes=10 --set evaluation.patience=0)

launcher_of() { pgrep -o -f -- "^bash .*launch/cluster.sh .*--dir $work/$1 "; }
it_trains() { grep -q "^update" "$work/$1.log"; }
has_checkpoint() { compgen -G "$work/$1/checkpoints/update_*/state.json"; }
resumed() { (( $(grep -c "resumed after update" "$work/$1/logs/learner.log") == $2 )) || { tail "$work/$1.log"; return 1; }; }  # resumed NAME TIMES
nothing_left() { ! pgrep -af -- "$work/$1( |/|$)"; }  # Processes of a run, wherever they are.

# says NAME TEXT CODE COMMAND...: ends with the exit code, and the last line on stderr has the text in it.
says() {
  local text=$1 code=$2 got
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  got=$?
  (( got == code )) && tail -n 1 "$work/err" | grep -qF -- "$text" && return
  echo "expected exit code $code and '$text', got $got and:"
  cat "$work/out" "$work/err"
  return 1
}

# check_fails TEXT COMMAND...: the preflight says FAILED with the text, and nothing is started.
check_fails() {
  local text=$1
  shift
  says "nothing was started, as a check failed" 2 "$@" || return 1
  grep "^FAILED" "$work/out" | grep -qF -- "$text" || { cat "$work/out"; return 1; }
}

parts=("$@")
(( ${#parts[@]} > 0 )) || parts=(slurm hosts)
for part in "${parts[@]}"; do
  [[ $part == slurm || $part == hosts ]] || { echo "$0: unknown part '$part', expected slurm or hosts" >&2; exit 2; }
done
[[ $EUID -eq 0 ]] || { echo "skipped: needs root, as slurmd does"; exit 77; }
[[ -x build/bin/emplace-learner ]] || { echo "$0: nothing is built in build/, expected 'tests/run.sh' or launch/cluster.sh to have run" >&2; exit 2; }
export EMPLACE_BIN=$PWD/build/bin  # We may be another user than the one who builds.
# We may run in a job ourselves.
for name in "${!SLURM_@}"; do unset "$name"; done

# The second node and host have their own view of what is mounted, where the machine lets us: some containers do not.
own_mounts=(unshare --mount)
"${own_mounts[@]}" true 2>/dev/null || own_mounts=()

# Not below $TMPDIR: a socket's path must be short. Other users go through it: munge's own.
work=$(mktemp -d /tmp/emplace-cluster-XXXXXX)
chmod 755 "$work"
# shellcheck source=slurm.sh
source "$here/slurm.sh"
# shellcheck source=sshd.sh
source "$here/sshd.sh"
trap 'stop_slurm; stop_sshd; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

check "tools/setup.sh --tests" tools/setup.sh --tests --no-torch
for part in "${parts[@]}"; do
  # shellcheck source=slurm_tests.sh source=hosts_tests.sh
  source "$here/${part}_tests.sh"
done
echo "$passed passed, $failed failed"
(( failed == 0 ))
