#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the disk cache under adverse conditions: damaged files, other owners, killed runs, full
# disks, missing homes, limited memory. Each run of the digit model must give the right answer, or
# end in time with the right exit code and a true message.
# Usage: scripts/torture_cache.sh [SEED] [DAMAGES] [KILLS] [DISKS] [LIMITS]   (1 200 50 20 40)
# TARTAN_PROGRAM is the program (build/tartan), TARTAN_TORTURE_DIR the working folder (build/). Full
# disks and users without rights need root or user namespaces; the script prints which tests it
# skips.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seed=${1:-1} damages=${2:-200} kills=${3:-50} disks=${4:-20} limits=${5:-40}
program=$(realpath "${TARTAN_PROGRAM:-build/tartan}")
model=$PWD/examples/digits/digits.onnx picture=$PWD/examples/digits/seven.png
RANDOM=$seed
ulimit -c 0
ulimit -t 300 # processor seconds: the limit for runs that would not end

work=$(realpath "$(mktemp -d -p "${TARTAN_TORTURE_DIR:-build}" torture.XXXXXX)")
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/tmp"
chmod 1777 "$work/tmp"
chmod 755 "$work"
export TMPDIR=$work/tmp
unset POCL_CACHE_DIR XDG_CACHE_HOME TARTAN_DEVICE POCL_KERNEL_CACHE

runs=0 answers=0 failures=0
declare -A ended

# random BELOW: prints a random number.
random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }

# ticks PID: prints the processor time of a process and its children.
ticks() { awk '{ print $14 + $15 + $16 + $17 }' "/proc/$1/stat" 2>/dev/null; }

# in_time COMMAND...: returns its exit code, or 137 if it used no processor time for a minute.
in_time() {
  "$@" >"$work/out" 2>"$work/err" &
  local pid=$! before="" now
  until timeout 60 tail -s 0.1 --pid=$pid -f /dev/null; do
    now=$(ticks $pid)
    [[ $now != "$before" ]] || kill -KILL $pid
    before=$now
  done
  wait $pid
}

# attempt WHAT CODES PATTERN COMMAND...: COMMAND runs the model and writes $work/answer.npy. It must
# write the right answer, or end with one of CODES and print a message that matches PATTERN.
attempt() {
  local what=$1 codes=$2 pattern=$3
  shift 3
  rm -f "$work/answer.npy"
  in_time "$@" 2>/dev/null
  local code=$?
  runs=$((runs + 1))
  ended[$code]=$((${ended[$code]:-0} + 1))
  if [[ $code == 0 ]] && cmp -s "$work/answer.npy" "$work/right.npy"; then
    answers=$((answers + 1))
  elif [[ $code != 0 && " $codes " == *" $code "* ]] && grep -qE "$pattern" "$work/err"; then
    return 0
  else
    failures=$((failures + 1))
    echo "FAILED (seed $seed): $what: exit $code; $(head -c 600 "$work/err" | tr '\n' '~')"
  fi
}

run=("$program" run "$model" --input "x=@$picture" --output "scores=$work/answer.npy")
cache=$work/cache

report() {
  local text="" code
  for code in "${!ended[@]}"; do text+=" exit $code: ${ended[$code]};"; done
  echo "$1: $runs runs, $answers right answers,$text $failures failures so far ($((SECONDS - began)) s)"
  runs=0 answers=0 ended=()
}

# damage FILE: applies one of ten kinds of damage.
damage() {
  local file=$1 size kind
  size=$(stat -c %s "$file")
  kind=$(random 10)
  case $kind in
    0) truncate -s 0 "$file" ;;
    1) truncate -s "$(random $((size + 1)))" "$file" ;;
    2) head -c $((size / 2)) "$file" >"$file-" && head -c $((size - size / 2)) /dev/zero >>"$file-" &&
      mv "$file-" "$file" ;;
    3 | 4) # a byte, or a few hundred
      head -c $((kind == 3 ? 1 : 300)) /dev/urandom |
        dd of="$file" bs=1 seek="$(random $((size + 1)))" conv=notrunc status=none ;;
    5) rm "$file" ;;
    6) rm "$file" && mkfifo "$file" ;;
    7) rm "$file" && mkdir "$file" && echo text >"$file/text" ;;
    8) rm "$file" && ln -s "$file" "$file" ;;
    9) head -c 1000 /dev/urandom >>"$file" ;;
  esac
  echo "kind $kind of $(basename "$file")"
}

