# SPDX-License-Identifier: Apache-2.0
"""Compares the array API functions with array-api-strict, the NumPy-based implementation by the standard's authors:
names, dtypes, promotion, and results for zeros, infinities and NaN. Gradients are compared with finite
differences."""

import operator

import numpy as np
import pytest
import tartan

strict = pytest.importorskip("array_api_strict")

# test_complex.py covers complex numbers and Fourier transforms.
_MISSING = {"Device", "set_array_api_strict_flags", "get_array_api_strict_flags",
            "reset_array_api_strict_flags", "ArrayAPIStrictFlags"}
_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
_UNARY = ("abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor isfinite isinf isnan log "
          "log1p log2 log10 logical_not negative positive reciprocal round sign signbit sin sinh square sqrt tan tanh "
          "trunc").split()
_BINARY = ("add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal "
           "floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor "
           "maximum minimum multiply nextafter not_equal pow remainder subtract").split()


def _array(dtype, shape=(3, 5), seed=0, special=True):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return random.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    values = random.standard_normal(shape) * 3
    if special:
        values.flat[:5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
        values.flat[5:7] = [1.0, -1.0]
    return values.astype(dtype)


def _both(f, *arrays):
    """Returns the results of both namespaces for these arrays; None if array-api-strict rejects them."""
    with np.errstate(all="ignore"):
        try:
            theirs = f(strict, *(strict.asarray(a) for a in arrays))
        except (TypeError, ValueError):
            return None
    return f(tartan, *(tartan.asarray(a) for a in arrays)), theirs


def _check(pair, rtol=2e-6, counts=False):
    """`counts`: integers have the default dtype, 32 bits here and 64 bits there."""
    ours, theirs = pair
    if counts and str(ours.dtype) in ("int32", "uint32"):
        theirs = np.asarray(theirs).astype(str(ours.dtype))
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for o, t in zip(ours, theirs):
            _check((o, t), rtol)
        return
    wanted = np.asarray(theirs)
    found = np.asarray(ours)
    assert str(ours.dtype) == str(wanted.dtype)
    assert found.shape == wanted.shape
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if wanted.dtype == "float64" and rtol < 1e-5 else rtol,
                                   atol=rtol)
    zeros = wanted == 0
    if wanted.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def test_names():
    assert {n for n in strict.__all__ if not n.startswith("_") and not hasattr(tartan, n)} <= _MISSING
    assert all(hasattr(tartan.linalg, n) for n in strict.linalg.__all__)


@pytest.mark.parametrize("name", _UNARY)
def test_functions_of_an_element(name):
    checked = 0
    for dtype in _TYPES:
        pair = _both(lambda xp, a: getattr(xp, name)(a), _array(dtype))
        if pair is not None:
            _check(pair)
            checked += 1
    assert checked


@pytest.mark.parametrize("name", _BINARY)
def test_functions_of_two_elements(name):
    checked = 0
    for a in _TYPES:
        for b in _TYPES:
            if {a[0], b[0]} == {"i", "f"} or {a[0], b[0]} == {"u", "f"}:
                continue  # unspecified in the standard
            x, y = _array(a, (4, 1, 5), 1), _array(b, (3, 1), 2)
            if "shift" in name or name == "pow" and "int" in a + b:
                y = np.abs(y)
            if name in ("floor_divide", "remainder") and "int" in a + b:
                y[y == 0] = 1
            if name == "floor_divide" and "float" in a + b:  # the standard and NumPy differ, see below
                x, y = _finite(x), _finite(y)
            pair = _both(lambda xp, p, q: getattr(xp, name)(p, q), x, y)
            if pair is not None:
                _check(pair, 1e-5 if name == "pow" else 2e-6)
                checked += 1
    assert checked


def _finite(x):
    return np.where(np.isinf(x), np.copysign(np.asarray(7, x.dtype), x), x) if x.dtype.kind == "f" else x


