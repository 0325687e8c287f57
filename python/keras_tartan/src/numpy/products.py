# SPDX-License-Identifier: Apache-2.0
"""Matmuls, contractions, and functions based on them."""

import builtins

import numpy as np
from keras.src import tree
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src._host import on_host
from keras_tartan.src._kit import T, common, floated, is_float, op, ours, promoted, reshaped
from keras_tartan.src._values import cast, from_array, operand_dtype
from keras_tartan.src.numpy.elementwise import divide, multiply, power, sqrt, subtract
from keras_tartan.src.numpy.choosing import diagonal
from keras_tartan.src.numpy.filled import ones
from keras_tartan.src.numpy.reductions import mean
from keras_tartan.src.numpy.shapes import expand_dims, flip, moveaxis, pad, ravel, stack, transpose
from tartan import _matmul, linalg


def _product_type(*xs):
    """Returns the accumulation dtype; int8 with int8 accumulates in int32."""
    kinds = [operand_dtype(x) or T(x).dtype for x in xs]
    if builtins.all(kind == "int8" for kind in kinds):
        return "int32"
    return promoted(*kinds)


def matmul(x1, x2):
    return _plain(*_factors(x1, x2))


def _factors(x1, x2):
    """Converts the operands to the accumulation dtype."""
    dtype = _product_type(x1, x2)
    return T(x1, dtype), T(x2, dtype)


def _of_numbers(function):
    """Returns a function of two tensors that computes bools as integers."""
    def applied(x1, x2, *args, **kwargs):
        if x1.dtype != "bool":
            return ours(function(x1, x2, *args, **kwargs))
        return cast(ours(function(cast(x1, "int32"), cast(x2, "int32"), *args, **kwargs)), "bool")

    return applied


_plain, _tensordot, _outer = map(_of_numbers, (_matmul.matmul, _matmul.tensordot, _matmul.outer))


def dot(x1, x2):
    x1, x2 = _factors(x1, x2)
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    if len(x2.shape) == 1 or len(x1.shape) <= 2 and len(x2.shape) == 2:
        return _plain(x1, x2)
    return _tensordot(x1, x2, axes=[[-1], [-2]])


def tensordot(x1, x2, axes=2):
    return _tensordot(*_factors(x1, x2), axes=axes)


def outer(x1, x2):
    return _outer(*map(ravel, common(x1, x2)))


def vdot(x1, x2):
    return tensordot(ravel(x1), ravel(x2), 1)


def inner(x1, x2):
    x1, x2 = _factors(x1, x2)
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    return _tensordot(x1, x2, axes=[[-1], [-1]])


def kron(x1, x2):
    return ours(_matmul.kron(*common(x1, x2)))


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = common(x1, x2)
    a, b = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not {*sizes} <= {2, 3}:
        raise ValueError(f"`x1`'s and `x2`'s dimension on their axes must be 2 or 3. Received: {sizes[0]}, {sizes[1]}")
    a, b = [pad(x, [(0, 0)] * (len(x.shape) - 1) + [(0, 3 - x.shape[-1])]) for x in (a, b)]
    result = ours(_matmul.cross(a, b))
    return result[..., 2] if sizes == (2, 2) else moveaxis(result, -1, axisc)


def einsum(subscripts, *operands, **kwargs):
    dtype = _product_type(*operands)
    work = "int32" if dtype == "bool" else dtype
    return cast(ours(_matmul.einsum(subscripts, *[T(x, work) for x in operands])), dtype)


def correlate(x1, x2, mode="valid"):
    x1, x2 = common(x1, x2)
    dtype = x1.dtype if is_float(x1) else result_type(x1.dtype, float)
    wide = "float64" if dtype == "float64" else "float32"
    x1, x2 = cast(x1, wide), cast(x2, wide)
    if x1.shape[0] < x2.shape[0]:
        return flip(correlate(cast(x2, dtype), cast(x1, dtype), mode))
    n, m = x1.shape[0], x2.shape[0]
    pads = {"valid": (0, 0), "full": (m - 1, m - 1), "same": ((m - 1) - (m - 1) // 2, (m - 1) // 2)}
    if mode not in pads:
        raise ValueError(f"mode must be one of {list(pads)}. Received: mode={mode}")
    before, after = pads[mode]
    if mode == "same":
        before, after = m // 2, m - 1 - m // 2
    result = op("Conv", reshaped(x1, (1, 1, n)), reshaped(x2, (1, 1, m)), pads=[before, after])
    return cast(reshaped(result, (-1,)), dtype)


def corrcoef(x):
    x = floated(x)
    if len(x.shape) < 2:
        return ones((), x.dtype)
    x = subtract(x, mean(x, -1, True))
    products = matmul(x, transpose(x))
    scale = sqrt(diagonal(products))
    return divide(divide(products, expand_dims(scale, 1)), expand_dims(scale, 0))


def vander(x, N=None, increasing=False):
    x = T(x)
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return power(expand_dims(x, -1), from_array(powers.copy(), x.dtype))


def slogdet(x):
    return on_host(linalg.slogdet, x)


def vectorize(pyfunc, *, excluded=None, signature=None):
    from keras.src.backend.common.backend_utils import vectorize_impl

    return vectorize_impl(pyfunc, _mapped, excluded=excluded, signature=signature)


def _mapped(f, in_axes=0, out_axes=0):
    """Applies `f` to each element of the mapped axes, unrolled."""
    def function(*args):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        xs = [T(x) if a is None else moveaxis(T(x), a, 0) for x, a in zip(args, axes)]
        count = next(x.shape[0] for x, a in zip(xs, axes) if a is not None)
        results = [f(*[x if a is None else x[i] for x, a in zip(xs, axes)]) for i in range(count)]
        return tree.map_structure(lambda *parts: stack(parts, out_axes), *results)

    return function
