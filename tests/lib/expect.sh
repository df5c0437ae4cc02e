# shellcheck shell=bash
# For a test that looks at many things and goes on after one that is wrong; it ends with `exit "$wrong"`.
wrong=0

# expect WHAT COMMAND...: prints WHAT, which says what is wrong, when the command fails.
expect() {
  local what=$1
  shift
  # shellcheck disable=SC2034  # The test that sources this ends with it.
  "$@" || { echo "${0##*/}: $what"; wrong=1; }
}