def test_floor_divide_of_infinities_and_signed_zeros_is_that_of_the_standard():
    """NumPy, and thus array_api_strict, returns NaN for inf // 2 and -1 for 2 // -inf."""
    inf = np.inf
    cases = [(inf, 2, inf), (inf, -2, -inf), (-inf, 2, -inf), (-inf, -2, inf), (2, inf, 0.0), (2, -inf, -0.0), (-2, inf, -0.0),
             (-2, -inf, 0.0), (inf, inf, np.nan), (-inf, inf, np.nan), (2, 0.0, inf), (2, -0.0, -inf), (-2, 0.0, -inf),
             (0.0, 0.0, np.nan), (0.0, 2, 0.0), (-0.0, 2, -0.0), (0.0, -2, -0.0), (0.0, inf, 0.0), (np.nan, 2, np.nan)]
    for dtype in ("float32", "float64"):
        x, y, wanted = (np.array(column, dtype) for column in zip(*cases))
        for found in (tartan.floor_divide(tartan.asarray(x), tartan.asarray(y)), tartan.asarray(x) // tartan.asarray(y)):
            np.testing.assert_array_equal(np.asarray(found), wanted)
            np.testing.assert_array_equal(np.signbit(np.asarray(found))[wanted == 0], np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
                                "rshift", "lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("number", [2, 1.5, True])
def test_operators_with_numbers_of_python(op, number):
    f = getattr(operator, op)
    for dtype in _TYPES:
        x = _array(dtype)
        if "int" in dtype and op in ("lshift", "rshift", "pow"):
            x = np.abs(x)
        x = _finite(x) if op == "floordiv" else x
        pair = _both(lambda xp, a: f(a, number), x)
        if pair is not None:
            _check(pair)
        if op in ("floordiv", "mod") and "int" in dtype:
            x[x == 0] = 3
        pair = _both(lambda xp, a: f(number, a), x)
        if pair is not None:
            _check(pair)


@pytest.mark.parametrize("name", "sum prod max min mean std var any all argmax argmin count_nonzero".split())
def test_reductions(name):
    for dtype in _TYPES:
        x = _array(dtype, (3, 1, 5), 3, special=name in ("max", "min", "any", "all", "count_nonzero"))
        counts = name in ("argmax", "argmin", "count_nonzero") or name in ("sum", "prod") and not dtype.endswith("64")
        for options in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}):
            pair = _both(lambda xp, a, o=options: getattr(xp, name)(a, **o), x)
            if pair is not None:
                _check(pair, 1e-5, counts)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative(name):
    for dtype in ("int32", "uint8", "float32", "float64"):
        for options in ({"axis": 1}, {"axis": 0, "include_initial": True}):
            _check(_both(lambda xp, a, o=options: getattr(xp, name)(a, **o), _array(dtype, special=False)), 1e-5, "float" not in dtype)


_SHAPES = {
    "reshape": lambda xp, x: xp.reshape(x, (5, -1)),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (2, 0, 1)),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "flip": lambda xp, x: xp.flip(x, axis=(0, 2)),
    "roll": lambda xp, x: xp.roll(x, (2, -1), axis=(0, 2)),
    "roll of all": lambda xp, x: xp.roll(x, 4),
    "concat": lambda xp, x: xp.concat([x, x * x], axis=1),
    "concat flat": lambda xp, x: xp.concat([x, x[:1, ...]], axis=None),
    "stack": lambda xp, x: xp.stack([x, x], axis=-1),
    "unstack": lambda xp, x: xp.unstack(x, axis=1),
    "squeeze": lambda xp, x: xp.squeeze(x[:, :1, :], axis=1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=-2),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4, 5)),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 3)),
    "repeat": lambda xp, x: xp.repeat(x, 3, axis=1),
    "repeat by counts": lambda xp, x: xp.repeat(x, xp.asarray([0, 2, 1]), axis=0),
    "tril": lambda xp, x: xp.tril(x, k=1),
    "triu": lambda xp, x: xp.triu(x, k=-1),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0, -1]), axis=2),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1),
    "where": lambda xp, x: xp.where(x > 0, x, x * 0),
    "clip": lambda xp, x: xp.clip(x, -1, 1),
    "diff": lambda xp, x: xp.diff(x, axis=1, n=2),
    "sort": lambda xp, x: xp.sort(x, axis=1, descending=True),
    "argsort": lambda xp, x: xp.argsort(x, axis=-1),
    "nonzero": lambda xp, x: xp.nonzero(x > 0),
    "unique_values": lambda xp, x: xp.sort(xp.unique_values(xp.abs(xp.round(x)))),
    "unique_counts": lambda xp, x: xp.unique_counts(xp.round(x)),
    "unique_inverse": lambda xp, x: xp.unique_inverse(xp.round(x)),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[0, 0, :]), x[1, 2, :], side="right"),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0, 0, :], x[0, :, 0], indexing="ij"),
    "ints": lambda xp, x: x[1, ..., -2],
    "slices": lambda xp, x: x[::-1, 1:None:2, None, -4:-1],
    "far slices": lambda xp, x: x[-2:, 4:0:-3, :],
    "mask": lambda xp, x: x[x > 0],
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "vector and matrix": lambda xp, x: x[0, 0, :] @ xp.matrix_transpose(x[1, :, :]),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((1, 2), (1, 2))),
    "vecdot": lambda xp, x: xp.vecdot(x, x, axis=-2),
    "astype": lambda xp, x: xp.astype(x, xp.int16),
    "zeros_like": lambda xp, x: xp.zeros_like(x, dtype=xp.uint8),
    "full": lambda xp, x: xp.full((2, 3), 7),
    "linspace": lambda xp, x: xp.linspace(-1, 2, 7, endpoint=False, dtype=xp.float32),
    "arange": lambda xp, x: xp.arange(7, -3, -2, dtype=xp.int16),
    "eye": lambda xp, x: xp.eye(3, 5, k=1, dtype=xp.float32),
}


