#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lists the objects that took longest in a build: slowest_objects.sh [BUILD [COUNT]]
#
# Reads Ninja's log of its last builds. Seconds are wall-clock time with all jobs running.
set -euo pipefail
log=${1:-build}/.ninja_log
count=${2:-10}
[ -f "$log" ] || { echo "slowest_objects.sh: there is no $log" >&2; exit 1; }
awk -F'\t' '!/^#/ && $4 ~ /\.o$/ { t[$4] = ($2 - $1) / 1000 }
  END { for (o in t) printf "%8.1f s  %s\n", t[o], o }' "$log" | sort -rn | sed -n "1,${count}p"
