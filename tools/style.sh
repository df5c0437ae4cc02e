#!/usr/bin/env bash
# Checks how the sources are written: clang-format and shellcheck on all of them, clang-tidy (.clang-tidy) on those that have
# changed, which takes seconds a file. Debian 12's versions decide: tools/setup.sh --tests brings them.
#
#   tools/style.sh              clang-tidy on the files that differ from origin/main, or from the last commit but one if none do
#   tools/style.sh --all        clang-tidy on everything
#   tools/style.sh --fix        formats all sources in place, and checks nothing
#   tools/style.sh FILE...      clang-tidy on these files
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${EMPLACE_JOBS:-$(nproc)}

usage() {
  echo "style: $1" >&2
  exit 2
}

# Sources of ours that are there, committed or not, whose names end in one of these.
sources() {
  local name
  git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r name; do [[ ! -f $name ]] || echo "$name"; done
}

changed_sources() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then base=$(git rev-parse -q --verify HEAD~1 || git rev-parse HEAD); fi
  { git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'; git ls-files --others --exclude-standard -- '*.cc' '*.h'; } | sort -u
}

# Files with main programs of GPU kernels are nvcc's, and are not in the build that clang-tidy reads.
tidy() {
  local compiled
  cmake --preset tidy >/dev/null && cmake --build --preset tidy >/dev/null
  compiled=$(python3 -c 'import json, os; print("\n".join(sorted({os.path.relpath(e["file"]) for e in json.load(open("build-tidy/compile_commands.json"))})))')
  # A header is read with the file of its name, or with the first that includes it.
  local name file files=()
  for name in "$@"; do
    file=$name
    if [[ $name == *.h ]]; then
      file=${name%.h}.cc
      [[ -f $file ]] || file=$(git grep -lF "#include \"$name\"" -- '*.cc' | head -n 1 || true)
    fi
    if grep -qxF -- "$file" <<<"$compiled"; then files+=("$file"); fi
  done
  (( ${#files[@]} > 0 )) || return 0
  printf '%s\n' "${files[@]}" | sort -u |
    xargs -P "$jobs" -n 4 clang-tidy-14 -p build-tidy --quiet 2> >(grep -v 'warnings\? generated\|^$' >&2)
}

all=0
named=()
while (( $# )); do
  case $1 in
    --all) all=1 ;;
    --fix)
      sources '*.cc' '*.h' '*.cu' | xargs clang-format-14 -i
      exit ;;
    -*) usage "unknown option '$1', expected --all, --fix or files" ;;
    *)
      [[ -f $1 ]] || usage "there is no file '$1'"
      named+=("$1") ;;
  esac
  shift
done

failed=0
sources '*.cc' '*.h' '*.cu' | xargs clang-format-14 --dry-run -Werror || failed=1
sources '*.sh' launch/job.sbatch | xargs shellcheck -x || failed=1
if (( all )); then
  mapfile -t named < <(sources '*.cc' '*.h')
elif (( ${#named[@]} == 0 )); then
  mapfile -t named < <(changed_sources)
fi
tidy "${named[@]}" || failed=1
if (( failed )); then
  echo "style: see above; tools/style.sh --fix formats" >&2
  exit 1
fi
