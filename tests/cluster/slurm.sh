# shellcheck shell=bash disable=SC2154  # own_mounts is run.sh's.
# A Slurm of our own on this machine, sourced by run.sh: munged, slurmctld and two nodes, nodeA and nodeB, with ports and files of
# their own. It knows nothing of /etc/slurm and of a Slurm that the machine may be part of. nodeB has its own view of what is
# mounted, so that a test can hide something from it (on_node_b).
slurm_pids=()  # In the order of their start.
node_b=""

# start_daemon LOG COMMAND...: it dies with us, even when we are killed outright.
start_daemon() {
  local log=$1
  shift
  setpriv --pdeathsig TERM -- setsid "$@" >"$log" 2>&1 &  # Ctrl-C is not for them: there may be jobs to end.
  slurm_pids+=($!)
}

write_slurm_config() {  # write_slurm_config FOLDER
  local host ports
  host=$(hostname -s)
  mapfile -t ports < <(free_ports 3)
  # cred_expire is also how long a job that goes back into the queue waits there, by default two minutes.
  cat >"$1/slurm.conf" <<CONF
ClusterName=emplace-test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$1/munge/socket,cred_expire=5
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool-%n
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd-%n.pid
PlugStackConfig=$1/plugstack.conf
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
AccountingStorageType=accounting_storage/none
KillWait=20
MailProg=/bin/true
NodeName=nodeA NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=4 Gres=gpu:1
NodeName=nodeB NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=4 Gres=gpu:1
PartitionName=main Nodes=nodeA,nodeB Default=YES PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=nodeA,nodeB PriorityTier=2
CONF
  : >"$1/plugstack.conf"
  echo "NodeName=nodeA,nodeB Name=gpu File=/dev/null" >"$1/gres.conf"  # Slurm hands out what it is told of.
}

start_slurm() {  # start_slurm FOLDER; sets SLURM_CONF
  local folder=$1
  mkdir -p "$folder/munge" "$folder/state"
  write_slurm_config "$folder"
  (umask 077; head -c 1024 /dev/urandom >"$folder/munge/key")
  chown -R munge: "$folder/munge"
  start_daemon "$folder/munged.log" setpriv --reuid munge --regid munge --clear-groups --pdeathsig TERM -- munged --foreground \
    --key-file "$folder/munge/key" --socket "$folder/munge/socket" --pid-file "$folder/munge/pid" --seed-file "$folder/munge/seed"
  wait_for 10 test -S "$folder/munge/socket" || return 1
  export SLURM_CONF=$folder/slurm.conf
  start_daemon "$folder/slurmctld.log" slurmctld -D -i
  start_daemon "$folder/nodeA.log" slurmd -D -N nodeA
  start_daemon "$folder/nodeB.log" "${own_mounts[@]}" slurmd -D -N nodeB
  node_b=${slurm_pids[-1]}
  wait_for 20 both_nodes_idle
}

both_nodes_idle() { [[ $(sinfo --noheader --partition main --states idle --format %D 2>/dev/null) == 2 ]]; }
queue_is_empty() { [[ -z $(squeue --noheader 2>&1) ]]; }
# What started a job may end before it: salloc does not wait until the nodes have cleaned up.
queue_empties() { wait_for 20 queue_is_empty || { squeue; return 1; }; }
on_node_b() { nsenter --target "$node_b" --mount -- "$@"; }

stop_slurm() {
  local i
  # Its controller is the second, and may be gone: then asking for the queue would take a long time.
  if kill -0 "${slurm_pids[1]:-none}" 2>/dev/null && ! queue_is_empty; then
    { scancel --full --state=RUNNING; scancel --state=PENDING; wait_for 30 queue_is_empty; } >/dev/null 2>&1
  fi
  for (( i = ${#slurm_pids[@]} - 1; i >= 0; --i )); do
    { kill -TERM "${slurm_pids[i]}" && wait "${slurm_pids[i]}"; } 2>/dev/null
  done
}
