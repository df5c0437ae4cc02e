# shellcheck shell=bash disable=SC2034,SC2154
# A run on this machine: the learner, and actors beside it.
# shellcheck source=actors.sh
source "$root/launch/lib/actors.sh" || exit 1

start_learner() {
  # Its progress lines go straight through; in a process group of its own, so that Ctrl-C reaches it through us alone.
  set -m
  start "$bin/emplace-learner" --config "$config" --dir "$run_dir" "${resume[@]}" "${on_loopback[@]}" "${sets[@]}" "${rank_sets[@]}" &
  learner=$!
  set +m
}

is_learners_own() { [[ $learner_file == *"\"pid\":$learner,"* ]]; }

ask_learner() { kill -TERM "$learner" 2>/dev/null; }

start_children() {
  local i
  for (( i = 0; i < actors + hardware && ! stopping; ++i )); do
    kill -0 "$learner" 2>/dev/null || return
    if (( i < actors )); then child_name[i]=actor-$i; else child_name[i]=hardware-$((i - actors)); fi
    child_log[i]=$run_dir/logs/${child_name[i]}.log
    start_child "$i"
  done
}

watch_ranks() { :; }  # The learner starts its other ranks itself.

read_nodes() { :; }  # There is this machine.

run() {
  [[ -n $actors ]] || actors=$(default_actors "$(nproc)" "$ranks")
  # A run that was on a cluster before has its network in its configuration.
  on_loopback=()
  [[ ! -d $run_dir/keys ]] || on_loopback=(--set network.bind=127.0.0.1 --set network.advertise= --set network.keys=)
  preflight_here
  train
}
