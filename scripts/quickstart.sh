#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Goes from a fresh checkout to a first result: installs missing packages, builds a Release tree in
# build/ and classifies a picture with the digit model. Usage: scripts/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

install_packages "${build_packages[@]}"

echo "Building build/tartan (Release) ..." >&2
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTARTAN_BUILD_TESTS=OFF -DTARTAN_BUILD_BENCHMARKS=OFF "${build_from_nothing[@]}" >&2 ||
  fail "cmake could not configure build/ (remove it if it was made by another generator)"
cmake --build build --target tartan >&2 || fail "the build failed"

main_job=(build/tartan run examples/digits/digits.onnx
  --input x=@examples/digits/seven.png --topk 3)
echo "${main_job[*]}" >&2
exec "${main_job[@]}"
