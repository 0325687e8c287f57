# SPDX-License-Identifier: Apache-2.0
"""Accuracy of matmuls in sessions with reduced precision."""

import pathlib

import numpy as np
import pytest

import tartan

_DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16", "float16", "int8"])
def test_a_session_computes_with_every_precision(precision):
    x = np.linspace(0, 1, 28 * 28, dtype=np.float32).reshape(1, 1, 28, 28)
    (strict,) = tartan.InferenceSession(_DIGITS, tier="exact").run(None, {"x": x})
    (rounded,) = tartan.InferenceSession(_DIGITS, tier="exact", precision=precision).run(None, {"x": x})
    np.testing.assert_allclose(rounded, strict, atol=2e-2 * np.abs(strict).max())


def test_another_name_is_an_error():
    with pytest.raises(ValueError, match="precision is 'int4', not float32, tf32, bfloat16, float16 or int8"):
        tartan.InferenceSession(_DIGITS, precision="int4")
