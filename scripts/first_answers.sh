#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the times that a user waits for: first_answers.sh FOLDER [TURNS]
#
# FOLDER holds models as materialize.py writes them (NAME/model.onnx). The script prints medians of
# TURNS (3) runs with empty caches for each model: the wall-clock time of the first `tartan run`
# (auto, ready, exact), the time of a second process, and the speed of each tier's kernels
# afterwards. TARTAN names the program (build/tartan).
set -euo pipefail
cd "$(dirname "$0")/.."
tartan=${TARTAN:-build/tartan}
folder=$1
turns=${2:-3}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# Prints the value of a field of a report.
field() { grep -oE "\"$1\": *[0-9.e+-]+" | head -1 | sed 's/.*: *//'; }

# Prints the milliseconds of the whole process with empty caches.
cold() {
  for ((turn = 0; turn < turns; ++turn)); do
    rm -rf "${cache:?}"/*
    local begin
    begin=$(date +%s%N)
    TARTAN_CACHE_DIR=$cache "$tartan" --quiet --tier "$1" run --random "$2" > /dev/null
    echo $((($(date +%s%N) - begin) / 1000000))
  done | median
}

warm() {
  for ((turn = 0; turn < turns; ++turn)); do
    TARTAN_CACHE_DIR=$cache "$tartan" --quiet --format json --tier "$1" run --random "$2" |
      field first_answer_ms
  done | median
}

speed() {
  TARTAN_CACHE_DIR=$cache "$tartan" --quiet --format json --tier "$1" bench --time 1 "$2" |
    field median_ms
}

printf '%-18s %9s %9s %9s %9s %11s %11s %6s\n' model auto ready exact 'on disk' 'ready, ms' \
  'exact, ms' ratio
for model in "$folder"/*/model.onnx; do
  name=$(basename "$(dirname "$model")")
  auto=$(cold auto "$model")
  ready=$(cold ready "$model")
  slow=$(speed ready "$model")
  exact=$(cold exact "$model")
  again=$(warm exact "$model")
  quick=$(speed exact "$model")
  printf '%-18s %9s %9s %9s %9.0f %11.3f %11.3f %6.2f\n' "$name" "$auto" "$ready" "$exact" "$again" \
    "$slow" "$quick" "$(awk -v a="$quick" -v b="$slow" 'BEGIN { print a / b }')"
done
