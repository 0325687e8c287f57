# SPDX-License-Identifier: Apache-2.0
"""The CTC loss against the sum over all paths in float64."""

import importlib.util
import itertools
import os

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import tartan
from keras import ops

_BLANK = 0
_LABELS = np.array([[1, 2], [2, 2], [1, 0], [2, 0]], "int32")
_LABEL_LENGTHS = np.array([2, 2, 1, 0], "int32")
_LENGTHS = np.array([5, 4, 3, 5], "int32")


def _label_of(path):
    return [a for a, _ in itertools.groupby(path) if a != _BLANK]


def _expected(logits):
    """Returns the loss of each row and the gradient of their sum."""
    losses, gradient = [], np.zeros(logits.shape)
    for row, (steps, count) in enumerate(zip(_LENGTHS, _LABEL_LENGTHS)):
        scaled = np.exp(logits[row, :steps])
        scaled /= scaled.sum(-1, keepdims=True)
        total, visits = 0.0, np.zeros((steps, logits.shape[2]))
        for path in itertools.product(range(logits.shape[2]), repeat=steps):
            if _label_of(path) == list(_LABELS[row, :count]):
                probability = np.prod(scaled[np.arange(steps), path])
                total += probability
                visits[np.arange(steps), path] += probability
        losses.append(-np.log(total))
        gradient[row, :steps] = scaled - visits / total
    return np.array(losses), gradient


def test_ctc_loss_and_its_gradient_sum_over_all_paths():
    logits = np.random.default_rng(2).standard_normal((4, 5, 3))

    def summed(x):
        return ops.sum(ops.nn.ctc_loss(_LABELS, x, _LABEL_LENGTHS, _LENGTHS, _BLANK))

    losses, gradient = _expected(logits)
    x = ops.convert_to_tensor(logits.astype("float32"))
    found = ops.nn.ctc_loss(_LABELS, x, _LABEL_LENGTHS, _LENGTHS, _BLANK)
    np.testing.assert_allclose(ops.convert_to_numpy(found), losses, rtol=1e-5)
    total, derivative = tartan.function(tartan.value_and_grad(summed))(x)
    np.testing.assert_allclose(float(total), losses.sum(), rtol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(derivative), gradient, atol=2e-6)
