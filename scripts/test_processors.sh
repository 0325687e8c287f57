#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the kernel tests, and models given as arguments, as on older processors than this one. PoCL
# compiles for AVX2, AVX without fused multiply-adds, and SSE (tests/pretend).
# Usage: scripts/test_processors.sh [--all] [MODEL FOLDER…]
# --all: every test, as on the newest of these processors only (scripts/test.sh on AVX2).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

build=${TARTAN_BUILD:-build}
all=no
if [ "${1:-}" = --all ]; then
  all=yes
  shift
fi
programs=(opencl_scalar_ops_test opencl_vector_functions_test evaluator_test)
# PoCL's name of the device : features that are hidden from LLVM
processors=(
  "haswell:avx512,avxvnni"
  "ivybridge:avx512,avxvnni,avx2,fma,vaes,vpclmul"
  "penryn:avx,fma,f16c,vaes,vpclmul,sse4.2,xop"
)

[ "$(uname -m)" = x86_64 ] || fail "pretends to be an older processor of the x86 family only"
cmake -S . -B "$build" -G Ninja -DTARTAN_BUILD_TESTS=ON >/dev/null
if [ "$all" = yes ]; then
  processors=("${processors[0]}")
  cmake --build "$build"
fi
cmake --build "$build" --target tartan pretend_processor "${programs[@]}"
failures=()
caches=$(mktemp -d)
trap 'rm -rf "$caches"' EXIT

for processor in "${processors[@]}"; do
  name=${processor%%:*}
  pretend() {
    env LD_PRELOAD="$PWD/$build/tests/pretend_processor.so" TARTAN_PRETEND="${processor#*:}" \
      TARTAN_CACHE_DIR="$caches/$name" POCL_CACHE_DIR="$caches/$name-pocl" \
      TARTAN_SOURCE_DIR="$PWD" TARTAN_BINARY_DIR="$PWD/$build" "$@"
  }
  mkdir -p "$caches/$name-pocl"
  pretend "$build/tartan" devices | grep -q "$name" ||
    fail "PoCL does not take this processor for $name: $(pretend "$build/tartan" devices | head -n 1)"
  if [ "$all" = yes ]; then
    # The tests set their cache folders; cached files contain the processor's name.
    pretend ctest --test-dir "$build" --output-on-failure || failures+=("$name: the suite")
  else
    for program in "${programs[@]}"; do
      echo "$name: $program"
      pretend "$build/tests/$program" --gtest_brief=1 || failures+=("$name: $program")
    done
  fi
  [ $# -eq 0 ] || pretend "$build/tartan" verify --tier exact "$@" || failures+=("$name: models")
done
[ ${#failures[@]} -eq 0 ] || fail "failed: $(printf '%s; ' "${failures[@]}")"
