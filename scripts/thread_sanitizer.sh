#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that use sessions, functions and the evaluator from several threads under the
# thread sanitizer. PoCL and LLVM are not instrumented: the sanitizer ignores their memory accesses
# and sees their mutexes. The build is in build-tsan/. Usage: scripts/thread_sanitizer.sh [TIMES]
# (5)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

times=${1:-5}
build=${TARTAN_TSAN_BUILD:-build-tsan}
programs=(api_device_test api_tiers_test api_tensor_test onnx_device_test evaluator_test)

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Tsan -DTARTAN_BUILD_BENCHMARKS=OFF \
  -DCMAKE_CXX_FLAGS="-O1 -g1 -UNDEBUG -fsanitize=thread" >/dev/null
cmake --build "$build" --target "${programs[@]}"

for kind in race mutex deadlock; do
  for library in libpocl libLLVM libclang libOpenCL libintelocl libtbb; do echo "$kind:$library"; done
done >"$build/suppressions"
export TSAN_OPTIONS="suppressions=$PWD/$build/suppressions halt_on_error=1"
export TARTAN_CACHE_DIR=$PWD/$build/test-cache/tartan POCL_CACHE_DIR=$PWD/$build/test-cache/pocl
for program in "${programs[@]}"; do
  # Without address randomization, because the sanitizer's memory map requires fixed addresses.
  setarch -R "$build/tests/$program" --gtest_filter='*Thread*:*AtOnce*:SessionTiers.*:Background.*' --gtest_repeat="$times" \
    --gtest_brief=1
done
echo "nothing was found"