@pytest.mark.parametrize("name", _SHAPES)
def test_shapes_choice_and_order(name):
    for dtype in ("float32", "int32"):
        pair = _both(_SHAPES[name], _array(dtype, (3, 4, 5), 4, special=False))
        if pair is None:
            assert dtype == "int32"
            continue
        ours, theirs = pair
        is_number = name in ("argsort", "nonzero", "unique_counts", "unique_inverse", "searchsorted", "full")
        if is_number:  # default integers have 32 or 64 bits
            ours, theirs = ([np.asarray(v).astype("int64") for v in (pair if isinstance(pair, (tuple, list)) else [pair])]
                            for pair in (ours, theirs))
        _check((ours, theirs), 1e-5)


_LINALG = {
    "cholesky": lambda xp, s: xp.linalg.cholesky(s),
    "cholesky upper": lambda xp, s: xp.linalg.cholesky(s, upper=True),
    "det": lambda xp, s: xp.linalg.det(s),
    "slogdet": lambda xp, s: xp.linalg.slogdet(s),
    "inv": lambda xp, s: xp.linalg.inv(s),
    "solve": lambda xp, s: xp.linalg.solve(s, s[..., :2] * 2),
    "pinv": lambda xp, s: xp.linalg.pinv(s[..., :2]),
    "eigvalsh": lambda xp, s: xp.linalg.eigvalsh(s),
    "svdvals": lambda xp, s: xp.linalg.svdvals(s[..., :2]),
    "qr": lambda xp, s: xp.linalg.qr(s)[0] @ xp.linalg.qr(s)[1],
    "eigh": lambda xp, s: xp.linalg.eigh(s)[1] @ (xp.linalg.eigh(s)[0][..., None] * xp.matrix_transpose(xp.linalg.eigh(s)[1])),
    "matrix_norm": lambda xp, s: xp.linalg.matrix_norm(s),
    "vector_norm": lambda xp, s: xp.linalg.vector_norm(s, axis=1, ord=3),
    "matrix_power": lambda xp, s: xp.linalg.matrix_power(s, 3),
    "trace": lambda xp, s: xp.linalg.trace(s),
    "cross": lambda xp, s: xp.linalg.cross(s[..., 0], s[..., 1]),
    "outer": lambda xp, s: xp.linalg.outer(s[0, 0, :], s[0, 1, :]),
    "diagonal": lambda xp, s: xp.linalg.diagonal(s, offset=1),
}


@pytest.mark.parametrize("name", _LINALG)
def test_linear_algebra(name):
    a = _array("float64", (2, 3, 3), 5, special=False)
    _check(_both(_LINALG[name], (a @ a.transpose(0, 2, 1) + 3 * np.eye(3)).astype("float32")), 2e-4)


