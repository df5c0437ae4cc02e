# shellcheck shell=bash disable=SC2154  # own_mounts is run.sh's.
# Two ssh servers of our own on this machine, sourced by run.sh: hostA and hostB, each with a port of its own, throwaway keys, and a
# client configuration that EMPLACE_SSH names. hostB has its own view of what is mounted, as nodeB has in slurm.sh.
sshd_pids=()
host_b=""
made_run_sshd=0

start_sshd() {  # start_sshd FOLDER; sets EMPLACE_SSH
  local folder=$1 ports i
  mkdir -p "$folder"
  mkdir /run/sshd 2>/dev/null && made_run_sshd=1  # Where sshd insists on going, whatever its configuration says.
  ssh-keygen -q -t ed25519 -N "" -f "$folder/host_key"
  ssh-keygen -q -t ed25519 -N "" -f "$folder/user_key"
  mapfile -t ports < <(free_ports 2)
  for i in 0 1; do
    cat >"$folder/sshd-$i.conf" <<CONF
ListenAddress 127.0.0.1:${ports[i]}
HostKey $folder/host_key
AuthorizedKeysFile $folder/user_key.pub
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile none
CONF
    echo "[127.0.0.1]:${ports[i]} $(cut -d ' ' -f 1,2 "$folder/host_key.pub")" >>"$folder/known_hosts"
  done
  cat >"$folder/config" <<CONF
Host hostA
  Port ${ports[0]}
Host hostB
  Port ${ports[1]}
Host host*
  HostName 127.0.0.1
  IdentityFile $folder/user_key
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known_hosts
CONF
  export EMPLACE_SSH="ssh -F $folder/config"
  setpriv --pdeathsig TERM -- setsid /usr/sbin/sshd -D -e -f "$folder/sshd-0.conf" 2>"$folder/hostA.log" &
  sshd_pids+=($!)
  setpriv --pdeathsig TERM -- setsid "${own_mounts[@]}" /usr/sbin/sshd -D -e -f "$folder/sshd-1.conf" 2>"$folder/hostB.log" &
  sshd_pids+=($!)
  host_b=$!
  wait_for 10 ssh -F "$folder/config" -o BatchMode=yes hostA true && wait_for 10 ssh -F "$folder/config" -o BatchMode=yes hostB true
}

on_host_b() { nsenter --target "$host_b" --mount -- "$@"; }

stop_sshd() {
  local pid
  for pid in "${sshd_pids[@]}"; do { kill -TERM "$pid" && wait "$pid"; } 2>/dev/null; done
  (( ! made_run_sshd )) || rmdir /run/sshd
}