began=$SECONDS
env TARTAN_CACHE_DIR="$cache" "${run[@]}" >/dev/null || exit 1
mv "$work/answer.npy" "$work/right.npy"
echo "first run: $((SECONDS - began)) s"
cold=$(((SECONDS - began) * 1000 + 500))

# A killed run leaves PoCL's files behind: they are damaged as well.
for ((delay = 30; delay > 0; --delay)); do
  env TARTAN_CACHE_DIR="$work/killed" "${run[@]}" >/dev/null 2>&1 &
  pid=$!
  sleep "$(awk "BEGIN { print $cold * $delay / 30 * 0.0009 }")"
  kill -KILL $pid 2>/dev/null && wait $pid 2>/dev/null
  [[ -n $(find "$work/killed" -name '*.so' 2>/dev/null | head -1) ]] && break
done 2>/dev/null
rm -f "$work/answer.npy"
cp -a "$work/killed"/tartan-scratch-* "$cache" 2>/dev/null
cp -a "$cache" "$work/sound"
for ((i = 0; i < damages; ++i)); do
  rm -rf "$cache" && cp -a "$work/sound" "$cache"
  mapfile -t files < <(find "$cache" -type f | sort)
  what=$(damage "${files[$(random ${#files[@]})]}")
  if ((i % 8 == 7)); then
    attempt "--no-cache beside a damage, $what" "" . env TARTAN_CACHE_DIR="$cache" "${run[@]}" --no-cache
  else
    attempt "damage $i, $what" "" . env TARTAN_CACHE_DIR="$cache" "${run[@]}"
    [[ -z $(find "$cache" -name 'tartan-scratch-*') || $what == *"kind 5 of lock" ]] || {
      failures=$((failures + 1))
      echo "FAILED (seed $seed): damage $i, $what: a killed process's files are left"
    }
  fi
done
report damages

for ((i = 0; i < kills; ++i)); do
  ((i % 5 > 0)) || rm -rf "$cache"
  env TARTAN_CACHE_DIR="$cache" "${run[@]}" >/dev/null 2>&1 &
  pid=$!
  sleep "$(awk "BEGIN { print $(random "$cold") / 1000 }")"
  { kill -KILL $pid && wait $pid; } 2>/dev/null
  attempt "after SIGKILL $i" "" . env TARTAN_CACHE_DIR="$cache" "${run[@]}"
done
report SIGKILLs

namespace=(unshare -m)
[[ $(id -u) == 0 ]] || namespace=(unshare -Urm)
space='no space|too little|cannot be written|No space'
if "${namespace[@]}" mount -t tmpfs tmpfs /mnt 2>/dev/null; then
  for ((i = 0; i < disks; ++i)); do
    size=$((4 + (i / 2) * (i / 2) * 1600 / (disks + 1) + $(random 16)))k
    mkdir -p "$work/full"
    # Even: only the cache is on the full disk. Odd: every other place is, too.
    everywhere=$((i % 2))
    attempt "a disk of $size, everywhere: $everywhere" "$([[ $everywhere == 1 ]] && echo 6)" "$space" \
      "${namespace[@]}" bash -c '
        mount -t tmpfs -o size="$1" tmpfs "$2/full" || exit 99
        if [[ $3 == 1 ]]; then
          for place in "$TMPDIR" /tmp /var/tmp /dev/shm; do mount --bind "$2/full" "$place"; done
        fi
        TARTAN_CACHE_DIR=$2/full/cache exec "${@:4}"' bash "$size" "$work" "$everywhere" "${run[@]}"
  done
  attempt "no folder that can be written" 6 "no folder can be used for compilation" "${namespace[@]}" bash -c '
      for place in "$TMPDIR" /tmp /var/tmp /dev/shm; do mount -t tmpfs -o ro tmpfs "$place"; done
      unset TARTAN_CACHE_DIR HOME; exec "$@"' bash "${run[@]}"
  report "full disks"
else
  echo "full disks: left out, this user may not mount"
fi

mkdir -p "$work/read-only"
chmod 555 "$work/read-only"
chmod 777 "$work"
homes=("-u HOME" "HOME=/" "HOME=/etc/passwd" "HOME=$work/read-only" "HOME=/nonexistent/home"
  "TARTAN_CACHE_DIR=$work/read-only" "TARTAN_CACHE_DIR=/dev/null" "TARTAN_CACHE_DIR=/proc/cache"
  "POCL_CACHE_DIR=$work/read-only" "POCL_CACHE_DIR=/dev/null" "-u HOME TMPDIR=/nonexistent")
