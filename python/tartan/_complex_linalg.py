# SPDX-License-Identifier: Apache-2.0
"""tartan.linalg for complex matrices. Factorizations and functions based on them are computed by NumPy on the host
and have no derivatives."""

import numpy as np

from tartan._call import integer
from tartan._complex import complex_tensor, together
from tartan._late import functions as _tartan
from tartan._tensor import from_numpy


def _as_tensor(array, dtype):
    array = np.asarray(array)
    narrow = str(dtype) == "complex64"
    if array.dtype.kind == "c":
        return complex_tensor(array.astype(str(dtype)))
    return from_numpy(array.astype("float32" if narrow else "float64") if array.dtype.kind == "f" else array)


def _on_host(name, compute, *operands):
    operands = together(operands)
    if any(z.is_traced for z in operands):
        raise NotImplementedError(f"linalg.{name} is computed from values on the host, which are not known while a "
                                  "function is captured: call it outside of tartan.function")
    found = compute(*[z.numpy() for z in operands])
    dtype = operands[0].dtype
    return [_as_tensor(part, dtype) for part in found] if isinstance(found, tuple) else _as_tensor(found, dtype)


def _matrices(x, name, square=False):
    if len(x.shape) < 2 or square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"linalg.{name} takes {'square ' if square else ''}matrices, not {list(x.shape)}")
    return x


def _square(name, compute):
    return lambda x, /: _on_host(name, compute, _matrices(x, name, True))


def _cholesky(x, /, *, upper=False):
    lower = _on_host("cholesky", np.linalg.cholesky, _matrices(x, "cholesky", True))
    return _tartan.conj(_tartan.matrix_transpose(lower)) if upper else lower


def _solve(x1, x2, /):
    if len(x2.shape) == 1:
        x2 = _tartan.expand_dims(x2, -1)
        return _tartan.squeeze(_on_host("solve", np.linalg.solve, _matrices(x1, "solve", True), x2), -1)
    return _on_host("solve", np.linalg.solve, _matrices(x1, "solve", True), x2)


def _qr(x, /, *, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(f"the mode of qr must be 'reduced' or 'complete', not {mode!r}")
    found = _on_host("qr", lambda a: tuple(np.linalg.qr(a, mode=mode)), _matrices(x, "qr"))
    return _tartan.linalg.QRResult(*found)


def _eigh(x, /):
    return _tartan.linalg.EighResult(*_on_host("eigh", lambda a: tuple(np.linalg.eigh(a)), _matrices(x, "eigh", True)))


def _svd(x, /, *, full_matrices=True):
    found = _on_host("svd", lambda a: tuple(np.linalg.svd(a, full_matrices=full_matrices)), _matrices(x, "svd"))
    return _tartan.linalg.SVDResult(*found)


def _slogdet(x, /):
    found = _on_host("slogdet", lambda a: tuple(np.linalg.slogdet(a)), _matrices(x, "slogdet", True))
    return _tartan.linalg.SlogdetResult(*found)


def _svdvals(x, /):
    return _svd(x, full_matrices=False).S


def _pinv(x, /, *, rtol=None):
    x = complex_tensor(_matrices(x, "pinv"))
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(_tartan.finfo(x.dtype).eps)
    limit = np.asarray(rtol)
    return _on_host("pinv", lambda a: np.linalg.pinv(a, rcond=limit), x)


def _matrix_rank(x, /, *, rtol=None):
    x = complex_tensor(_matrices(x, "matrix_rank"))
    values = _svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(_tartan.finfo(x.dtype).eps)
    most = _tartan.max(values, axis=-1, keepdims=True)
    limit = _tartan.expand_dims(_tartan.asarray(rtol, dtype=values.dtype), -1)
    return _tartan.count_nonzero(values > most * limit, axis=-1)


def _matrix_power(x, n, /):
    x, n = complex_tensor(_matrices(x, "matrix_power", True)), integer(n, "the power")
    if n < 0:
        x, n = _on_host("inv", np.linalg.inv, x), -n
    result = _tartan.broadcast_to(_tartan.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(n):
        result = _tartan.matmul(result, x)
    return result


def _matrix_norm(x, /, *, keepdims=False, ord="fro"):
    if ord not in ("nuc", 2, -2):
        return _tartan.linalg.matrix_norm(_tartan.abs(_matrices(x, "matrix_norm")), keepdims=keepdims, ord=ord)
    result = {"nuc": _tartan.sum, 2: _tartan.max, -2: _tartan.min}[ord](_svdvals(x), axis=-1)
    return _tartan.reshape(result, (*result.shape, 1, 1)) if keepdims else result


def _vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    return _tartan.linalg.vector_norm(_tartan.abs(x), axis=axis, keepdims=keepdims, ord=ord)


def _norm(x, ord=None, axis=None, keepdims=False):
    if axis is not None and not isinstance(axis, tuple) or ord is None:
        return _tartan.linalg.norm(_tartan.abs(x), ord, axis, keepdims)
    raise NotImplementedError(f"linalg.norm does not take complex matrices with ord={ord!r}: use linalg.matrix_norm")


RULES = {
    "inv": _square("inv", np.linalg.inv), "det": _square("det", np.linalg.det), "eigvalsh": _square("eigvalsh", np.linalg.eigvalsh),
    "cholesky": _cholesky, "solve": _solve, "qr": _qr, "eigh": _eigh, "svd": _svd, "svdvals": _svdvals, "slogdet": _slogdet,
    "pinv": _pinv, "matrix_rank": _matrix_rank, "matrix_power": _matrix_power, "matrix_norm": _matrix_norm,
    "vector_norm": _vector_norm, "norm": _norm}
