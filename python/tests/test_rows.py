# SPDX-License-Identifier: Apache-2.0
"""The elementwise functions (tartan/_rows.py): every row agrees with NumPy in float64 and with its ONNX operator, and
functions of tartan and of keras.ops are the same ones."""

import fractions
import importlib.util
import os

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import tartan
from tartan._rows import ROWS
from tartan._tensor import operator

from keras import ops

_OF_ONE = ("float", "same", "round", "test", "truth")
_NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
          "atan2": "arctan2", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
_OWN = {
    "erf": lambda x: np.array([_erf(v) for v in x.flat]).reshape(x.shape), "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "exp2": lambda x: 2.0**x}
_KERAS = {**_NUMPY, "remainder": "mod"}
_SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-20, -1e20]


def _erf(x):
    import math

    return math.erf(x)


def _floats(dtype, count=501):
    random = np.random.default_rng(2)
    with np.errstate(over="ignore"):
        return np.concatenate([_SPECIAL, random.standard_normal(count) * 3, random.uniform(-60, 60, count // 3)]).astype(dtype)


def _operands(row, dtype):
    """Returns operands that the type rule of a row admits, for a dtype of floats."""
    x = _floats(dtype)
    pairs = x[:len(_SPECIAL)]
    a = np.concatenate([x, np.repeat(pairs, len(pairs))])
    b = np.concatenate([np.random.default_rng(4).permutation(x), np.tile(pairs, len(pairs))])
    if row.types in ("truth", "logic"):
        return [x > 0] if row.types == "truth" else [a > 0, b > 0]
    if row.types in ("bits", "shift"):
        whole = np.random.default_rng(6).integers(-50, 50, (2, 77)).astype("int32")
        return [whole[0], np.abs(whole[1]) % 20 if row.types == "shift" else whole[1]]
    return [x] if row.types in _OF_ONE else [a, b]


def _wanted(row, operands):
    with np.errstate(all="ignore"):
        wide = [x.astype("float64") if x.dtype.kind == "f" else x for x in operands]
        return np.asarray(_OWN[row.name](*wide) if row.name in _OWN else getattr(np, _NUMPY.get(row.name, row.name))(*wide))


# The largest relative error; cancellation in the argument (x * pi, a - b) makes others useless.
_RTOL = {"float32": 1e-6, "float64": 1e-14}
_ATOL = {"sinc": 1e-6, "logaddexp": 1e-7, "logaddexp2": 1e-7}


def _check(name, found, wanted, dtype):
    found, wanted = np.asarray(found), wanted.astype(dtype) if wanted.dtype.kind == "f" else wanted
    np.testing.assert_allclose(found, wanted, rtol=_RTOL[dtype], atol=_ATOL.get(name, 0) if dtype == "float32" else 1e-15,
                               err_msg=f"{name} of {dtype}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_agree_with_numpy(name, dtype):
    row = ROWS[name]
    operands = _operands(row, dtype)
    with np.errstate(all="ignore"):
        _check(name, row(*map(tartan.asarray, operands)), _wanted(row, operands), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_agree_with_numpy_in_kernels(dtype):
    rows = list(ROWS.values())
    given = [[np.tile(x, 29) for x in _operands(row, dtype)] for row in rows]
    results = [row(*map(tartan.asarray, operands)) for row, operands in zip(rows, given)]
    tartan.evaluate(*results)
    for row, operands, found in zip(rows, given, results):
        with np.errstate(all="ignore"):
            _check(row.name, found, _wanted(row, operands), dtype)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.onnx])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_text_of_a_row_is_its_onnx_operator(name, dtype):
    row = ROWS[name]
    operands = [tartan.asarray(x) for x in _operands(row, dtype)]
    text, node = row(*operands), operator(row.onnx, operands)
    assert text.dtype == node.dtype and text.shape == node.shape
    np.testing.assert_allclose(text.numpy().astype("float64"), node.numpy().astype("float64"),
                               rtol=2e-7 if dtype == "float32" else 2e-3, err_msg=name)


@pytest.mark.parametrize("name", ROWS)
def test_results_have_the_type_of_the_rule(name):
    row = ROWS[name]
    count = 1 if row.types in _OF_ONE else 2
    for dtype in tartan._dtypes.ALL:
        if row.types in ("float", "floats", "round") and dtype not in tartan._dtypes.FLOATS or \
                row.types in ("bits", "shift") and dtype in (*tartan._dtypes.FLOATS, "bool"):
            continue
        result = row(*[tartan.ones((2, 3), dtype=dtype)] * count)
        is_bool = row.types in ("test", "compare", "truth", "logic")
        assert result.dtype == ("bool" if is_bool else dtype) and result.shape == (2, 3), dtype


@pytest.mark.parametrize("name", [name for name in ROWS if hasattr(ops, _KERAS.get(name, name))])
def test_keras_has_the_same_functions(name):
    operands = _operands(ROWS[name], "float32")
    ours, theirs = getattr(tartan, name)(*operands), getattr(ops, _KERAS.get(name, name))(*operands)
    assert type(ours) is tartan.Tensor and type(theirs) is not tartan.Tensor
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), strict=True)


def test_most_rows_are_functions_of_keras():
    assert sum(hasattr(ops, _KERAS.get(name, name)) for name in ROWS) > 60


# --- Functions that were defined twice, and where one of both was wrong.


def test_quotients_and_remainders_are_exact():
    values = np.array([0.0, -0.0, 1, -1, 3, -3, 0.1, -0.1, 5, 7.5, 1e6, -2.5e5], "float32")
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    a, b = a[b != 0], b[b != 0]
    exact = [fractions.Fraction(float(p)) // fractions.Fraction(float(q)) for p, q in zip(a, b)]
    np.testing.assert_array_equal(np.asarray(ops.floor_divide(a, b)), np.array([float(q) for q in exact], "float32"))
    rest = [float(fractions.Fraction(float(p)) - q * fractions.Fraction(float(d))) for p, d, q in zip(a, b, exact)]
    found = np.asarray(ops.mod(a, b))
    np.testing.assert_array_equal(found, np.array(rest, "float32"))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(b) & (found != 0) | np.signbit(np.mod(a, b)))
    with np.errstate(all="ignore"):
        whole = np.array([7, -7, 100, -100, 0], "int32")
        c, d = np.repeat(whole, 6), np.tile(np.array([3, -3, 0, 1, -1, 7], "int32"), 5)
        np.testing.assert_array_equal(np.asarray(ops.floor_divide(c, d)), np.floor_divide(c, d))
        np.testing.assert_array_equal(np.asarray(ops.mod(c, d)), np.mod(c, d))


def test_signs_and_neighbours_are_those_of_numpy():
    for dtype in ("float16", "float32"):
        x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -2, 1e-7], dtype)
        np.testing.assert_array_equal(np.asarray(ops.signbit(x)), np.signbit(x))
        for to in (np.inf, -np.inf, 0):
            found = ops.nextafter(x, np.full_like(x, to))
            np.testing.assert_array_equal(np.asarray(found), np.nextafter(x, np.full_like(x, to)), strict=True)


