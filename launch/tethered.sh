#!/usr/bin/env bash
# Runs a command for as long as stdin is open: a launcher far away holds the other end, and when it ends, whatever way, so does
# the command, by SIGTERM. The exit code is the command's.
#
#   launch/tethered.sh COMMAND...
set -uo pipefail
trap '' PIPE  # When the launcher is gone, so is whoever reads what the command prints; that must not keep it from ending well.
setpriv --pdeathsig TERM -- "$@" </dev/null &
child=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP

main() {
  while kill -0 "$child" 2>/dev/null; do
    read -r -t 0.2 _ && continue
    (( $? > 128 )) && continue  # Nothing came within the time.
    kill -TERM "$child" 2>/dev/null
    while kill -0 "$child" 2>/dev/null; do sleep 0.1; done
  done
  wait "$child"
  exit
}
main
