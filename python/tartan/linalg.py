# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: the extension `linalg` of the array API standard.

Matmuls are contractions on the device. Decompositions, inverses and solutions are computed by NumPy on the host.
Their derivatives are compositions of tensor operations, so higher derivatives exist, too. In a captured function
there are no values, and these functions raise NotImplementedError. Inputs are matrices [..., M, N]; leading
dimensions are batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tartan import _derivatives as _rules
from tartan import _dtypes
from tartan import _elementwise as _e
from tartan import _reductions as _r
from tartan._batching import bare, dressed, levels_of, raised
from tartan._call import as_float, axes_of, integer, pair, tensor
from tartan._creation import eye
from tartan._gradients import with_rule
from tartan._manipulation import broadcast_to, matrix_transpose, moveaxis, reshape
from tartan._matmul import cross, diagonal, matmul, outer, tensordot, trace, vecdot
from tartan._primitives import to
from tartan._tensor import Tensor, from_numpy, operator


class EighResult(NamedTuple):
    """Eigenvalues [..., N] in ascending order and eigenvectors [..., N, N] as columns."""
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Q with orthonormal columns and the upper triangular R."""
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign of determinants, and logarithm of their absolute values."""
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """U, singular values S in descending order, and Vh."""
    U: Tensor
    S: Tensor
    Vh: Tensor


def _matrices(x, name, square=False):
    x = as_float(x)
    if x.ndim < 2 or square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"linalg.{name} takes {'square ' if square else ''}matrices, not {list(x.shape)}")
    return x


def _on_host(name, compute, inputs, derive):
    """Applies `compute` to the values as arrays. `derive` maps outputs and their cotangents to derivatives by the
    inputs."""
    dtype = inputs[0].dtype
    levels = levels_of(inputs)
    for level in levels:  # mapped axes become batch dimensions
        inputs = [raised(x, level) for x in inputs]
    if any(bare(x).is_traced for x in inputs):
        raise NotImplementedError(f"linalg.{name} is computed from values on the host, which are not known while a "
                                  "function is captured: call it outside of tartan.function")
    wide = np.float64 if dtype == "float64" else np.float32
    results = compute(*[bare(x).numpy().astype(wide) for x in inputs])
    results = results if isinstance(results, tuple) else (results,)
    made = [dressed(from_numpy(np.asarray(y).astype(_dtypes.numpy_dtype(dtype))), levels) for y in results]
    shown = []
    shown += with_rule(made, inputs, lambda *derivatives: derive(shown, derivatives))
    return shown


def inv(x: Any, /) -> Tensor:
    """Returns the inverses of square matrices. numpy.linalg.LinAlgError for singular ones."""
    x = _matrices(x, "inv", True)
    return _on_host("inv", np.linalg.inv, [x], _rules.inverse)[0]


def solve(x1: Any, x2: Any, /) -> Tensor:
    """Returns X with x1 @ X = x2; x2 is a vector or matrices. numpy.linalg.LinAlgError if x1 is singular."""
    a, b = pair(x1, x2, floats=True)
    a = _matrices(a, "solve", True)
    if b.ndim == 1:
        return reshape(solve(a, reshape(b, (*b.shape, 1))), (*a.shape[:-1],))
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:]))
    return _on_host("solve", np.linalg.solve, [a, b], lambda y, g: _rules.solution(solve, a, y[0], g[0]))[0]


def det(x: Any, /) -> Tensor:
    """Returns the determinants of square matrices."""
    x = _matrices(x, "det", True)
    if bare(x).is_traced:
        return operator("Det", [x])
    return _on_host("det", np.linalg.det, [x], lambda y, g: _rules.determinant(inv, x, y[0], g[0]))[0]


