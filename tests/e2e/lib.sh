# shellcheck shell=bash
# What the tests of this folder share. A test sources it in the repository's root, and ends with `(( failures == 0 ))`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
export EMPLACE_BIN=build/bin  # No test builds beside another one.

expect() {  # expect NAME COMMAND...
  local name=$1
  shift
  if ! "$@" >"$work/out" 2>"$work/err"; then
    echo "${0##*/}: $name failed"
    tail -n 20 "$work/out" "$work/err"
    failures=$((failures + 1))
  fi
}

balanced() {
  python3 - "$1" <<'PY'
import json, sys
ledger = json.load(open(sys.argv[1]))
for name, counts in [("total", ledger["total"]), *ledger["actors"].items()]:
    parts = counts["trained"] + counts["stale"] + counts["rejected"] + counts["lost"]
    assert counts["produced"] == parts, (name, counts)
assert ledger["total"]["trained"] > 0, ledger
PY
}
