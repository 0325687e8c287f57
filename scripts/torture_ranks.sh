#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Disturbs `mpirun tartan train`: kills or stops a rank at a random moment, slows ranks, gives them
# other models, data, builds, seeds or options, names a host that does not exist, fills the disk.
# A run that cannot go on must end within 30 s with an error of every rank that is left. It then
# resumes, and the model must be bit for bit the model of an undisturbed run.
#
#   scripts/torture_ranks.sh [SEED [TRIES]]      by default 1 50

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seed=${1:-1} tries=${2:-50}
tartan=$(realpath "${TARTAN_PROGRAM:-build/tartan}")
export TARTAN_MPI_PLUGIN=${TARTAN_MPI_PLUGIN:-$(dirname "$tartan")/libtartan_mpi.so}
limit=30 # seconds until all ranks have ended
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
RANDOM=$seed
work=$(mktemp -d "${TARTAN_TORTURE_DIR:-${TMPDIR:-/tmp}}/tartan-ranks-XXXXXX")
small=$work/small
cleanup() {
  mountpoint -q "$small" 2>/dev/null && umount "$small"
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  echo "FAILED (seed $seed, try $try, $kind, $ranks ranks, --shard $shard): $*"
  tail -n 5 "$work"/err.* "$work"/mpirun.err 2>/dev/null || true
  exit 1
}

# 64 rows of numbers with the class of each; a second file has another row.
awk 'BEGIN { for (i = 0; i < 64; ++i) { for (k = 0; k < 784; ++k) printf "%.3f,", ((i * 37 + k * 11) % 97) / 97 * (k % 2 == i % 2);
             print i % 2 } }' > "$work/data.csv"
sed '5s/^0/1/' "$work/data.csv" > "$work/data.other.csv"
cp examples/digits/digits.onnx "$work/model.onnx"
# The same graph with one weight changed.
perl -0777 -pe 'substr($_, length($_) / 2, 1) ^= "\x01"' "$work/model.onnx" > "$work/model.other.onnx"
# A program that differs from this one in its build id only.
build=$(readelf -n "$tartan" | sed -n 's/.*Build ID: //p')
perl -0777 -pe "\$id = pack('H*', '$build'); \$other = \$id ^ (\"\\x01\" x length(\$id)); s/\\Q\$id\\E/\$other/" "$tartan" > "$work/other"
chmod +x "$work/other"

# What every rank executes. odd: a rank and what differs there.
cat > "$work/rank.sh" <<'END'
rank=$OMPI_COMM_WORLD_RANK
echo $$ > "$WORK/pid.$rank.new" && mv "$WORK/pid.$rank.new" "$WORK/pid.$rank"
model=$WORK/model.onnx data=$WORK/data.csv program=$TARTAN seed=5 more=
if [ "$rank" = "$ODD_RANK" ]; then
  case $ODD in
    model) model=$WORK/model.other.onnx ;;
    data) data=$WORK/data.other.csv ;;
    build) program=$WORK/other ;;
    seed) seed=6 ;;
    options) more='--clip-norm 3' ;;
  esac
fi
exec "$program" --quiet train "$model" --data "$data" --batch 12 --epochs "$EPOCHS" --seed $seed --lr 1e-3 \
  --checkpoint "$FOLDER" --checkpoint-every 7 $SHARD $more "$@" 2> "$WORK/err.$rank"
END
# Trains on $ranks ranks in $FOLDER. Replaces the calling shell.
become() {
  rm -f "$work"/pid.* "$work"/err.*
  export WORK=$work TARTAN=$tartan EPOCHS=$epochs SHARD="" FOLDER=$folder ODD=$odd ODD_RANK=$odd_rank
  [[ $shard == none ]] || SHARD="--shard $shard"
  exec mpirun -n "$ranks" $hosts sh "$work/rank.sh" "$@" 2> "$work/mpirun.err" > /dev/null
}
train() { (become "$@"); }
# Waits until the process $1 has ended or $2 seconds are over.
wait_for() {
  local end=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}
# True if the process of a rank other than $1 has not ended.
others_work() {
  local rank
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ $rank == "$1" ]] || ! kill -0 "$(cat "$work/pid.$rank")" 2>/dev/null || return 0
  done
  return 1
}
between() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }
# Every rank but $1 printed an error, or the launcher did because the ranks had not joined yet.
check_errors() {
  local without=$1 rank missing=0
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ $rank == "$without" || -s $work/err.$rank ]] || missing=1
  done
  ((missing == 0)) && return 0
  [[ -s $work/mpirun.err ]] || fail "a rank ends without an error"
  [[ -n $without ]] || fail "a rank ends without an error of its own"
  early=$((early + 1))
}

