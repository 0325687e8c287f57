#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the gradients of every model below a folder. Prints a line for each with its status (pass,
# fail, or the program's exit status), seconds and the last line of output. Details are in
# build/grad_check. Exits with 1 if a model fails.
# Usage: scripts/grad_check_models.sh FOLDER [options of tartan grad-check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -ge 1 ] || { echo "usage: $0 FOLDER [options of tartan grad-check]" >&2; exit 2; }
folder=$1
shift
program=${TARTAN_PROGRAM:-build/tartan}
limit=${TARTAN_GRAD_CHECK_SECONDS:-600}
details=build/grad_check
mkdir -p "$details"
passed=0
failed=0
other=0
for model in "$folder"/*/model.onnx; do
  [ -f "$model" ] || { echo "$folder: no folder with a model.onnx" >&2; exit 2; }
  name=$(basename "$(dirname "$model")")
  start=$SECONDS
  code=0
  timeout "$limit" "$program" grad-check "$model" "$@" >"$details/$name.txt" 2>&1 || code=$?
  case $code in
    0) status=pass; passed=$((passed + 1)) ;;
    1) status=fail; failed=$((failed + 1)) ;;
    124) status=timeout; other=$((other + 1)) ;;
    *) status="ended with $code"; other=$((other + 1)) ;;
  esac
  echo "$status  $name  $((SECONDS - start)) s  $(tail -n 1 "$details/$name.txt")"
done
echo "$passed passed, $failed failed, $other not checked"
[ "$failed" -eq 0 ]
