#!/usr/bin/env bash
# The installed library, from outside: an example is configured, built and run against it, and gives what `emplace place` gives.
# installed_test.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../../.."
# shellcheck source=tests/lib/expect.sh
source tests/lib/expect.sh
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/installed" --component library >/dev/null
expect "the header is not self-contained" \
  g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I "$work/installed/include" -include emplace/emplace.h /dev/null
# What the library is made of stays inside: no symbol but those that the header declares.
exported=$(nm -DC --defined-only "$work/installed/lib/libemplace.so" | grep ' [TVWBD] ' | grep -vE ' std::| for std::| emplace::(Graph|Machine|Place|Simulate|ToJson|Version)\b' || true)
expect "the library also exports $exported" test -z "$exported"

{ cmake -S api/library/example -B "$work/example" -DCMAKE_PREFIX_PATH="$work/installed" &&
  cmake --build "$work/example"; } >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

cat >"$work/my.graph.json" <<'JSON'
{"format": "emplace.graph/1", "name": "mine", "ops": [
  {"name": "a", "cost_us": 10, "outputs": [{"bytes": 100}]},
  {"name": "b", "cost_us": 40, "inputs": ["a:0"], "outputs": [{"bytes": 100}]},
  {"name": "c", "cost_us": 40, "inputs": ["a:0"], "outputs": [{"bytes": 100}]}]}
JSON
devices=configs/clusters/k80x2.yaml
"$work/example/place_graph" "$work/my.graph.json" "$devices" 0.1 >"$work/printed"
placed=$("$build/bin/emplace" place --graph "$work/my.graph.json" --devices "$devices" --seconds 0.1 --json |
  python3 -c 'import json, sys; p = json.load(sys.stdin); print("mine: %.3f us a step, %.3f us on one device" % (p["makespan_us"], p["single_device_us"]))')
expect "it prints '$(head -n 1 "$work/printed")', expected '$placed'" grep -qF "$placed" "$work/printed"
expect "it does not name the device of each op" test "$(grep -cE '^  [abc] on gpu:[01]$' "$work/printed")" = 3

# The planner that is installed is used, whatever lies beside the program.
mkdir -p "$work/mine/models"
cat >"$work/mine/policy.cc" <<'CPP'
#include <emplace/emplace.h>
int main(int, char** args) {
  emplace::PlaceOptions options;
  options.method = "policy";
  return emplace::Place(emplace::Graph::Load(args[1]), emplace::Machine::Load(args[2]), options).found_by == "policy" ? 0 : 3;
}
CPP
g++ -std=c++17 -I "$work/installed/include" "$work/mine/policy.cc" -o "$work/mine/policy" -L "$work/installed/lib" -lemplace -Wl,-rpath,"$work/installed/lib"
expect "the library does not find the planner" "$work/mine/policy" "$work/my.graph.json" "$devices"

code=0
"$work/example/place_graph" "$work/none.graph.json" "$devices" 2>"$work/error" || code=$?
expect "a missing graph ends with $code, expected 1" test "$code" = 1
expect "a missing graph is '$(cat "$work/error")', expected one line that names it" grep -q "none.graph.json: cannot be read" "$work/error"

# Programs that were linked against another interface do not find this library.
name=$(readelf -d "$work/installed/lib/libemplace.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
expect "the library calls itself $name, expected its major and minor version" grep -qE '^libemplace\.so\.[0-9]+\.[0-9]+$' <<<"$name"
expect "the component brings libraries of others" test "$(cd "$work/installed/lib" && echo lib*)" = "$(cd "$work/installed/lib" && echo libemplace.so*)"
cmake --install "$build" --prefix "$work/installed" --component library-dependencies >/dev/null
elsewhere=$(ldd "$work/installed/lib/libemplace.so" | grep ' => ' | grep -vE "=> $work/installed/lib/|^\s*lib(c|m|dl|rt|pthread)\.so" || true)
expect "these are not beside the library: $elsewhere" test -z "$elsewhere"

cp -r api/library/example "$work/newer"
sed -i 's/Emplace 0.2/Emplace 9.0/' "$work/newer/CMakeLists.txt"
expect "version 9.0 is found, too" bash -c "! cmake -S '$work/newer' -B '$work/none' -DCMAKE_PREFIX_PATH='$work/installed' >'$work/log' 2>&1"
expect "it is not the version that is wrong: $(cat "$work/log")" grep -q 'requested version "9.0"' "$work/log"
exit "$wrong"
