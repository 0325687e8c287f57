#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests that a change can affect, found from the build graph, and reports how
# long each part took. The change is everything since BASE, committed or not. BASE is HEAD where
# files are not committed yet, else HEAD~1. Tests near the change always run. Others that exceed the
# limit (120 s, predicted from their last times) are named and left out; --all runs them too. --list
# runs nothing. Usage: scripts/check.sh [--all | --limit SECONDS] [--list] [--build FOLDER] [BASE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

build=build limit=120 list='' base=''
while [ $# -gt 0 ]; do
  case $1 in
    --all) limit=inf ;;
    --limit) limit=${2:?--limit needs seconds} && shift ;;
    --list) list=1 ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    -*) fail "unknown option $1" ;;
    *) base=$1 ;;
  esac
  shift
done
[ -f "$build/build.ninja" ] || fail "$build is not configured; scripts/test.sh does so"

untracked=$(git ls-files --others --exclude-standard)
if [ -z "$base" ]; then
  base=HEAD~1
  [ -z "$(git diff --name-only HEAD)$untracked" ] || base=HEAD
fi
git rev-parse --quiet --verify "$base^{commit}" >/dev/null || fail "$base is not a commit"
mapfile -t changed < <({
  git diff --name-only "$base"
  git ls-files --others --exclude-standard
} | sort -u)
[ ${#changed[@]} -gt 0 ] || fail "nothing has changed since $base"
echo "check.sh: ${#changed[@]} files have changed since $base"

tests=$(python3 scripts/affected_tests.py --build "$build" --limit "$limit" "${changed[@]}")
awk -F '\t' '
  { printf "%-5s %-36s %7.1f s  %s\n", $1, $2, $4, $5; count[$1]++; seconds[$1] += $4 }
  END {
    printf "run %d tests, %.0f s by their last times", count["run"], seconds["run"]
    if (count["left"]) printf "; left out %d, %.0f s (--all)", count["left"], seconds["left"]
    print ""
  }' <<<"$tests"
[ -z "$list" ] || exit 0

run=$(grep '^run' <<<"$tests" || true)
[ -n "$run" ] || exit 0
mapfile -t targets < <(cut -f3 <<<"$run" | tr , '\n' | grep -vx -e - | sort -u)
names=$(cut -f2 <<<"$run" | paste -sd '|')

start=$SECONDS
if [ ${#targets[@]} -gt 0 ]; then
  cmake --build "$build" --target "${targets[@]}" || fail "the build failed"
fi
built=$SECONDS
status=0
ctest --test-dir "$build" -j "$(nproc)" --output-on-failure -R "^($names)\$" || status=$?
echo "check.sh: build $((built - start)) s, tests $((SECONDS - built)) s"
exit "$status"