kinds=(kill stop slow rank0 model data build seed options host disk)
shards=(none ${TARTAN_TORTURE_SHARDS-optimizer gradients parameters})
epochs=${TARTAN_TORTURE_EPOCHS:-40}
declare -A straight wall count
early=0 slowest=0
mkdir "$small"
offset=$((RANDOM % ${#kinds[@]}))
for ((try = 0; try < tries; ++try)); do
  kind=${kinds[$(((try + offset) % ${#kinds[@]}))]}
  ranks=$((RANDOM % 2 + 2))
  shard=${shards[$((RANDOM % ${#shards[@]}))]}
  odd_rank=$((RANDOM % ranks)) odd="" hosts=""
  key=$ranks-$shard
  if [[ -z ${straight[$key]-} ]]; then
    # The second run finds its kernels on disk, as the disturbed ones do.
    for run in first second; do
      folder=$work/$key.$run
      begin=$(date +%s%3N)
      train --export "$folder.onnx" || fail "the run that nobody disturbs"
      wall[$key]=$(($(date +%s%3N) - begin))
    done
    cmp -s "$work/$key.first.onnx" "$work/$key.second.onnx" || fail "two runs give two models"
    straight[$key]=$work/$key.first.onnx
  fi
  folder=$work/run$try
  moment=$((RANDOM * ${wall[$key]} / 32768))
  victim=$odd_rank
  [[ $kind != kill || $victim != 0 ]] || victim=1
  [[ $kind != rank0 ]] || victim=0
  case $kind in
    kill | rank0 | stop | slow)
      odd_rank=""
      become --export "$folder.onnx" &
      pid=$!
      sleep "$(between $moment)"
      until [[ -s $work/pid.$victim ]] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
      begin=$(date +%s%3N)
      target=$(cat "$work/pid.$victim" 2>/dev/null || echo 0)
      hit=0
      case $kind in
        stop) kill -STOP "$target" 2>/dev/null && hit=1 ;;
        slow)
          for _ in 1 2 3; do
            kill -STOP "$target" 2>/dev/null && sleep 0.7 && kill -CONT "$target" 2>/dev/null || break
            sleep 0.2
          done
          ;;
        *) kill -KILL "$target" 2>/dev/null && hit=1 ;;
      esac
      most=$limit
      [[ $kind != slow ]] || most=$((limit + 10 * wall[$key] / 1000))
      if ! wait_for $pid $most; then
        if others_work "$victim"; then
          kill -KILL "$target" $pid 2>/dev/null
          fail "ranks hang for $most s after $moment ms"
        fi
        kill -CONT "$target" # the others had already ended, and only the launcher waits
      fi
      took=$(($(date +%s%3N) - begin))
      code=0
      wait $pid || code=$?
      if [[ $kind == slow ]]; then
        ((code == 0)) || fail "a slow rank ends the run after $moment ms"
      elif ((code != 0)); then
        ((hit == 1)) || fail "the run fails although no rank was hit"
        check_errors $victim
        ((took <= slowest)) || slowest=$took
      fi # else the signal came after the last step
      ;;
    host)
      odd_rank=""
      hosts="--host localhost:1,no-such-host.invalid:$((ranks - 1)) --mca plm_rsh_agent $(command -v ssh || echo /bin/false)"
      become &
      pid=$!
      wait_for $pid $limit || { kill -KILL $pid; fail "an unreachable host is waited for"; }
      wait $pid && fail "an unreachable host is no error"
      [[ -s $work/mpirun.err ]] || fail "the launcher says nothing"
      hosts=""
      ;;
    disk)
      odd_rank=""
      if ! mount -t tmpfs -o size=6m tmpfs "$small" 2>/dev/null; then
        echo "skipped: no right to mount a small disk"
        continue
      fi
      folder=$small/run
      all=$epochs epochs=2
      train || fail "training on a small disk"
      epochs=$all
      before=$(cksum < "$folder/last.ckpt")
      head -c 6000000 /dev/zero > "$small/filler" 2>/dev/null || true
      begin=$(date +%s%3N)
      if train --resume; then fail "a full disk is no error"; fi
      took=$(($(date +%s%3N) - begin))
      ((took < limit * 1000 + ${wall[$key]})) || fail "a full disk takes $took ms"
      grep -q 'No space left' "$work"/err.0 || fail "a full disk is called something else"
      check_errors ""
      [[ $(cksum < "$folder/last.ckpt") == "$before" ]] || fail "the last checkpoint is gone"
      rm "$small/filler"
      ;;
    *)
      odd=$kind
      become &
      pid=$!
      wait_for $pid $limit || { kill -KILL $pid; fail "ranks that differ go on"; }
      wait $pid && fail "ranks that differ are no error"
      check_errors ""
      for ((rank = 0; rank < ranks; ++rank)); do
        grep -q 'the ranks differ' "$work/err.$rank" || fail "rank $rank does not say what differs"
      done
      [[ ! -e $folder/last.ckpt ]] || fail "ranks that differ have made a step"
      ;;
  esac
  odd="" odd_rank=""
  train --resume --export "$work/resumed.onnx" || fail "resuming after $moment ms"
  cmp -s "${straight[$key]}" "$work/resumed.onnx" || fail "the model differs after $moment ms"
  [[ -z $(find "$folder" -name '*.partial') ]] || fail "half a file is left"
  if mountpoint -q "$small" 2>/dev/null; then umount "$small"; fi
  rm -rf "$folder"
  count[$kind]=$((${count[$kind]:-0} + 1))
done
for kind in "${!count[@]}"; do printf '%s %d, ' "$kind" "${count[$kind]}"; done
echo "all resumed with the same model; at most $slowest ms until the end; $early before the ranks had joined"
