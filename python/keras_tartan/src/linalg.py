# SPDX-License-Identifier: Apache-2.0
"""keras.ops.linalg. Functions computed by NumPy on the host have no derivatives and raise an error in captured
steps."""

import functools

import numpy as np
import tartan
from keras.src import tree
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, axes_of, common, floated, like, one, op
from keras_tartan.src._values import cast, from_array, placeholder
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from tartan._gradients import _fresh
from tartan._tensor import state


def _on_host(name, compute, *operands):
    operands = [floated(x) for x in operands]
    if any(x.is_traced for x in operands):
        if in_symbolic_scope():
            shown = compute(*[np.broadcast_to(np.eye(*(x.shape[-2:] if len(x.shape) > 1 else (x.shape[-1], 1)))[
                ..., 0 if len(x.shape) == 1 else slice(None)], x.shape) for x in operands])
            parts = shown if isinstance(shown, tuple) else (shown,)
            parts = tuple(placeholder(p.shape, operands[0].dtype if p.dtype.kind == "f" else p.dtype) for p in parts)
            return parts if isinstance(shown, tuple) else parts[0]
        raise NotImplementedError(f"linalg.{name} in a step that is captured is not implemented in the tartan backend: "
                                  "compile with run_eagerly=True")
    if state.recording:
        raise NotImplementedError(f"the derivative of linalg.{name} is not implemented in the tartan backend")
    dtype = operands[0].dtype
    wide = "float64" if dtype == "float64" else "float32"
    result = compute(*[x.numpy().astype(wide) for x in operands])
    if isinstance(result, tuple):
        return tuple(from_array(np.asarray(r), dtype if r.dtype.kind == "f" else None) for r in result)
    return from_array(np.asarray(result), dtype if np.asarray(result).dtype.kind == "f" else None)


def cholesky(x, upper=False):
    def compute(a):
        lower = np.linalg.cholesky(a)
        return np.swapaxes(lower, -1, -2) if upper else lower

    return _on_host("cholesky", compute, x)


def cholesky_inverse(x, upper=False):
    def compute(a):
        a = np.swapaxes(a, -1, -2) @ a if upper else a @ np.swapaxes(a, -1, -2)
        return np.linalg.inv(a)

    return _on_host("cholesky_inverse", compute, x)


def det(x):
    return op("Det", floated(x))


def slogdet(x):
    return _on_host("slogdet", lambda a: tuple(np.linalg.slogdet(a)), x)


def eig(x):
    raise NotImplementedError("linalg.eig gives complex numbers, which the tartan backend does not have")


def eigh(x):
    return _on_host("eigh", lambda a: tuple(np.linalg.eigh(a)), x)


def inv(x):
    return _on_host("inv", np.linalg.inv, x)


def lu_factor(x):
    def compute(a):
        try:
            from scipy.linalg import lu_factor as factor
        except ImportError:
            raise NotImplementedError("linalg.lu_factor needs SciPy: pip install scipy") from None
        flat = a.reshape((-1,) + a.shape[-2:])
        found = [factor(m) for m in flat]
        return (np.stack([f[0] for f in found]).reshape(a.shape),
                np.stack([f[1] for f in found]).astype("int32").reshape(a.shape[:-2] + (-1,)))

    return _on_host("lu_factor", compute, x)


def norm(x, ord=None, axis=None, keepdims=False):
    x = floated(x)
    n = len(x.shape)
    if axis is None:
        if ord is None:
            return knp.sqrt(knp.sum(knp.square(x), None, keepdims))
        axes = list(range(n))
    else:
        axes = axes_of(axis, n)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        if ord is not None:
            raise ValueError(f"Improper number of dimensions to norm. Received: ord={ord}, axis={axis}")
        return knp.sqrt(knp.sum(knp.square(x), axes, keepdims))
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x, ord, axes, keepdims):
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = knp.absolute(x)
    if ord is None or ord == 2:
        return knp.sqrt(knp.sum(knp.square(x), axes, keepdims))
    if ord == float("inf"):
        return knp.max(size, axes, keepdims)
    if ord == float("-inf"):
        return knp.min(size, axes, keepdims)
    if ord == 0:
        return knp.sum(cast(knp.not_equal(x, 0), x.dtype), axes, keepdims)
    if ord == 1:
        return knp.sum(size, axes, keepdims)
    return knp.power(knp.sum(knp.power(size, float(ord)), axes, keepdims), 1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    rows, columns = axes
    size = knp.absolute(x)
    if ord in (None, "fro"):
        return knp.sqrt(knp.sum(knp.square(x), axes, keepdims))
    if ord in (1, -1, float("inf"), float("-inf")):
        first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
        reduce = knp.max if ord in (1, float("inf")) else knp.min
        result = reduce(knp.sum(size, first, True), second, True)
    elif ord in ("nuc", 2, -2):
        moved = knp.moveaxis(x, axes, (-2, -1))
        values = svd(moved, compute_uv=False)
        result = {"nuc": knp.sum, 2: knp.max, -2: knp.min}[ord](values, -1)
        for a in sorted(axes):
            result = knp.expand_dims(result, a)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return result if keepdims else knp.squeeze(result, tuple(axes))


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError("`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
                         f"Received: mode={mode}")
    return _on_host("qr", lambda a: tuple(np.linalg.qr(a, mode=mode)), x)


def solve(a, b):
    def compute(a, b):
        return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == a.ndim - 1 else np.linalg.solve(a, b)

    return _on_host("solve", compute, *common(a, b, extra=(float,)))


def solve_triangular(a, b, lower=False):
    def compute(a, b):
        a = np.tril(a) if lower else np.triu(a)
        return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == a.ndim - 1 else np.linalg.solve(a, b)

    return _on_host("solve_triangular", compute, *common(a, b, extra=(float,)))


def svd(x, full_matrices=True, compute_uv=True):
    def compute(a):
        found = np.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return tuple(found) if compute_uv else found

    return _on_host("svd", compute, x)


def lstsq(a, b, rcond=None):
    return _on_host("lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=rcond)[0], *common(a, b, extra=(float,)))


def matrix_rank(x, tol=None):
    return cast(_on_host("matrix_rank", lambda a: np.asarray(np.linalg.matrix_rank(a, tol=tol), "int32"), x), "int32")


def pinv(x, rcond=None):
    return _on_host("pinv", lambda a: np.linalg.pinv(a, **({} if rcond is None else {"rcond": rcond})), x)


def jvp(fun, primals, tangents, has_aux=False):
    """Forward-mode derivative by two reverse-mode ones: `seed * d fun` is linear in the seed and is differentiated
    by it along the tangents."""
    primals = [floated(x) for x in primals]
    tangents = [T(t, x.dtype) for t, x in zip(tangents, primals)]
    with tartan.recording():
        fresh = [_fresh(x) for x in primals]
        found = fun(*fresh)
        outputs, aux = found if has_aux else (found, None)
        flat = [T(y) for y in tree.flatten(outputs)]
        seeds = [_fresh(knp.ones_like(y)) for y in flat]
        total = _total(knp.sum(op("Mul", y, seed)) for y, seed in zip(flat, seeds))
        derivatives = tartan.gradients(total, fresh)
        along = _total(knp.sum(op("Mul", d, t)) for d, t in zip(derivatives, tangents))
        results = tree.pack_sequence_as(outputs, tartan.gradients(along, seeds))
    return (outputs, results, aux) if has_aux else (outputs, results)


def _total(scalars):
    """Sums several one-element tensors to one tensor."""
    return functools.reduce(knp.add, scalars)
