#!/usr/bin/env bash
# Runs the tests that use sessions, functions and the evaluator from several threads under the thread
# sanitizer. The driver is not instrumented: what happens inside it is left out, what it does with
# mutexes is seen. The build is in build-tsan/. Usage: scripts/thread_sanitizer.sh [TIMES]   (5)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

times=${1:-5}
build=${TARTAN_TSAN_BUILD:-build-tsan}
programs=(api_device_test api_tensor_test onnx_dynamic_model_test evaluator_test)

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Tsan -DTARTAN_BUILD_BENCHMARKS=OFF \
  -DCMAKE_CXX_FLAGS="-O1 -g1 -UNDEBUG -fsanitize=thread" >/dev/null
cmake --build "$build" --target "${programs[@]}"

for library in libpocl.so libLLVM libclang-cpp libOpenCL.so libintelocl.so libtbb.so; do
  echo "called_from_lib:$library"
done >"$build/suppressions"
export TSAN_OPTIONS="suppressions=$PWD/$build/suppressions halt_on_error=1"
export TARTAN_CACHE_DIR=$PWD/$build/test-cache/tartan POCL_CACHE_DIR=$PWD/$build/test-cache/pocl
for program in "${programs[@]}"; do
  # At fixed addresses: the sanitizer's memory map knows no others.
  setarch -R "$build/tests/$program" --gtest_filter='*Thread*:*AtOnce*' --gtest_repeat="$times" \
    --gtest_brief=1
done
echo "nothing was found"
