#!/bin/sh
# Runs a program under oclgrind's checks for data races and uninitialised memory and fails where it
# reports anything: oclgrind itself always exits with 0.
# Usage: scripts/oclgrind.sh PROGRAM [ARGUMENTS]
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
TARTAN_CACHE_DIR=$(dirname "$log")/tartan-oclgrind-$$
export TARTAN_CACHE_DIR
trap 'rm -rf "$log" "$TARTAN_CACHE_DIR"' EXIT
status=0
# Without optimisation: the checks know no "freeze" instruction.
oclgrind --build-options -cl-opt-disable --data-races --uninitialized --max-errors 20 --log "$log" "$@" || status=$?
if [ -s "$log" ]; then
  cat "$log"
  echo "oclgrind: $(grep -c . "$log") lines of complaints" >&2
  exit 1
fi
exit "$status"