_SMOOTH = {
    "operators": lambda xp, x: (x * 2 - x / (x * x + 1)) ** 3 - (-x),
    "elements": lambda xp, x: xp.tanh(x) * xp.exp(-x * x) + xp.atan2(x, x * x + 1) + xp.hypot(x, x + 3),
    "reductions": lambda xp, x: xp.std(x, axis=1) + xp.mean(x * x, axis=1) + xp.max(x, axis=1) + xp.prod(x, axis=1),
    "cumulative": lambda xp, x: xp.cumulative_sum(x, axis=1) * x,
    "items": lambda xp, x: x[::-1, 1:] * x[:, :-1] + x[1, None, 2],
    "choice": lambda xp, x: xp.where(x > 0, x * x, xp.sin(x)) + xp.take(x, xp.asarray([3, 1, 0, 3, 2]), axis=1),
    "order": lambda xp, x: xp.sort(x, axis=1) * xp.asarray([1.0, -2.0, 3.0, 0.5, 4.0], dtype=xp.float64),
    "shapes": lambda xp, x: xp.concat([xp.roll(x, 1, axis=1), xp.flip(x)], axis=0) * xp.tile(x, (2, 1)),
    "products": lambda xp, x: xp.matmul(x, xp.permute_dims(x, (1, 0))) @ x,
    "inverse": lambda xp, x: xp.linalg.inv(x @ xp.matrix_transpose(x) + xp.eye(3, dtype=xp.float64)),
    "determinant": lambda xp, x: xp.linalg.det(x @ xp.matrix_transpose(x) + xp.eye(3, dtype=xp.float64)),
    "solution": lambda xp, x: xp.linalg.solve(x @ xp.matrix_transpose(x) + xp.eye(3, dtype=xp.float64), x),
    "cholesky": lambda xp, x: xp.linalg.cholesky(x @ xp.matrix_transpose(x) + xp.eye(3, dtype=xp.float64)),
    "eigenvalues": lambda xp, x: xp.linalg.eigvalsh(x @ xp.matrix_transpose(x)),
}


@pytest.mark.parametrize("name", _SMOOTH)
def test_gradients_are_those_of_differences(name):
    x = np.random.default_rng(6).standard_normal((3, 5))
    weights = np.random.default_rng(7).standard_normal(np.asarray(_SMOOTH[name](strict, strict.asarray(x))).shape)

    def total(values):
        return float(np.sum(np.asarray(_SMOOTH[name](strict, strict.asarray(values))) * weights))

    ours = np.asarray(tartan.grad(lambda v: tartan.sum(_SMOOTH[name](tartan, v) * tartan.asarray(weights)))(tartan.asarray(x)))
    wanted = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        wanted[place] = (total(x + step) - total(x - step)) / 2e-5
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-6)


def test_assignment_to_elements():
    for key, value in ((1, 5.0), (np.s_[:, ::2], -1.0), (np.s_[1:, -1], np.array([7.0, 8.0], "float32"))):
        wanted = _array("float32", (3, 5), special=False)
        found = tartan.asarray(wanted)
        before = found
        kept = tartan.copy(found)
        wanted = wanted.copy()
        first = wanted.copy()
        wanted[key] = value
        found[key] = value if np.isscalar(value) else tartan.asarray(value)
        np.testing.assert_array_equal(np.asarray(found), wanted)
        np.testing.assert_array_equal(np.asarray(kept), first)
        assert before is found


def test_what_is_wrong_is_refused():
    x = tartan.asarray(np.zeros((3, 4), "float32"))
    with pytest.raises(IndexError):
        x[3]
    with pytest.raises(IndexError):
        x[0, 0, 0]
    with pytest.raises(ValueError, match=r"3, 4.*3, 3|do not"):
        x + tartan.zeros((3, 3))
    with pytest.raises((TypeError, ValueError)):
        bool(x)
    with pytest.raises(TypeError):
        x % 1j
    with pytest.raises((ValueError, np.exceptions.AxisError, IndexError)):
        tartan.sum(x, axis=2)
    with pytest.raises(ValueError):
        tartan.reshape(x, (5, 2))


def test_exchange_without_loss():
    x = tartan.asarray(_array("float32"))
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    np.testing.assert_array_equal(np.asarray(tartan.from_dlpack(np.arange(5))), np.arange(5))
    assert x.__array_namespace__() is tartan
    assert int(tartan.asarray(3)) == 3 and float(tartan.asarray(2.5)) == 2.5 and [1, 2][tartan.asarray(1)] == 2
