#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the sources of the library and the program by Clang with warnings as errors. It uses no
# precompiled headers, so that each source must include what it uses. With --tidy, runs clang-tidy
# with the checks of .clang-tidy instead, which takes four times as long.
# Usage: scripts/lint.sh [--tidy] [BUILD_FOLDER [SHARE]]; a SHARE of n takes every n-th source,
# starting at another one each day.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh
tool=clang
if [ "${1:-}" = --tidy ]; then
  tool=tidy
  shift
fi
build=${1:-build}
share=${2:-1}
[ -f "$build/compile_commands.json" ] ||
  fail "$build has no compile_commands.json; configure it first"
folder=$build/lint/$tool
mkdir -p "$folder"

# In a unity build, the commands of single sources come from another folder.
commands=$build/compile_commands.json
if grep -q 'CMAKE_UNITY_BUILD:.*=ON' "$build/CMakeCache.txt"; then
  mapfile -t options < <(sed -nE 's/^((TARTAN_(BUILD|FUZZ|STATIC)[A-Z_]*|CMAKE_BUILD_TYPE|Python_EXECUTABLE):.*)/-D\1/p' "$build/CMakeCache.txt")
  cmake -S . -B "$folder/apart" -G Ninja "${options[@]}" >"$folder/apart.log" ||
    fail "cmake could not configure $folder/apart"
  absolute=$(cd "$build" && pwd)
  commands=$folder/apart.json
  sed "s#$absolute/lint/$tool/apart#$absolute#g" "$folder/apart/compile_commands.json" >"$commands"
fi

# GCC's precompiled headers and the warnings that only GCC knows are removed.
sed -E -e 's/ -include [^ ]*cmake_pch\.hxx//; s/ -Winvalid-pch//; s/ -Wno-(maybe-uninitialized|dangling-reference)//' \
  -e 's/("command": ").*ccache /\1/' "$commands" >"$folder/compile_commands.json"
awk -v root="$PWD/" -v share="$share" -v turn="$(($(date +%s) / 86400 % share))" '
  sub(/^ *"command": "/, "") { command = $0; sub(/",?$/, "", command) }
  sub(/^ *"file": "/, "") && index($0, root) == 1 {
    file = substr($0, length(root) + 1)
    sub(/",?$/, "", file)
    if (file ~ /^(frontend|tile|hal|backend_opencl|distributed|bench)\/.*\.cc$/ && n++ % share == turn) print file "\t" command
  }' "$folder/compile_commands.json" >"$folder/sources.txt"
[ -s "$folder/sources.txt" ] ||
  fail "no source is compiled in $build"
echo "lint.sh: $(wc -l <"$folder/sources.txt") sources"

if [ "$tool" = tidy ]; then
  tidy=$(command -v clang-tidy-14 || command -v clang-tidy) ||
    fail "needs clang-tidy"
  cut -f1 "$folder/sources.txt" | xargs -P "$(nproc)" -n 4 "$tidy" -p "$folder" --quiet 2>"$folder/log" || {
    grep -vE "warnings generated|^Suppressed|^Use -header" "$folder/log" >&2 || true
    exit 1
  }
else
  # Each line is a file and GCC's command for it.
  cut -f2 "$folder/sources.txt" | sed -E 's/^[^ ]*c\+\+ /clang++ -fsyntax-only /; s/ -o [^ ]+ -c / -c /; s/\\"/"/g; s/\\\\/\\/g' |
    (cd "$build" && xargs -P "$(nproc)" -d '\n' -n 1 bash -c)
fi
