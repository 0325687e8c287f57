#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tartan and the libraries to compare with in build-bench/, and prints the report of the
# program bench/report with the given options: scripts/bench.sh --filter=^matmul --against=onednn
# --threads=1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

install_packages "${build_packages[@]}" "${bench_packages[@]}"
cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTARTAN_BUILD_TESTS=OFF -DTARTAN_BUILD_BENCHMARKS=ON >&2 || fail "configuring failed"
cmake --build build-bench >&2 || fail "the build failed"
exec build-bench/bench/report "$@"
