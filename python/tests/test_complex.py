# SPDX-License-Identifier: Apache-2.0
"""Complex numbers and Fourier transforms compared with NumPy's complex128."""

import copy
import pickle

import numpy as np
import pytest

import tartan

_EXACT = {"complex64": 4e-6, "complex128": 2e-14}
_NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}
_UNARY = ("abs acos acosh angle asin asinh atan atanh conj cos cosh exp exp2 expm1 log log10 log1p log2 negative reciprocal "
          "sign sin sinh sqrt square tan tanh").split()


def _numbers(shape, dtype, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    return (scale * (random.standard_normal(shape) + 1j * random.standard_normal(shape))).astype(dtype)


def _near(found, wanted, dtype, factor=1.0):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    limit = factor * _EXACT[dtype] * np.maximum(np.abs(wanted), 1e-30)
    assert (np.abs(found - wanted) <= limit).all(), np.max(np.abs(found - wanted) / np.maximum(np.abs(wanted), 1e-30))


@pytest.mark.parametrize("dtype", _EXACT)
@pytest.mark.parametrize("name", _UNARY)
def test_functions_of_an_element(name, dtype):
    for scale in (1e-3, 1.0, 20.0):
        x = _numbers((3, 35), dtype, scale=scale)
        found = getattr(tartan, name)(tartan.asarray(x))
        right = getattr(np, _NUMPY.get(name, name))(x.astype("complex128"))
        if name == "log1p":  # NumPy computes log(1 + x) and loses digits
            right = np.log(1 + x.astype(np.clongdouble)).astype("complex128")
        assert str(found.dtype) == (dtype if np.iscomplexobj(right) else {"complex64": "float32"}.get(dtype, "float64"))
        # Sums that cancel lose the digits of terms of size exp(20).
        _near(found, right, dtype, 8 if scale == 20 else 3)


@pytest.mark.parametrize("name", "sqrt log asin acos atan acosh asinh atanh".split())
def test_branch_cuts_go_by_the_sign_of_zero(name):
    sides = [complex(a, b) for a in (-3.0, -0.5, 0.5, 3.0) for b in (0.0, -0.0)]
    sides += [complex(a, b) for b in (-3.0, 3.0) for a in (0.0, -0.0)]
    x = np.array(sides)
    found = np.asarray(getattr(tartan, name)(tartan.asarray(x)))
    with np.errstate(all="ignore"):
        right = getattr(np, _NUMPY.get(name, name))(x)
    np.testing.assert_allclose(found.real, right.real, atol=1e-15, rtol=1e-14)
    np.testing.assert_allclose(found.imag, right.imag, atol=1e-15, rtol=1e-14)
    big = np.abs(right.imag) > 1e-9
    assert (np.signbit(found.imag) == np.signbit(right.imag))[big].all()


@pytest.mark.parametrize("dtype", _EXACT)
def test_arithmetic(dtype):
    x, y = _numbers((4, 1, 5), dtype), _numbers((3, 5), dtype, 1)
    a, b = tartan.asarray(x), tartan.asarray(y)
    wide, other = x.astype("complex128"), y.astype("complex128")
    for name in ("add", "subtract", "multiply", "divide", "power"):
        _near(getattr(tartan, name)(a, b), getattr(np, name)(wide, other), dtype, 6)
    for found, right in ((a + 1, wide + 1), (2j * b, 2j * other), (1 / b, 1 / other), (a - y, wide - other),
                         (y * a, other * wide), (-a, -wide), (a ** 2, wide ** 2), (a ** 3, wide ** 3), (b ** 0, other ** 0)):
        _near(found, right, dtype, 6)
        assert str(found.dtype) == dtype
    assert np.asarray(a == a).all() and not np.asarray(a == a + 1).any() and np.asarray(a != b).all()
    huge = np.array([1e30 + 1e30j, 1e-30 + 1e-30j], "complex64")
    np.testing.assert_allclose(np.asarray(tartan.asarray(huge) / tartan.asarray(huge)), [1, 1], rtol=1e-6)


def test_types_are_promoted():
    real = {t: tartan.ones(2, dtype=t) for t in ("int32", "float32", "float64")}
    small, big = tartan.ones(2, dtype="complex64"), tartan.ones(2, dtype=tartan.complex128)
    assert (small + real["float32"]).dtype == (small + real["int32"]).dtype == (real["float32"] * 1j).dtype == "complex64"
    assert (small + real["float64"]).dtype == (small + big).dtype == (real["float64"] * 1j).dtype == "complex128"
    assert tartan.asarray([1, 2j]).dtype == "complex64" and tartan.asarray(np.array([1j])).dtype == "complex128"
    assert tartan.result_type(tartan.float64, tartan.complex64) == "complex128"
    assert tartan.isdtype(small.dtype, "complex floating") and not tartan.isdtype(small.dtype, "real floating")
    assert not tartan.isdtype(tartan.float32, "complex floating") and tartan.isdtype(tartan.complex64, tartan.complex64)
    assert tartan.can_cast(tartan.float32, tartan.complex64) and not tartan.can_cast(tartan.complex64, tartan.float32)
    assert tartan.finfo(tartan.complex64).eps == np.finfo("float32").eps
    with pytest.raises(TypeError, match="do not become float32"):
        tartan.astype(small, tartan.float32)
    assert tartan.astype(tartan.asarray([0, 2j]), "bool").tolist() == [False, True]


def test_what_has_no_order_is_refused_by_name():
    z = tartan.ones(3, dtype="complex64")
    for name in ("max", "sort", "argmin", "floor", "sigmoid", "min"):
        with pytest.raises(TypeError, match=f"tartan.{name} takes no complex numbers"):
            getattr(tartan, name)(z)
    with pytest.raises(TypeError, match="less takes no complex"):
        z < z


def test_movement_reductions_and_products():
    x, y = _numbers((3, 4, 5), "complex128"), _numbers((5, 2), "complex128", 1)
    z, w = tartan.asarray(x), tartan.asarray(y)
    pairs = [
        (z[1:, ::-2, None, 3], x[1:, ::-2, None, 3]), (tartan.reshape(z, (4, -1)), x.reshape(4, -1)), (z.T, x.T),
        (tartan.concat([z, z[:1]], axis=0), np.concatenate([x, x[:1]])), (tartan.stack([w, w + 1]), np.stack([y, y + 1])),
        (tartan.sum(z, axis=(0, 2)), x.sum((0, 2))), (tartan.mean(z), x.mean()), (tartan.prod(z, axis=1), x.prod(1)),
        (tartan.prod(z, axis=(0, 2), keepdims=True), x.prod((0, 2), keepdims=True)),
        (tartan.cumulative_sum(z, axis=1), x.cumsum(1)), (tartan.cumulative_prod(z, axis=2), x.cumprod(2)),
        (z @ w, x @ y), (tartan.tensordot(z, w, axes=1), np.tensordot(x, y, 1)), (tartan.vecdot(w, w), (y.conj() * y).sum(-1)),
        (tartan.einsum("abc,cd->ad", z, w), np.einsum("abc,cd->ad", x, y)), (tartan.where(z.real > 0, z, 0), np.where(x.real > 0, x, 0)),
        (tartan.take(z, [2, 0], axis=1), x[:, [2, 0]]), (tartan.diff(z, axis=0), np.diff(x, axis=0)),
        (tartan.diff(z, axis=0, n=2, prepend=z, append=z[:1]), np.diff(x, axis=0, n=2, prepend=x, append=x[:1])),
        (tartan.linspace(0, 1j, 5, dtype=tartan.complex128), np.linspace(0, 1j, 5)), (tartan.tril(w), np.tril(y)),
        (tartan.full((2, 2), 1 - 2j, dtype=tartan.complex128), np.full((2, 2), 1 - 2j)), (tartan.roll(z, 2), np.roll(x, 2)),
        (tartan.eye(3, dtype=tartan.complex128), np.eye(3, dtype=complex)), (tartan.zeros_like(z), np.zeros_like(x))]
    for found, right in pairs:
        found = np.asarray(found)
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-13)
    assert tartan.count_nonzero(tartan.asarray([0, 1j, 1, 0j])).item() == 2 and bool(tartan.any(z))
    values, counts = tartan.unique_counts(tartan.asarray([1j, 2, 1j]))
    assert sorted(zip(values.tolist(), counts.tolist()), key=str) == [((2 + 0j), 1), (1j, 2)] or counts.tolist() == [2, 1]
    assigned = copy.copy(z)
    assigned[0] = 3j
    assert np.asarray(assigned)[0].tolist() == np.full((4, 5), 3j).tolist() and np.asarray(z)[0].tolist() == x[0].tolist()


