# SPDX-License-Identifier: Apache-2.0
"""Networks of many kinds have the same losses as with the torch backend, over 50 steps from the same weights."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

_HERE = pathlib.Path(__file__).parent
_CURVES = json.loads((_HERE / "keras_curves.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    """Runs each model in one process, because other tests may have selected another Keras backend."""
    done = subprocess.run([sys.executable, "keras_models.py", "all"], cwd=_HERE, capture_output=True, text=True,
                          env=dict(os.environ, KERAS_BACKEND="tartan"))
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name", _CURVES)
def test_learns_as_torch_does(found, name):
    ours, theirs = found[name]["losses"], _CURVES[name]["losses"]
    assert len(theirs) == 50 and theirs[-1] < theirs[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6)


def test_writes_on_as_torch_does(found):
    assert found["gpt"]["words"] == _CURVES["gpt"]["words"]


def test_all_models_have_a_curve(found):
    assert set(found) == set(_CURVES)
