#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Clang's warnings and clang-tidy's checks (.clang-tidy) over the sources of the library and the program, without
# precompiled headers, so that each source is seen to include what it uses.
# Usage: scripts/lint.sh [BUILD_FOLDER [SHARE]]; SHARE n takes every n-th source, another n-th each day.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build}
share=${2:-1}
[ -f "$build/compile_commands.json" ] || { echo "lint.sh: $build has no compile_commands.json; configure it first" >&2; exit 1; }

tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo "lint.sh: needs clang-tidy" >&2; exit 1; }
folder=$build/lint
mkdir -p "$folder"
# GCC's precompiled headers and the warnings that it alone knows are of no use here.
sed -E -e 's/ -include [^ ]*cmake_pch\.hxx//; s/ -Winvalid-pch//; s/ -Wno-(maybe-uninitialized|dangling-reference)//' \
  "$build/compile_commands.json" >"$folder/compile_commands.json"

turn=$(($(date +%s) / 86400 % share))
git ls-files 'frontend/*.cc' 'tile/*.cc' 'hal/*.cc' 'backend_opencl/*.cc' 'bench/*.cc' |
  while read -r file; do
    grep -q "\"file\": \"$PWD/$file\"" "$folder/compile_commands.json" && echo "$file"
  done | awk -v n="$share" -v turn="$turn" 'NR % n == turn' >"$folder/sources.txt"
[ -s "$folder/sources.txt" ] || { echo "lint.sh: no source is compiled in $build" >&2; exit 1; }
echo "lint.sh: $(wc -l <"$folder/sources.txt") sources"
nice xargs -P "$(nproc)" -n 4 "$tidy" -p "$folder" --quiet <"$folder/sources.txt" 2>"$folder/log" ||
  { grep -vE "warnings generated|^Suppressed|^Use -header" "$folder/log" >&2 || true; exit 1; }