def test_linear_algebra_of_complex_matrices():
    x = _numbers((2, 4, 4), "complex128") + 3 * np.eye(4)
    z = tartan.asarray(x)
    hermitian = x @ x.conj().swapaxes(-1, -2)
    h = tartan.asarray(hermitian)
    eye = np.broadcast_to(np.eye(4), x.shape)
    np.testing.assert_allclose(np.asarray(tartan.linalg.inv(z) @ z), eye, atol=1e-12)
    lower = np.asarray(tartan.linalg.cholesky(h))
    np.testing.assert_allclose(lower @ lower.conj().swapaxes(-1, -2), hermitian, atol=1e-10)
    values, vectors = map(np.asarray, tartan.linalg.eigh(h))
    assert values.dtype == "float64"
    np.testing.assert_allclose(hermitian @ vectors, vectors * values[:, None], atol=1e-10)
    np.testing.assert_allclose(np.asarray(tartan.linalg.det(z)), np.linalg.det(x), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(tartan.linalg.vector_norm(z)), np.linalg.norm(x), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(tartan.linalg.matrix_norm(z, ord=2)), np.linalg.norm(x, 2, (1, 2)), rtol=1e-12)
    with pytest.raises(ValueError, match="square matrices"):
        tartan.linalg.inv(z[:, :2])


