# SPDX-License-Identifier: Apache-2.0
"""keras.ops.linalg: functions of tartan.linalg with Keras' dtype rules. Factorizations are computed by NumPy on the
host, so they raise an error in captured steps."""

import functools

import numpy as np
import tartan
from keras.src import tree
from keras_tartan.src import numpy as knp
from keras_tartan.src._host import on_host
from keras_tartan.src._kit import axes_of, common, floated, ours
from keras_tartan.src._values import cast, convert_to_tensor
from tartan import linalg as _linalg
from tartan._tensor import state


def _by_numpy(compute, *operands):
    """Applies a function of NumPy arrays that has no derivative."""
    def function(*tensors):
        if state.recording:
            raise NotImplementedError(f"the derivative of linalg.{compute.__name__} is not implemented in the tartan backend")
        dtype = tensors[0].dtype
        wide = "float64" if dtype == "float64" else "float32"
        found = compute(*[x.numpy().astype(wide) for x in tensors])
        return tree.map_structure(lambda array: convert_to_tensor(array, dtype if array.dtype.kind == "f" else None), found)

    function.__name__ = compute.__name__
    return on_host(function, *operands)


def cholesky(x, upper=False):
    return on_host(_linalg.cholesky, x, upper=upper)


def cholesky_inverse(x, upper=False):
    x = floated(x)
    turned = knp.swapaxes(x, -1, -2)
    return inv(knp.matmul(turned, x) if upper else knp.matmul(x, turned))


def det(x):
    return ours(_linalg.det(floated(x)))


def slogdet(x):
    return knp.slogdet(x)


def eig(x):
    def eig(a):
        return tuple(part.astype(np.result_type(part, "complex64")) for part in np.linalg.eig(a))

    return _by_numpy(eig, x)


eigh, inv = functools.partial(on_host, _linalg.eigh), functools.partial(on_host, _linalg.inv)


def lu_factor(x):
    def lu_factor(a):
        try:
            from scipy.linalg import lu_factor as factor
        except ImportError:
            raise NotImplementedError("linalg.lu_factor needs SciPy: pip install scipy") from None
        flat = a.reshape((-1,) + a.shape[-2:])
        found = [factor(m) for m in flat]
        return (np.stack([f[0] for f in found]).reshape(a.shape),
                np.stack([f[1] for f in found]).astype("int32").reshape(a.shape[:-2] + (-1,)))

    return _by_numpy(lu_factor, x)


_MATRIX_NORMS = (None, "fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"))


def norm(x, ord=None, axis=None, keepdims=False):
    x = floated(x)
    axes = tuple(axes_of(axis, len(x.shape)))
    if ord is None or ord == "fro" and len(axes) == 2:
        return ours(_linalg.vector_norm(x, axis=axes, keepdims=keepdims))
    if len(axes) not in (1, 2):
        raise ValueError(f"Improper number of dimensions to norm. Received: ord={ord}, axis={axis}")
    if len(axes) == 1 and isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    if len(axes) == 2 and ord not in _MATRIX_NORMS:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return ours(_linalg.norm(x, ord, axes, keepdims))


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError("`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
                         f"Received: mode={mode}")
    return on_host(_linalg.qr, x, mode=mode)


def solve(a, b):
    a, b = common(a, b, extra=(float,))
    if len(b.shape) == len(a.shape) - 1:
        return knp.squeeze(solve(a, knp.expand_dims(b, -1)), -1)
    return on_host(_linalg.solve, a, b)


def solve_triangular(a, b, lower=False):
    return solve(knp.tril(a) if lower else knp.triu(a), b)


def svd(x, full_matrices=True, compute_uv=True):
    return on_host(_linalg.svd, x, full_matrices=full_matrices) if compute_uv else on_host(_linalg.svdvals, x)


def lstsq(a, b, rcond=None):
    def lstsq(a, b):
        return np.linalg.lstsq(a, b, rcond=rcond)[0]

    return _by_numpy(lstsq, *common(a, b, extra=(float,)))


def matrix_rank(x, tol=None):
    if tol is not None:
        return knp.sum(cast(knp.greater(on_host(_linalg.svdvals, x), tol), "int32"), -1)
    return cast(on_host(_linalg.matrix_rank, x), "int32")


def pinv(x, rcond=None):
    return on_host(_linalg.pinv, x, rtol=None if rcond is None else float(rcond))


def jvp(fun, primals, tangents, has_aux=False):
    aux = None

    def function(*args):
        nonlocal aux
        if not has_aux:
            return fun(*args)
        outputs, aux = fun(*args)
        return outputs

    outputs, results = tartan.jvp(function, [floated(x) for x in primals], tangents)
    results = tree.map_structure(ours, results)
    return (outputs, results, aux) if has_aux else (outputs, results)


def matrix_power(a, n):
    return ours(_linalg.matrix_power(floated(a), n))
