# shellcheck shell=bash disable=SC2154
# Sourced by run.sh.
write_hosts() { printf '%s\n' "$@" >"$work/hosts"; }

whole_run_over_ssh() {
  write_hosts "# the learner's" "hostA" "" "hostB slots=2  # actors"
  train ssh --hosts "$work/hosts" || { cat "$work/ssh.log"; return 1; }
  grep -q "'hostB/1' joins" "$work/ssh.log" && ! grep -q "'hostA/0' joins" "$work/ssh.log" && nothing_left ssh
}

archive_over_ssh() {
  write_hosts hostA "hostB slots=1"
  train_from_archive ssh-archive --hosts "$work/hosts" && grep -q "'hostB/0' joins" "$work/ssh-archive.log"
}

begin_long_run() {  # begin_long_run NAME OPTION...; sets launcher and script
  write_hosts "hostA slots=1" "hostB slots=1"
  train "$@" "${long[@]}" --hosts "$work/hosts" &
  launcher=$!
  wait_for 60 it_trains "$1" && script=$(launcher_of "$1")
  # On a busy machine updates are made with the first host's actor before the second one's has joined.
  wait_for 60 grep -q "'hostB/0' joins" "$work/$1/logs/learner.log"
}

interrupted_over_ssh() {
  begin_long_run ssh-stopped || return 1
  kill -KILL "$(pgrep -o -f -- "emplace-actor --learner .* --name hostB/0$")"
  wait_for 20 grep -q "hostB/0 died" "$work/ssh-stopped.log" || return 1
  kill -INT "$script"
  wait "$launcher" && has_checkpoint ssh-stopped && nothing_left ssh-stopped
}

resumed_over_ssh() { train ssh-stopped --resume --set training.iterations=1 --hosts "$work/hosts" && resumed ssh-stopped 1; }

# What runs on the hosts ends with us, well: the learner still writes its checkpoint.
killed_launcher() {
  begin_long_run ssh-killed || return 1
  kill -KILL "$script"
  wait "$launcher"
  wait_for 30 nothing_left ssh-killed && has_checkpoint ssh-killed && [[ -s $work/ssh-killed/summary.json ]]
}

lost_connection() {
  begin_long_run ssh-lost || return 1
  kill -KILL "$(pgrep -o -f -- "ssh .* hostB .*node.sh")"
  wait_for 20 grep -q "the connection to hostB died" "$work/ssh-lost.log" || return 1
  wait_for 60 joined_twice || return 1  # It is started anew over ssh, on a machine that may be busy with other things.
  kill -TERM "$script"
  wait "$launcher" && nothing_left ssh-lost
}

joined_twice() { (( $(grep -c "'hostB/0' joins" "$work/ssh-lost/logs/learner.log") == 2 )); }

# The learner's second rank on the second host, where there is an actor too.
two_ranks=(--ranks-per-node 1 --set training.ranks=2)
ranks_over_ssh() {
  write_hosts hostA "hostB slots=1"
  train ssh-ranks --hosts "$work/hosts" "${two_ranks[@]}" --set training.iterations=20 || { cat "$work/ssh-ranks.log"; return 1; }
  grep -q "rank 1 of 2 follows tcp://" "$work/ssh-ranks/logs/rank-1.log" && nothing_left ssh-ranks
}

# Its rank's connection is lost: there is no learner without it.
lost_rank() {
  begin_long_run ssh-rank-lost "${two_ranks[@]}" || return 1
  kill -KILL "$(pgrep -f -- "ssh .* hostB .*--rank 1 ")"
  wait "$launcher"
  (( $? == 1 )) && wait_for 20 nothing_left ssh-rank-lost && grep -q "rank 1 of 2 has ended with exit code" "$work/ssh-rank-lost.log"
}

too_many_ranks() {
  write_hosts hostA hostB
  says "3 ranks with --ranks-per-node 1 need 3 nodes, expected at most 2" 2 \
    launch/cluster.sh configs/smoke.yaml --dir "$work/ssh-few" --hosts "$work/hosts" --ranks-per-node 1 --set training.ranks=3
}

unshared_over_ssh() {
  write_hosts hostA hostB
  mkdir -p "$work/ssh-unshared/logs"
  on_host_b mount -t tmpfs tmpfs "$work/ssh-unshared"
  check_fails "hostB has another $work/ssh-unshared" launch/cluster.sh configs/smoke.yaml --dir "$work/ssh-unshared" --hosts "$work/hosts"
}

unreachable_host() {
  write_hosts hostA hostC
  check_fails "hostC does not run commands for us: " launch/cluster.sh configs/smoke.yaml --dir "$work/ssh-away" --hosts "$work/hosts"
}

bad_hosts() {
  write_hosts hostA "hostB slots=two"
  says "hosts:2: 'hostB slots=two', expected HOST [slots=M]" 2 launch/cluster.sh configs/smoke.yaml --hosts "$work/hosts" || return 1
  write_hosts hostA hostA
  says "hosts:2: hostA is there twice" 2 launch/cluster.sh configs/smoke.yaml --hosts "$work/hosts" || return 1
  write_hosts "# nobody"
  says "no host, expected one a line" 2 launch/cluster.sh configs/smoke.yaml --hosts "$work/hosts"
}

second_run_over_ssh() {
  write_hosts hostA hostB
  says "holds a run already" 2 launch/cluster.sh configs/smoke.yaml --dir "$work/ssh" --hosts "$work/hosts"
}

taken_port_here() {
  local port
  port=$(sed -nE 's/^ListenAddress .*:([0-9]+)$/\1/p' "$work/sshd-files/sshd-0.conf")
  check_fails "$port is taken on this machine" launch/cluster.sh configs/smoke.yaml --dir "$work/here" --set "network.port=$port"
}

check "two ssh servers start" start_sshd "$work/sshd-files" || return
check "a whole run over ssh" whole_run_over_ssh
check "a run over ssh from an archive" archive_over_ssh
check "ssh: a killed actor is replaced; Ctrl-C leaves a checkpoint and no process" interrupted_over_ssh
check "ssh: --resume goes on with it" resumed_over_ssh
check "ssh: a killed launcher leaves a checkpoint and no process" killed_launcher
check "ssh: a lost connection is replaced" lost_connection
check "ssh: ranks on two hosts" ranks_over_ssh
check "ssh: a rank whose connection is lost ends the run" lost_rank
check "ssh: more ranks than hosts have room for" too_many_ranks
check_hidden "ssh: a run directory that is not shared" unshared_over_ssh
check "ssh: a host that cannot be reached" unreachable_host
check "ssh: a run directory in use" second_run_over_ssh
check "ssh: bad files of hosts" bad_hosts
check "a local run: a port that is taken" taken_port_here
