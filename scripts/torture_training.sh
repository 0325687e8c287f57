#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills training runs with SIGKILL at random moments and resumes them. Each must resume from a
# complete checkpoint, and the final model must be bit for bit the model of an undisturbed run. Then
# stops runs with SIGTERM at random moments, as schedulers do; each one is resumed once. Then tests a
# full disk, and two processes with one folder.
#
#   scripts/torture_training.sh [SEED [KILLS [STOPS]]]      by default 1 50 25

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seed=${1:-1} kills=${2:-50} stops=${3:-25}
tartan=${TARTAN_PROGRAM:-build/tartan}
RANDOM=$seed
work=$(mktemp -d "${TARTAN_TORTURE_DIR:-${TMPDIR:-/tmp}}/tartan-training-XXXXXX")
small=$work/small
cleanup() {
  mountpoint -q "$small" 2>/dev/null && umount "$small"
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  echo "FAILED (seed $seed): $*"
  exit 1
}

# 64 rows of numbers with the class of each.
awk 'BEGIN { for (i = 0; i < 64; ++i) { for (k = 0; k < 784; ++k) printf "%.3f,", ((i * 37 + k * 11) % 97) / 97 * (k % 2 == i % 2);
             print i % 2 } }' > "$work/data.csv"
# Replaces the calling shell, so that a signal reaches the program.
become() { # FOLDER EPOCHS MORE...
  local folder=$1 epochs=$2
  shift 2
  exec "$tartan" --quiet train examples/digits/digits.onnx --data "$work/data.csv" --batch 8 --epochs "$epochs" \
    --seed 5 --lr 1e-3 --checkpoint "$folder" --checkpoint-every 3 "$@"
}
train() { (become "$@"); }

epochs=60
train "$work/straight" $epochs --export "$work/straight.onnx" > "$work/log" 2>&1 ||
  { cat "$work/log"; fail "the run that nobody kills"; }

killed=0
for ((i = 0; i < kills; ++i)); do
  become "$work/killed" $epochs --resume > "$work/log" 2>&1 &
  pid=$!
  sleep "$(printf '0.%03d' $((RANDOM % 900 + 50)))"
  if kill -KILL $pid 2>/dev/null; then
    wait $pid 2>/dev/null || true
    killed=$((killed + 1))
  else
    wait $pid || { cat "$work/log"; fail "resuming after $killed kills"; }
  fi
done
train "$work/killed" $epochs --resume --export "$work/killed.onnx" > "$work/log" 2>&1 ||
  { cat "$work/log"; fail "resuming at the end"; }
cmp -s "$work/straight.onnx" "$work/killed.onnx" || fail "the model differs after $killed kills"
[[ -z $(find "$work/killed" -name '*.partial') ]] || fail "half a file is left"
echo "$killed kills: resumed each time, the same model"

# With accumulated gradients, validation, dropout and a rate that changes.
careful=(--accumulate 3 --val 16 --patience 1000 --dropout 0.2 --schedule linear)
epochs=100
# The second run finds its kernels on disk, as the stopped ones do.
for folder in "$work/careful" "$work/again"; do
  begin=$(date +%s%3N)
  train "$folder" $epochs "${careful[@]}" --export "$folder.onnx" > "$work/log" 2>&1 ||
    { cat "$work/log"; fail "a run that nobody stops"; }
  wall=$(($(date +%s%3N) - begin))
done
cmp -s "$work/careful.onnx" "$work/again.onnx" || fail "two runs give two models"
saved=0
for ((i = 0; i < stops; ++i)); do
  folder=$work/stopped$i
  become "$folder" $epochs "${careful[@]}" > "$work/log" 2>&1 &
  pid=$!
  moment=$((RANDOM * wall / 32768))
  sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
  kill -TERM $pid 2>/dev/null || true
  code=0
  wait $pid || code=$?
  # 143: the signal came before the program was ready to save.
  [[ $code == 0 || $code == 130 || $code == 143 ]] ||
    { cat "$work/log"; fail "code $code after SIGTERM at $moment ms"; }
  if [[ $code == 130 ]]; then
    [[ -e $folder/last.ckpt ]] || fail "nothing is saved after SIGTERM at $moment ms"
    saved=$((saved + 1))
  fi
  train "$folder" $epochs "${careful[@]}" --resume --export "$folder.onnx" > "$work/log" 2>&1 ||
    { cat "$work/log"; fail "resuming after SIGTERM at $moment ms"; }
  cmp -s "$work/careful.onnx" "$folder.onnx" || fail "the model differs after SIGTERM at $moment ms"
done
echo "$stops times SIGTERM: $saved saved, resumed each time, the same model"

become "$work/shared" 2000 > /dev/null 2>&1 &
pid=$!
until [[ -e $work/shared/lock ]]; do sleep 0.05; done
if train "$work/shared" 1 --resume > "$work/log" 2>&1; then fail "two processes train in one folder"; fi
grep -q 'another process' "$work/log" || { cat "$work/log"; fail "the second process says something else"; }
kill -KILL $pid
wait $pid 2>/dev/null || true
echo "two processes: the second one says so"

mkdir "$small"
if mount -t tmpfs -o size=4m tmpfs "$small" 2>/dev/null; then
  train "$small/run" 1 > /dev/null 2>&1 || fail "training on a small disk"
  before=$(cksum < "$small/run/last.ckpt")
  head -c 3500000 /dev/zero > "$small/filler" 2>/dev/null || true
  if train "$small/run" 3 --resume > "$work/log" 2>&1; then fail "a full disk is no error"; fi
  grep -q 'No space left' "$work/log" || { cat "$work/log"; fail "a full disk is called something else"; }
  [[ $(cksum < "$small/run/last.ckpt") == "$before" ]] || fail "the last checkpoint is gone"
  rm "$small/filler"
  train "$small/run" 3 --resume > /dev/null 2>&1 || fail "resuming after a full disk"
  echo "a full disk: the last checkpoint stays"
else
  echo "skipped: no right to mount a small disk"
fi
