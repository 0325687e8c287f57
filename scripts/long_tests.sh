#!/usr/bin/env bash
# Builds and runs the random tests at full length: 100,000 contractions against enumeration and
# against isl, 2,000 gradients against central differences, 300 plans for every test program. Usage: scripts/long_tests.sh [SEED]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${TARTAN_BUILD:-build}
export TARTAN_TEST_SEED=${1:-1}
# program : test : how many
runs=(
  "poly_random_test:*:100000"
  "poly_isl_test:*:100000"
  "autodiff_test:RandomGradient*:2000"
  "plans_test:*RandomPlans*:300"
)

cmake -S . -B "$build" -G Ninja -DTARTAN_BUILD_TESTS=ON >/dev/null
for run in "${runs[@]}"; do
  IFS=: read -r program filter count <<<"$run"
  cmake --build "$build" --target "$program"
  echo "$program $filter: $count from seed $TARTAN_TEST_SEED"
  TARTAN_LONG_TESTS=$count "$build/tests/$program" --gtest_filter="$filter" --gtest_brief=1
done
