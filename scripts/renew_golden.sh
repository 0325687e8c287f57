#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes tests/golden/expected anew; `git diff tests/golden/expected` then shows what a change did to
# generated kernels. With --write FOLDER it writes there all texts in full instead, for comparing
# two commits: scripts/renew_golden.sh --write /tmp/before
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${TARTAN_BUILD:-build}
[ $# -gt 0 ] || set -- --renew
cmake -S . -B "$build" -G Ninja -DTARTAN_BUILD_TESTS=ON >/dev/null
cmake --build "$build" --target golden_test
TARTAN_SOURCE_DIR="$PWD" "$build/tests/golden_test" "$@"
[ "$1" != --renew ] || git status --short tests/golden/expected
