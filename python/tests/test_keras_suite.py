# SPDX-License-Identifier: Apache-2.0
"""A sample of the tests in the Keras wheel: tests that pass with torch pass here, too, unless keras_exclusions.txt
lists them. keras_suite/run.py runs all of them."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

for package in ("keras", "absl"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)

RUNNER = pathlib.Path(__file__).parent / "keras_suite" / "run.py"
SHARE, SEED = "0.02", "1"


def _run(*arguments):
    done = subprocess.run([sys.executable, str(RUNNER), *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_share_of_keras_own_tests(tmp_path):
    results = tmp_path / "results.jsonl"
    status, text = _run("run", "--results", results, "--jobs", 2, "--share", SHARE, "--seed", SEED)
    assert status == 0, text
    status, text = _run("compare", results, "--share", SHARE)
    assert status == 0, text