def test_functions_gradients_and_vmap_take_complex_tensors():
    x = _numbers((3, 5), "complex64")
    z = tartan.asarray(x)
    captured = tartan.function(lambda a: (a * a, tartan.sum(tartan.abs(a))))
    for _ in range(2):
        square, total = captured(z)
        np.testing.assert_allclose(np.asarray(square), x * x, rtol=1e-5)
        np.testing.assert_allclose(float(total), np.abs(x).sum(), rtol=1e-5)
    assert captured.signatures == 1
    slope = tartan.grad(lambda a: tartan.sum(tartan.abs(a * a)))(z)
    np.testing.assert_allclose(np.asarray(slope), 2 * x, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(tartan.vmap(lambda row: tartan.sum(row * row))(z)), (x * x).sum(1), rtol=1e-5)
    again = pickle.loads(pickle.dumps(z))
    assert isinstance(again, tartan.ComplexTensor) and np.array_equal(np.asarray(again), x)
    assert isinstance(np.exp(z), tartan.ComplexTensor)


@pytest.mark.parametrize("dtype", _EXACT)
@pytest.mark.parametrize("length", [1, 2, 7, 96, 509, 521, 1009, 1200])
def test_transforms_of_any_length(length, dtype):
    x = _numbers((2, length), dtype)
    real = "float32" if dtype == "complex64" else "float64"
    for name in ("fft", "ifft", "irfft", "hfft"):
        if length == 1 and name in ("irfft", "hfft"):
            continue
        found = np.asarray(getattr(tartan.fft, name)(tartan.asarray(x)))
        right = getattr(np.fft, name)(x.astype("complex128"))
        assert found.dtype == (real if name in ("irfft", "hfft") else dtype)
        assert np.abs(found - right).max() <= 20 * _EXACT[dtype] * np.abs(right).max(), name
    for name in ("rfft", "ihfft"):
        found = np.asarray(getattr(tartan.fft, name)(tartan.asarray(x.real.copy())))
        right = getattr(np.fft, name)(x.real.astype("float64"))
        assert found.dtype == dtype
        assert np.abs(found - right).max() <= 20 * _EXACT[dtype] * np.abs(right).max(), name


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 3, 8])
def test_norms_lengths_and_axes(norm, n):
    x = _numbers((4, 5, 6), "complex128")
    for axis in (0, -2, 2):
        for name in ("fft", "ifft", "irfft", "hfft"):
            found = getattr(tartan.fft, name)(tartan.asarray(x), n=n, axis=axis, norm=norm)
            np.testing.assert_allclose(np.asarray(found), getattr(np.fft, name)(x, n, axis, norm), atol=1e-12)
        for name in ("rfft", "ihfft"):
            found = getattr(tartan.fft, name)(tartan.asarray(x.real.copy()), n=n, axis=axis, norm=norm)
            np.testing.assert_allclose(np.asarray(found), getattr(np.fft, name)(x.real, n, axis, norm), atol=1e-12)
    sizes = None if n is None else (n, n + 1)
    axes = (0, 2)
    for name in ("fftn", "ifftn", "irfftn"):
        found = getattr(tartan.fft, name)(tartan.asarray(x), s=sizes, axes=axes, norm=norm)
        np.testing.assert_allclose(np.asarray(found), getattr(np.fft, name)(x, sizes, axes, norm), atol=1e-12)
    found = tartan.fft.rfftn(tartan.asarray(x.real.copy()), s=sizes, axes=axes, norm=norm)
    np.testing.assert_allclose(np.asarray(found), np.fft.rfftn(x.real, sizes, axes, norm), atol=1e-12)


def test_frequencies_and_shifts():
    for n in (1, 4, 5, 10):
        np.testing.assert_allclose(np.asarray(tartan.fft.fftfreq(n, d=0.5)), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(tartan.fft.rfftfreq(n, d=0.5)), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
    x = np.arange(20.0).reshape(4, 5)
    np.testing.assert_array_equal(np.asarray(tartan.fft.fftshift(tartan.asarray(x))), np.fft.fftshift(x))
    np.testing.assert_array_equal(np.asarray(tartan.fft.ifftshift(tartan.asarray(x), axes=1)), np.fft.ifftshift(x, 1))


def test_transforms_are_captured_and_have_gradients():
    x = np.random.default_rng(0).standard_normal(24).astype("float32")

    def energy(a):
        return tartan.sum(tartan.square(tartan.abs(tartan.fft.rfft(a))))

    slope = np.asarray(tartan.grad(energy)(tartan.asarray(x)))
    step = 1e-3
    wanted = [(np.square(np.abs(np.fft.rfft(x + step * e))).sum() - np.square(np.abs(np.fft.rfft(x - step * e))).sum()) / (2 * step)
              for e in np.eye(24)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-3)
    captured = tartan.function(lambda a: tartan.fft.irfft(tartan.fft.rfft(a)))
    np.testing.assert_allclose(np.asarray(captured(tartan.asarray(x))), x, atol=1e-5)
    with pytest.raises(ValueError, match="length 0"):
        tartan.fft.fft(tartan.asarray(x), n=0)
    with pytest.raises(ValueError, match="norm"):
        tartan.fft.fft(tartan.asarray(x), norm="other")
    with pytest.raises(TypeError, match="real numbers"):
        tartan.fft.rfft(tartan.asarray(x) * 1j)
