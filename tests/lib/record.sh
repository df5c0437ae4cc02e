# shellcheck shell=bash
# How tests/run.sh keeps count: a line for each test in the file $results, "STATUS <tab> SECONDS <tab> NAME <tab> WHY", where
# STATUS is passed, failed or skipped and WHY is there for those that were skipped.
results=$(mktemp)
jobs=${EMPLACE_JOBS:-$(nproc)}
trap 'rm -f "$results"' EXIT

step() { printf '\n== %s (%(%H:%M:%S)T)\n' "$*" -1; }

# record STATUS SECONDS NAME [WHY]
record() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" >>"$results"; }

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# check NAME COMMAND...: a test that passes when the command does; one that exits with 77 was skipped, and its last line says why.
check() {
  local name=$1 began=$EPOCHREALTIME log code=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || code=$?
  if (( code == 0 )); then
    record passed "$(seconds_since "$began")" "$name"
    echo "ok    $name"
  elif (( code == 77 )); then
    record skipped 0 "$name" "$(tail -n 1 "$log")"
    echo "skipped $name: $(tail -n 1 "$log")"
  else
    record failed "$(seconds_since "$began")" "$name"
    tail -n 60 "$log"
    echo "FAILED $name"
  fi
  rm -f "$log"
  (( code == 0 || code == 77 ))
}

# run_lines COMMAND...: a test for each of its lines "ok NAME...", "FAILED NAME..." and "skipped NAME: WHY".
run_lines() {
  local line last=$EPOCHREALTIME before
  before=$(wc -l <"$results")
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in
      "ok "*) line=${line#ok }; record passed "$(seconds_since "$last")" "${line#"${line%%[! ]*}"}" ;;
      "FAILED "*) record failed "$(seconds_since "$last")" "${line#FAILED }" ;;
      "skipped "*) line=${line#skipped }; record skipped 0 "${line%%: *}" "${line#*: }" ;;
      *) continue ;;
    esac
    last=$EPOCHREALTIME
  done < <("$@" || echo "exit code $?")
  if [[ $line == "exit code "* ]] && ! tail -n "+$((before + 1))" "$results" | grep -q '^failed'; then
    echo "FAILED $*: it ended early with $line"
    record failed 0 "$*"
  fi
}

# run_ctest FOLDER [OPTION...]: a test for each of ctest's; the options say which.
run_ctest() {
  local folder=$1 report
  shift
  report=$(mktemp)
  ctest --test-dir "$folder" "$@" -j "$jobs" --output-junit "$report" --no-tests=error >"$report.log" 2>&1
  if ! python3 tests/lib/junit.py "$report" "$results"; then
    tail -n 40 "$report.log"
    record failed 0 "ctest in $folder"
  fi
  rm -f "$report" "$report.log"
}

# The ten slowest, what was skipped, and the counts; returns 1 when anything failed.
summarize() {
  local passed failed skipped
  passed=$(grep -c '^passed' "$results")
  failed=$(grep -c '^failed' "$results")
  skipped=$(grep -c '^skipped' "$results")
  printf '\nslowest:\n'
  sort -t $'\t' -k 2,2 -rn "$results" | head -n 10 | awk -F '\t' '{ printf "  %7.1f s  %s\n", $2, substr($3, 1, 100) }'
  if (( skipped > 0 )); then
    printf '\nskipped:\n'
    awk -F '\t' '$1 == "skipped" { print "  " $3 ": " $4 }' "$results"
  fi
  if (( failed > 0 )); then
    printf '\nfailed:\n'
    awk -F '\t' '$1 == "failed" { print "  " $3 }' "$results"
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  (( failed == 0 && passed > 0 ))
}
