# SPDX-License-Identifier: Apache-2.0
"""Every layer of Keras with every dtype policy in fit, evaluate and predict, compared with torch in float64. All of it
takes long: TARTAN_TEST_SHARE and TARTAN_TEST_SEED choose a part (conftest.py)."""

import importlib.util
import json
import os
import pathlib

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401

import keras_layers

_TORCH = json.loads((pathlib.Path(__file__).parent / "keras_layers.json").read_text(encoding="utf-8"))

# The largest error of a policy, as a part of the largest value or of 1: a few roundings of the type.
_ERRORS = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}
_NO_ROW = {("STFTSpectrogram", "bfloat16"): "Keras refuses bfloat16",
           ("MelSpectrogram", "float16"): "the smallest power, 1e-10, is 0 in float16"}
# Keras computes the filters in float32.
_OWN_ERRORS = {("MelSpectrogram", "float64"): 1e-6}


@pytest.mark.parametrize("policy", keras_layers.POLICIES)
@pytest.mark.parametrize("name", _TORCH)
def test_a_layer_computes_what_torch_does(name, policy):
    dtype = policy.removeprefix("mixed_")
    if (name, dtype) in _NO_ROW:
        pytest.skip(_NO_ROW[name, dtype])
    ours, theirs = keras_layers.measured(name, policy), _TORCH[name]
    assert ours["dtype"] == dtype
    error = _OWN_ERRORS.get((name, dtype), _ERRORS[dtype])
    for key in ("losses", "evaluated", "predicted"):
        wanted = np.asarray(theirs[key], "float64")
        assert np.max(np.abs(np.asarray(ours[key], "float64") - wanted)) <= error * max(1, np.max(np.abs(wanted))), key


def test_every_layer_has_a_row_or_a_reason():
    assert keras_layers.without_row() == []
    assert [name for name, *_ in keras_layers.TABLE] == list(_TORCH)
