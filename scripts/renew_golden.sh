#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites tests/golden/expected; `git diff tests/golden/expected` then shows the effect of a change
# on generated kernels. With --write FOLDER it writes all texts in full there instead, to compare
# two commits: scripts/renew_golden.sh --write /tmp/before
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${TARTAN_BUILD:-build}
[ $# -gt 0 ] || set -- --renew
cmake -S . -B "$build" -G Ninja -DTARTAN_BUILD_TESTS=ON >/dev/null
cmake --build "$build" --target golden_test
TARTAN_SOURCE_DIR="$PWD" "$build/tests/golden_test" "$@"
[ "$1" != --renew ] || git status --short tests/golden/expected