users=("")
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [[ $(id -u) != 0 ]]; then
  echo "other users: left out, this is not root"
elif $nobody test -x "$program" -a -r "$model"; then
  users+=("$nobody")
else
  echo "other users: left out, they may not read $program"
fi
((limits > 10)) || homes=("${homes[@]:0:1}") users=("${users[@]: -1}") # the reduced set
for user in "${users[@]}"; do
  for home in "${homes[@]}"; do
    # For root, / and read-only folders are writable.
    [[ -n $user || $home != HOME=/ ]] || continue
    attempt "$user $home" "" . $user env $home "${run[@]}"
    rm -rf "$work/read-only/.cache" "$work/read-only/kernels"
  done
done
report homes

# refused WHAT USER: the cache in $work/foreign is reported and left unchanged, and the answer is
# right.
refused() {
  local before after
  before=$(cd "$work/foreign" && find . -printf '%p %u %m %s %T@\n' | sort | sha256sum)
  attempt "$1" "" . $2 env TARTAN_CACHE_DIR="$work/foreign" "${run[@]}" --tier ready
  after=$(cd "$work/foreign" && find . -printf '%p %u %m %s %T@\n' | sort | sha256sum)
  if [[ $before != "$after" ]] || ! grep -q "continuing without the disk cache: .*$work/foreign" "$work/err"; then
    failures=$((failures + 1))
    echo "FAILED (seed $seed): $1: it is used; $(head -c 600 "$work/err" | tr '\n' '~')"
  fi
}

# Tests each user with caches that others may write, and root also with caches of other users.
env TARTAN_CACHE_DIR="$work/filled" "${run[@]}" --tier ready >/dev/null
# Answer of ready kernels: the last bits differ from the host's.
mv "$work/answer.npy" "$work/right.npy"
owners=("") modes=(700 755 777) folders=("" /kernels)
[[ $(id -u) != 0 ]] || owners+=(65534 12345)
((limits > 10)) || owners=("${owners[@]: -1}") modes=(777) # the reduced set
for user in "${users[@]}"; do
  for owner in "${owners[@]}"; do
    for mode in "${modes[@]}"; do
      for folder in "${folders[@]}"; do
        # Folders of the user and of root are trusted unless others may write them.
        is_own=$([[ -z $owner || ($owner == 65534 && -n $user) ]] && echo 1)
        [[ -z $is_own || $mode == 777 ]] || continue
        [[ $mode != 700 || -z $user ]] || continue
        rm -rf "$work/foreign" && cp -a "$work/filled" "$work/foreign"
        [[ $(id -u) != 0 ]] || chown -R "$([[ -n $user ]] && echo 65534 || echo 0)" "$work/foreign"
        chmod 755 "$work/foreign" "$work/foreign/kernels"
        [[ -z $owner ]] || chown "$owner" "$work/foreign$folder"
        chmod $mode "$work/foreign$folder"
        refused "$user a cache$folder of user '$owner' with mode $mode" "$user"
      done
    done
  done
done
rm -rf "$work/foreign" "$work/filled"
env TARTAN_CACHE_DIR="$cache" "${run[@]}" >/dev/null
mv "$work/answer.npy" "$work/right.npy"
report "caches of others"

if "$program" devices 2>/dev/null | grep -q '^ *type *gpu'; then
  echo "memory limits: left out, drivers of GPUs reserve addresses far beyond the memory there is"
  limits=0
fi
for ((i = 0; i < limits; ++i)); do
  mb=$((50 + 950 * i / (limits > 1 ? limits - 1 : 1)))
  no_cache=()
  ((i % 2 > 0)) || no_cache=(--no-cache)
  attempt "$mb MB ${no_cache[*]}" 7 "memory" bash -c 'ulimit -v $(($1 * 1000)) && exec "${@:2}"' \
    bash "$mb" env TARTAN_CACHE_DIR="$cache" "${run[@]}" "${no_cache[@]}"
done
report "memory limits"

((failures == 0)) || { echo "$failures of the runs failed; seed $seed" && exit 1; }
echo "everything was as it should; seed $seed"
