#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a GoogleTest program under oclgrind's checks for data races and uninitialised
# memory. Fails if oclgrind reports anything, because oclgrind itself always exits with 0. Each test
# runs in its own process, as oclgrind mistakes values of one OpenCL program for those of an earlier
# one.
# Usage: scripts/oclgrind.sh PROGRAM [--gtest_filter=FILTER]
set -eu
log=$(mktemp)
TARTAN_CACHE_DIR=$(dirname "$log")/tartan-oclgrind-$$
export TARTAN_CACHE_DIR
trap 'rm -rf "$log" "$TARTAN_CACHE_DIR"' EXIT
status=0
tests=$("$@" --gtest_list_tests | awk '/^[^ ]+\.( |$)/ { suite = $1 } /^  / { print suite $1 }')
for test in $tests; do
  # Without optimisation, because the checks do not know the "freeze" instruction.
  oclgrind --build-options -cl-opt-disable --data-races --uninitialized --max-errors 20 \
    --log "$log" "$1" --gtest_brief=1 --gtest_filter="$test" || status=$?
  if [ -s "$log" ]; then
    cat "$log"
    echo "oclgrind: $(grep -c . "$log") lines of complaints about $test" >&2
    exit 1
  fi
done
exit "$status"
