#!/usr/bin/env bash
# launch/lib/nodes.sh: a run that goes on with more nodes keeps the keys that it has.
# shellcheck disable=SC2034  # Variables of the script under test.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work run_dir=$work/run
cat >"$work/emplace" <<'END'
#!/bin/bash
# A stand-in for `emplace keygen DIR --actors N [--add]`, which never writes over a file.
[[ $1 == keygen && $3 == --actors ]] || exit 2
[[ ${5:-} == --add || ! -e $2/learner.keys ]] || exit 2
mkdir -p "$2"
for ((i = 0; i < $4; i++)); do [[ -e $2/actor-$i.keys ]] || echo "$RANDOM" >"$2/actor-$i.keys"; done
[[ -e $2/learner.keys ]] || echo "$RANDOM" >"$2/learner.keys"
END
chmod 755 "$work/emplace"
# shellcheck source=../../launch/lib/nodes.sh
source launch/lib/nodes.sh
# shellcheck source=../lib/expect.sh
source tests/lib/expect.sh

nodes=(a b)
make_keys
expect "a new run has no keys for its nodes" test -f "$run_dir/keys/learner.keys" -a -f "$run_dir/keys/actor-1.keys"
before=$(cat "$run_dir"/keys/*.keys)
make_keys
expect "a run that goes on has other keys" test "$before" = "$(cat "$run_dir"/keys/*.keys)"
nodes=(a b c d)
make_keys
expect "further nodes have no keys" test -f "$run_dir/keys/actor-3.keys"
expect "with further nodes the others have other keys" \
  test "$before" = "$(cat "$run_dir"/keys/actor-[01].keys "$run_dir/keys/learner.keys")"
rm "$run_dir/keys/learner.keys"  # Killed while they were made.
make_keys
expect "keys that were never finished stay" test -f "$run_dir/keys/learner.keys" -a "$before" != "$(cat "$run_dir"/keys/actor-[01].keys "$run_dir/keys/learner.keys")"
exit "$wrong"
