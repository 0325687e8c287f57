#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs all tests. Usage: scripts/test.sh [ctest options]
# With TARTAN_TEST_TURNS=n in the environment, long tests run an n-th of their cases, another one
# each day.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

install_packages "${build_packages[@]}" "${test_packages[@]}" "${python_packages[@]}"
make_python_environment build/venv

cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTARTAN_BUILD_TESTS=ON -DTARTAN_BUILD_BENCHMARKS=OFF -DTARTAN_WERROR=ON \
  -DTARTAN_TEST_TURNS="${TARTAN_TEST_TURNS:-1}" \
  -DTARTAN_BUILD_PYTHON=ON -DPython_EXECUTABLE="$PWD/build/venv/bin/python" \
  "${build_from_nothing[@]}" ||
  fail "cmake could not configure build/ (remove it if it was made by another generator)"
cmake --build build || fail "the build failed"
echo "the objects that took longest:"
bash scripts/slowest_objects.sh build 10

exec ctest --test-dir build -j2 --output-on-failure "$@"