def slogdet(x: Any, /) -> SlogdetResult:
    """Returns the sign of determinants and the logarithm of their absolute values."""
    x = _matrices(x, "slogdet", True)
    found = _on_host("slogdet", lambda a: tuple(np.linalg.slogdet(a)), [x],
                     lambda y, g: _rules.log_determinant(inv, x, g[1]))
    return SlogdetResult(*found)


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """Returns the lower triangular L with L Lᵀ = x for symmetric positive definite matrices, or with `upper` Lᵀ.
    LinAlgError for other matrices."""
    x = _matrices(x, "cholesky", True)
    lower = _on_host("cholesky", np.linalg.cholesky, [x], lambda y, g: _rules.cholesky(solve, y[0], g[0]))[0]
    return matrix_transpose(lower) if upper else lower


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Returns Q with orthonormal columns and the upper triangular R with Q R = x; with 'complete', Q is square.
    Derivatives exist for reduced factors of matrices with M >= N."""
    x = _matrices(x, "qr")
    if mode not in ("reduced", "complete"):
        raise ValueError(f"the mode of qr must be 'reduced' or 'complete', not {mode!r}")

    def derive(y, g):
        if x.shape[-1] > x.shape[-2] or mode == "complete" and x.shape[-1] != x.shape[-2]:
            raise NotImplementedError("linalg.qr has derivatives only for the reduced mode and matrices with at least as many rows as columns")
        return _rules.qr(solve, *y, *g)

    return QRResult(*_on_host("qr", lambda a: tuple(np.linalg.qr(a, mode=mode)), [x], derive))


def eigh(x: Any, /) -> EighResult:
    """Returns the eigenvalues in ascending order and the eigenvectors (columns) of symmetric matrices; reads the
    lower triangle. Derivatives of eigenvectors require distinct eigenvalues."""
    x = _matrices(x, "eigh", True)
    return EighResult(*_on_host("eigh", lambda a: tuple(np.linalg.eigh(a)), [x],
                                lambda y, g: _rules.eigen(*y, *g)))


def eigvalsh(x: Any, /) -> Tensor:
    """Returns the eigenvalues of symmetric matrices in ascending order."""
    return eigh(x).eigenvalues


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Returns U, S and Vh with U diag(S) Vh = x. Derivatives exist without `full_matrices`, when U and Vh have
    min(M, N) columns and rows."""
    x = _matrices(x, "svd")

    def derive(y, g):
        if full_matrices and x.shape[-1] != x.shape[-2]:
            raise NotImplementedError("linalg.svd has derivatives only for full_matrices=False")
        return _rules.svd(*y, *g)

    return SVDResult(*_on_host("svd", lambda a: tuple(np.linalg.svd(a, full_matrices=full_matrices)), [x], derive))


def svdvals(x: Any, /) -> Tensor:
    """Returns the singular values in descending order."""
    return svd(x, full_matrices=False).S


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """Returns pseudo-inverses; singular values below `rtol` times the largest one count as 0."""
    x = _matrices(x, "pinv")
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(_dtypes.finfo(x.dtype).eps)
    limit = rtol if isinstance(rtol, float) else tensor(rtol).numpy()
    return _on_host("pinv", lambda a: np.linalg.pinv(a, rcond=limit), [x],
                    lambda y, g: _rules.pseudo_inverse(x, y[0], g[0]))[0]


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """Returns the number of singular values above `rtol` times the largest one, as int64."""
    x = _matrices(x, "matrix_rank")
    values = svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(_dtypes.finfo(x.dtype).eps)
    limit = tensor(rtol, x.dtype)
    most = _r.max(values, axis=-1, keepdims=True)
    return _r.count_nonzero(_e.greater(values, _e.multiply(most, reshape(limit, (*limit.shape, 1)))), axis=-1)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """Returns x to the power n by repeated matmul; a power of the inverse for negative n."""
    x, n = tensor(x), integer(n, "the power")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"linalg.matrix_power takes square matrices, not {list(x.shape)}")
    if n < 0:
        x, n = inv(x), -n
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return result if result is not None else broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Returns matrix norms: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf."""
    x = _matrices(x, "matrix_norm")
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, float("inf"), float("-inf")):
        first, reduce = (-2 if ord in (1, -1) else -1), (_r.max if ord > 0 else _r.min)
        sums = _r.sum(_e.abs(x), axis=first, keepdims=True)
        return reduce(sums, axis=(-2, -1), keepdims=keepdims)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"unknown matrix norm {ord!r}")
    result = {"nuc": _r.sum, 2: _r.max, -2: _r.min}[ord](svdvals(x), axis=-1)
    return reshape(result, (*result.shape, 1, 1)) if keepdims else result


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Returns vector norms along axes (default: all) of any order, including inf and -inf; order 0 counts nonzero
    elements."""
    x = as_float(x)
    size = _e.abs(x)
    if ord == float("inf"):
        return _r.max(size, axis=axis, keepdims=keepdims)
    if ord == float("-inf"):
        return _r.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return to(_r.count_nonzero(x, axis=axis, keepdims=keepdims), x.dtype)
    if ord == 1:
        return _r.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return _e.sqrt(_r.sum(_e.square(x), axis=axis, keepdims=keepdims))
    return _e.power(_r.sum(_e.power(size, float(ord)), axis=axis, keepdims=keepdims), 1.0 / ord)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """NumPy's norm: vector norms for one axis, matrix norms for two."""
    x = as_float(x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    moved = matrix_norm(moveaxis(x, axes, (-2, -1)), ord="fro" if ord is None else ord)
    kept = tuple(1 if d in axes_of(axes, x.ndim) else n for d, n in enumerate(x.shape))
    return reshape(moved, kept) if keepdims else moved


__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
           "tensordot", "trace", "vecdot", "vector_norm"]
