#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the test suite of the array API standard (github.com/data-apis/array-api-tests) on the Python
# package of the build.
#
# Expected failures are in python/tests/array_api_xfails.txt with the reason. Any other failure ends
# the script with status 1.
# Usage: scripts/array_api_tests.sh [FOLDER [EXAMPLES [PYTEST OPTION]...]]
#   FOLDER: the suite with its submodule (build/array-api-tests, cloned if missing)
#   EXAMPLES: number per test (100)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

build=${TARTAN_BUILD:-build}
folder=${1:-$build/array-api-tests}
examples=${2:-100}
python=${PYTHON:-$PWD/$build/venv/bin/python}
[ -d "$folder" ] || git clone --quiet --recurse-submodules https://github.com/data-apis/array-api-tests "$folder" ||
  fail "the suite could not be cloned; clone it elsewhere and name the folder"
"$python" -m pip install --quiet --disable-pip-version-check -r "$folder/requirements.txt"

export PYTHONPATH="$PWD/$build/python" ARRAY_API_TESTS_MODULE=tartan
list="$PWD/python/tests/array_api_xfails.txt"
cd "$folder"
exec "$python" -m pytest -q -p no:cacheprovider -c pytest.ini --max-examples "$examples" --xfails-file "$list" \
  --disable-deadline "${@:3}" array_api_tests
