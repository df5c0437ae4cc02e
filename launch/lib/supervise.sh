# shellcheck shell=bash disable=SC2034,SC2154
# Keeps a set of processes going: one that dies is replaced, more and more slowly if it keeps dying; one that ends cleanly was
# told to, and one that ends with exit code 2, bad input, would do so again. Whoever uses this defines start_child INDEX, which starts the process in the background and sets child_pid[INDEX].
child_pid=()
restarts=() restarts_since=()  # Deaths in the last $restart_window seconds or less, and since when ($SECONDS).
restart_window=600 restart_limit=20
child_name=() child_log=()  # For messages.
stopping=0
given_up=0  # How many are not replaced any more.

# Every process we start dies with this script, even when it is killed outright: the kernel signals them. Always in the background,
# and with exec, so that $! is the process itself and not a shell between it and us.
start() { exec setpriv --pdeathsig TERM -- "$@"; }

give_up() {  # give_up INDEX
  given_up=$((given_up + 1))
  unset "child_pid[$1]"
}

# Whether there are no processes any more, and none of them ended because it was told to.
all_given_up() { (( given_up > 0 && given_up == ${#child_name[@]} )); }

# What a process said last besides what it has logged, its reason. In a folder are logs of several: each has said its own.
last_line() {
  if [[ -f $1 ]]; then grep -vE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} ' "$1" | tail -n 1; else echo "see $1"; fi
}

# Of a child that a signal has ended, bash says so ("line 9: 4711 Killed ...") when it next waits for any: we have words of our own.
wait_for() { { wait "$1"; } 2>/dev/null; }
pause() { { sleep "$1"; } 2>/dev/null; }

replace_dead() {
  local i code
  for i in "${!child_pid[@]}"; do
    kill -0 "${child_pid[$i]}" 2>/dev/null && continue
    wait_for "${child_pid[$i]}" && { unset "child_pid[$i]"; continue; }  # Told to stop: a clean end.
    code=$?
    (( stopping )) && { unset "child_pid[$i]"; continue; }
    if (( code == 2 )); then
      echo "cluster.sh: ${child_name[$i]} ended with exit code 2 and is not replaced: $(last_line "${child_log[$i]}")" >&2
      give_up "$i"
      continue
    fi
    if (( SECONDS - ${restarts_since[i]:--restart_window} >= restart_window )); then restarts[i]=0 restarts_since[i]=$SECONDS; fi
    restarts[i]=$(( restarts[i] + 1 ))
    if (( restarts[i] > restart_limit )); then
      echo "cluster.sh: ${child_name[$i]} died ${restarts[i]} times in $((SECONDS - restarts_since[i])) s and is not replaced any more; see ${child_log[$i]}" >&2
      give_up "$i"
      continue
    fi
    echo "cluster.sh: ${child_name[$i]} died (exit code $code) and is replaced; see ${child_log[$i]}" >&2
    pause "$(( restarts[i] > 5 ? 2 : 0 )).2"
    start_child "$i"
  done
}

# end_processes TENTHS PID...: SIGTERM, and SIGKILL for what is there still after so many tenths of a second.
end_processes() {
  local tenths=$1 pid alive
  shift
  for pid in "$@"; do kill -TERM "$pid" 2>/dev/null; done
  for _ in $(seq "$tenths"); do
    alive=0
    for pid in "$@"; do kill -0 "$pid" 2>/dev/null && alive=1; done
    (( alive )) || return 0
    pause 0.1
  done
  for pid in "$@"; do kill -KILL "$pid" 2>/dev/null; done
}
