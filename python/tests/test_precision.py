# SPDX-License-Identifier: Apache-2.0
"""Accuracy of matmuls in sessions with reduced precision."""

import pathlib
import time

import numpy as np
import pytest

import tartan

# The bfloat16 dots of other makers may be as slow as multiply-adds, and matmuls stay float32 then.
_CPU = pathlib.Path("/proc/cpuinfo").read_text()
_MULTIPLIES_BFLOAT16 = "avx512_bf16" in _CPU and "AuthenticAMD" in _CPU
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


def test_matmuls_of_the_process_multiply_in_the_chosen_format():
    a, b = (np.random.default_rng(seed).normal(size=(256, 512)).astype(np.float32) for seed in (0, 1))
    multiply = tartan.function(lambda x, y: tartan.matmul(x, y.T))
    strict = np.asarray(multiply(tartan.asarray(a), tartan.asarray(b)))
    weight = tartan.Variable(b)
    assert tartan.matmul_precision() == "float32"
    try:
        tartan.set_matmul_precision("bfloat16")
        assert tartan.matmul_precision() == tartan.device().precision == "bfloat16"
        for _ in range(100):  # exact kernels, which are compiled meanwhile, round
            rounded = np.asarray(multiply(tartan.asarray(a), weight.value))
            if not _MULTIPLIES_BFLOAT16 or np.abs(rounded - strict).max() > 1e-3:
                break
            time.sleep(0.1)
    finally:
        tartan.set_matmul_precision("float32")
    np.testing.assert_allclose(strict, a.astype(np.float64) @ b.T, atol=1e-4)
    minimum = 1e-3 if _MULTIPLIES_BFLOAT16 else 0  # other processors multiply in float32
    assert minimum <= np.abs(rounded - strict).max() < 1e-1 * np.abs(strict).max()
    assert tartan.device().precision == "float32"
    np.testing.assert_allclose(np.asarray(multiply(tartan.asarray(a), weight.value)), strict, atol=1e-4)


def test_another_format_of_the_process_is_an_error():
    with pytest.raises(ValueError, match="the precision is 'int8', not float32, tf32, bfloat16 or float16"):
        tartan.set_matmul_precision("int8")
