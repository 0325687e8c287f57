#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes with the address and undefined-behaviour sanitizers.
# Usage: scripts/fuzz.sh [SECONDS] [SEED] [WHAT] [CASES...]     (600 seconds, seed 1, tile)
#   tile:    the parser, the binder and the printers of Tile, starting from the examples and the
#            programs that must fail
#   models:  loading, binding and naive evaluation of ONNX models, starting from the official cases
#            and those in the folders CASES (scripts/write_onnx_cases.py writes the newest)
#   npy, png, pb, cache, program: files of that kind (tests/frontend/cli/file_damage.h)
# The build is in build-fuzz (build-fuzz-libfuzzer for tile if Clang has libFuzzer). Failing inputs
# are stored in its crashes/, and the script prints their place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-600}
seed=${2:-1}
what=${3:-tile}
program=$what
case $what in
  tile | models) ;;
  npy | png | pb | cache | program) program=files ;;
  *) echo "unknown: $what (tile, models, npy, png, pb, cache or program)" >&2 && exit 2 ;;
esac
build=${TARTAN_FUZZ_BUILD:-build-fuzz}
sanitizers="-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
sanitizers+=" -fno-omit-frame-pointer"

engine=loop
compiler=${CXX:-c++}
if [[ $what == tile ]] && echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
  clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
  engine=libfuzzer
  build+=-libfuzzer
  compiler=clang++
  sanitizers+=" -fsanitize=fuzzer-no-link"
fi

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="-O2 -g1 -UNDEBUG $sanitizers" -DTARTAN_FUZZ="$engine" \
  -DTARTAN_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build "$build" --target "fuzz_$program"
target=$(find "$build" -name "fuzz_$program" -type f -perm -u+x | head -1)

mkdir -p "$build/corpus" "$build/crashes"
export UBSAN_OPTIONS=print_stacktrace=1
if [[ $what != tile ]]; then
  # Allocations of gigabytes are failures too.
  ASAN_OPTIONS=max_allocation_size_mb=1024:hard_rss_limit_mb=3072:allocator_may_return_null=0
  export ASAN_OPTIONS+=:quarantine_size_mb=64:handle_abort=1:malloc_context_size=4
fi
folder="$build/crashes/$what-$seed"
if [[ $program == files ]]; then
  mkdir -p "$folder"
  if ! "$target" "$what" "$seconds" "$seed" "$folder"; then
    echo "a file failed: $folder/file; '$target $what $folder/file' tries it again" >&2
    exit 1
  fi
  echo "nothing was found"
  exit 0
fi
if [[ $what == models ]]; then
  mkdir -p "$folder"
  if ! "$target" "$seconds" "$seed" "$folder" "${@:4}" 2>"$folder/log"; then
    grep -v "^\[libprotobuf" "$folder/log" >&2 || true
    echo "a model failed: $folder/model; '$target $folder/model' tries it again" >&2
    exit 1
  fi
  echo "nothing was found"
  exit 0
fi
cp examples/tile/*.tile tests/tile/lang/bad/*.tile "$build/corpus/"

echo "fuzzing for $seconds seconds with $engine, seed $seed"
if [[ $engine == libfuzzer ]]; then
  command=("$target" "$build/corpus" -max_total_time="$seconds" -seed="$seed" -max_len=4096
    -timeout=10 -dict=tests/tile/lang/fuzz_tile.dict -artifact_prefix="$build/crashes/"
    -print_funcs=0 -print_final_stats=1)
else
  command=("$target" "$build/corpus" "$seconds" "$seed" "$build/crashes/text.tile")
fi
if ! "${command[@]}"; then
  echo "a text failed; it is the newest file of $build/crashes: $(ls -t "$build/crashes" | head -1)" >&2
  exit 1
fi
echo "nothing was found"
