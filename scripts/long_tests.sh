#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests that take too long for every change:
# - random: the random tests at full length (100,000 contractions against enumeration and against
#   isl, 2,000 gradients against central differences, 300 plans for every test program, 10,000
#   chains of operations on 16-bit floats, 20,000 programs with gradients in both tiers), and
#   training curves with exact kernels.
# - kernels: arrays, Keras and ONNX's node cases with kernels for every operation (TARTAN_HOST=off)
#   in both tiers.
# - intel, nvidia: the whole suite and all models on other OpenCL drivers than PoCL: Intel's for
#   CPUs, which is installed for it, and NVIDIA's if present.
# - lint: clang-tidy over all sources.
# Usage: scripts/long_tests.sh [SEED] [random|kernels|intel|nvidia|lint]...     (seed 1, all)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

build=${TARTAN_BUILD:-build}
export TARTAN_TEST_SEED=${1:-1}
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] || parts=(random kernels intel nvidia lint)

random_tests() {
  # program : test : number of cases
  local runs=(
    "poly_test:*Random*:100000"
    "poly_isl_test:*:100000"
    "autodiff_test:RandomGradient*:2000"
    "compiler_test:*RandomPlans*:300"
    "compiler_test:RandomHalves*:10000"
    "random_programs_test:*:20000"
    "random_device_test:RandomPrograms*:200"
    "kernels_device_test:*RandomChains*:100"
    "train_curves_test:*:1"
  )
  local run program filter count
  for run in "${runs[@]}"; do
    IFS=: read -r program filter count <<<"$run"
    cmake --build "$build" --target "$program"
    echo "$program $filter: $count from seed $TARTAN_TEST_SEED"
    TARTAN_LONG_TESTS=$count "$build/tests/$program" --gtest_filter="$filter" --gtest_brief=1
  done
}

# Runs kernels of both tiers for operations that the host computes otherwise.
kernels_for_everything() {
  make_python_environment "$build/venv"
  cmake --build "$build"
  local failed=0 tier
  for tier in ready exact; do
    echo "kernels for every operation, $tier"
    local python=(env TARTAN_HOST=off "TARTAN_TIER=$tier" "PYTHONPATH=$PWD/$build/python"
      "$build/venv/bin/python")
    "${python[@]}" -m pytest -q -p no:cacheprovider python/tests/test_array_api.py \
      python/tests/test_operators.py python/tests/test_keras_backend.py \
      python/tests/test_keras_layers.py || failed=1
    "${python[@]}" python/tests/keras_suite/run.py run --results "$build/keras-$tier.jsonl" &&
      "${python[@]}" python/tests/keras_suite/run.py compare "$build/keras-$tier.jsonl" || failed=1
    "$build/tartan" verify /usr/share/libonnx-testdata/data --quiet --tier "$tier" \
      --expect tests/frontend/cli/onnx_cases.txt || failed=1
  done
  [ "$failed" = 0 ] || fail "kernels differ from the host"
}

# suite_on NAME VENDORS: runs the suite with only the drivers in VENDORS, a folder of .icd files or
# one file.
suite_on() {
  cmake --build "$build"
  echo "the whole suite on $1: $(OCL_ICD_VENDORS=$2 "$build/tartan" devices | head -n 1)"
  local failed=0
  OCL_ICD_VENDORS=$2 ctest --test-dir "$build" --output-on-failure || failed=1
  if [ -d ../shared/models ]; then
    OCL_ICD_VENDORS=$2 "$build/tartan" verify ../shared/models --quiet --tier exact --atol 1e-5 \
      --expect tests/frontend/cli/models.txt || failed=1
  fi
  [ "$failed" = 0 ] || fail "the suite failed on $1"
}

cmake -S . -B "$build" -G Ninja -DTARTAN_BUILD_TESTS=ON >/dev/null
for part in "${parts[@]}"; do
  case $part in
    random) random_tests ;;
    kernels) kernels_for_everything ;;
    lint)
      install_packages clang-tidy
      scripts/lint.sh --tidy "$build"
      ;;
    intel)
      if [ "$(uname -m)" = x86_64 ]; then suite_on "Intel's runtime" "$(scripts/intel_opencl.sh)"; fi
      ;;
    nvidia)
      if [ -e /etc/OpenCL/vendors/nvidia.icd ]; then
        suite_on "NVIDIA's driver" /etc/OpenCL/vendors/nvidia.icd
      else
        echo "there is no driver of NVIDIA"
      fi
      ;;
    *) fail "unknown: $part (random, kernels, intel, nvidia or lint)" ;;
  esac
done
