# SPDX-License-Identifier: Apache-2.0
"""Small networks learn as with the torch backend: the same losses over 50 steps from the same weights."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

if not all(importlib.util.find_spec(name) for name in ("keras", "torch")):
    pytest.skip("Keras or torch is not installed", allow_module_level=True)

_HERE = pathlib.Path(__file__).parent
_NAMES = ["mlp", "cnn", "resnet", "mobilenet", "unet", "lstm", "gru", "transformer", "tabular", "mixed", "custom_step"]


def _curves(backend):
    start = "import keras_tartan; " if backend == "tartan" else ""
    code = f"{start}import runpy, sys; sys.argv = ['keras_models.py', 'all']; runpy.run_path('keras_models.py', run_name='__main__')"
    paths = [str(_HERE.parent)] + [p for p in [os.environ.get("PYTHONPATH")] if p]
    environment = dict(os.environ, KERAS_BACKEND=backend, PYTHONPATH=os.pathsep.join(paths))
    done = subprocess.run([sys.executable, "-c", code], cwd=_HERE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def curves():
    return _curves("tartan"), _curves("torch")


@pytest.mark.parametrize("name", _NAMES)
def test_learns_as_torch_does(curves, name):
    ours, theirs = curves[0][name]["losses"], curves[1][name]["losses"]
    assert theirs[-1] < theirs[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