def test_the_positions_of_nan_are_those_of_numpy():
    x = np.array([[1, np.nan, 3, np.nan], [5, 4, 5, 2]], "float32")
    for name in ("argmax", "argmin"):
        np.testing.assert_array_equal(np.asarray(getattr(ops, name)(x, 1)), getattr(np, name)(x, 1))
    numbers = np.array([-1, 0, 2, np.nan], "float32")
    for side in ("left", "right"):
        wanted = np.searchsorted(numbers, [np.nan, 0, 5, -3], side=side)
        np.testing.assert_array_equal(np.asarray(ops.searchsorted(numbers, np.array([np.nan, 0, 5, -3], "float32"), side=side)), wanted)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "maximum", "hypot"])
def test_equal_operands_share_the_derivative(name):
    x, y = tartan.asarray([1.5, -2.0]), tartan.asarray([1.5, -2.0])
    by_x, by_y = tartan.grad(lambda a, b: tartan.sum(getattr(tartan, name)(a, b)), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(by_x, by_y, rtol=1e-6)


def test_derivatives_at_zero_are_finite():
    zero = tartan.asarray([0.0, 1.0])
    for function in (tartan.sinc, tartan.cbrt, lambda x: tartan.hypot(x, 0.0 * x), lambda x: tartan.logaddexp(x, x)):
        assert np.all(np.isfinite(tartan.grad(lambda x: tartan.sum(function(x)))(zero).numpy()))


_FACTORIZED = {
    "inv": (ops.inv, np.linalg.inv), "det": (ops.det, np.linalg.det), "cholesky": (ops.cholesky, np.linalg.cholesky),
    "slogdet": (lambda x: ops.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    "solve": (lambda x: ops.solve(x, x[:, 0]), lambda x: np.linalg.solve(x + 0, x[:, 0] + 0)),
    "solve of matrices": (lambda x: ops.solve(x, x * x), lambda x: np.linalg.solve(x, x * x)),
    "solve_triangular": (lambda x: ops.solve_triangular(x, x * x, lower=True), lambda x: np.linalg.solve(np.tril(x), x * x)),
    "eigh": (lambda x: ops.eigh(x)[0], np.linalg.eigvalsh), "qr": (lambda x: abs(ops.qr(x)[1]), lambda x: abs(np.linalg.qr(x)[1])),
    "svd": (lambda x: ops.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False)),
    "norm": (lambda x: ops.linalg.norm(x, "nuc"), lambda x: np.linalg.norm(x, "nuc")), "pinv": (ops.linalg.pinv, np.linalg.pinv),
    "cholesky_inverse": (lambda x: ops.linalg.cholesky_inverse(ops.cholesky(x)), np.linalg.inv)}


@pytest.mark.parametrize("name", _FACTORIZED)
def test_factorizations_of_keras_have_derivatives(name):
    """Compared with differences of NumPy's factorizations in float64."""
    function, of_numpy = _FACTORIZED[name]
    random = np.random.default_rng(3)
    x, direction = random.standard_normal((3, 3)) / 3, random.standard_normal((3, 3))
    x, direction = x @ x.T + np.diag([1.0, 2.0, 3.0]), direction + direction.T
    weights = random.standard_normal(np.shape(of_numpy(x)))
    with tartan.recording():
        given = ops.convert_to_tensor(x, "float32")
        (slope,) = tartan.gradients(ops.sum(function(given) * ops.convert_to_tensor(weights, "float32")), [given])
    ends = [np.sum(of_numpy(x + step * direction) * weights) for step in (1e-5, -1e-5)]
    slope = slope.numpy().astype("float64")
    np.testing.assert_allclose(np.sum(slope * direction), (ends[0] - ends[1]) / 2e-5, rtol=2e-5, atol=1e-5)
