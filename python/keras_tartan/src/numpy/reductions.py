# SPDX-License-Identifier: Apache-2.0
"""Sums and other reductions along an axis or over all."""

import builtins

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src import _index
from keras_tartan.src._kit import T, axes_of, broadcast, floated, formula, is_float, one, op, reduced, reshaped, weak
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.arithmetic import add, maximum, minimum, multiply, not_equal, subtract
from keras_tartan.src.numpy.filled import full, ones, zeros
from keras_tartan.src.numpy.shapes import ravel
from keras_tartan.src.numpy.unary import isclose, sqrt


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return all(isclose(x1, x2, rtol, atol, equal_nan))


def _summed_type(x):
    if x.dtype in ("bool", "int8", "int16"):
        return "int32"
    if x.dtype in ("uint8", "uint16"):
        return "uint32"
    return x.dtype


def sum(x, axis=None, keepdims=False):
    x = T(x)
    return reduced("ReduceSum", cast(x, _summed_type(x)), axis, keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = T(x)
    return reduced("ReduceProd", cast(x, dtype or _summed_type(x)), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    x = T(x)
    dtype = result_type(x.dtype, "float32") if not is_float(x) else x.dtype
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    return cast(reduced("ReduceMean", cast(x, wide), axis, keepdims), dtype)


def _extreme(name, of_bools):
    def function(x, axis=None, keepdims=False, initial=None):
        x = T(x)
        if 0 in x.shape:
            if initial is None:
                raise ValueError("Cannot compute the max or min of an empty tensor.")
            dims = axes_of(axis, len(x.shape))
            return full([1 if a in dims else d for a, d in enumerate(x.shape) if keepdims or a not in dims],
                        initial, x.dtype)
        result = reduced(name, cast(x, "int32") if x.dtype == "bool" else x, axis, keepdims)
        result = cast(result, x.dtype)
        if initial is not None:
            result = of_bools(result, T(initial, x.dtype))
        return result

    return function


max = _extreme("ReduceMax", maximum)
min = _extreme("ReduceMin", minimum)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def _truth(name, empty):
    def function(x, axis=None, keepdims=False):
        x = T(x, "bool")
        if 0 in x.shape:
            dims = axes_of(axis, len(x.shape))
            shape = [1 if a in dims else d for a, d in enumerate(x.shape) if keepdims or a not in dims]
            return (ones if empty else zeros)(shape, "bool")
        return cast(reduced(name, cast(x, "uint8"), axis, keepdims), "bool")

    return function


all, any = _truth("ReduceMin", True), _truth("ReduceMax", False)


def count_nonzero(x, axis=None):
    if axis == () or axis == []:
        return cast(T(x, "bool"), "int32")
    return sum(cast(T(x, "bool"), "int32"), axis)


def var(x, axis=None, keepdims=False):
    x = T(x)
    dtype = result_type(x.dtype, float)
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    x = cast(x, wide)
    centred = op("Sub", x, mean(x, axis, True))
    return cast(mean(op("Mul", centred, centred), axis, keepdims), dtype)


def std(x, axis=None, keepdims=False):
    return sqrt(var(x, axis, keepdims))


def _position(name):
    def function(x, axis=None, keepdims=False):
        x = T(x)
        if x.dtype == "bool":
            x = cast(x, "uint8")
        n = len(x.shape)
        if axis is None:
            result = op(name, reshaped(x, (-1,)), axis=0, keepdims=0)
            return cast(reshaped(result, (1,) * n) if keepdims else result, "int32")
        return cast(op(name, x, axis=one(axis, n), keepdims=int(keepdims)), "int32")

    return function


argmax, argmin = _position("ArgMax"), _position("ArgMin")


def average(x, axis=None, weights=None):
    x = T(x)
    dtype = result_type(x.dtype, float, *([] if weights is None else [weak(weights)]))
    x = cast(x, dtype)
    if weights is None:
        return mean(x, axis)
    weights = T(weights, dtype)
    if weights.shape != x.shape:
        axes = axes_of(axis, len(x.shape))
        weights = reshaped(weights, [d if a in axes else 1 for a, d in enumerate(x.shape)])
    weights = broadcast(weights, x.shape)
    return op("Div", sum(op("Mul", x, weights), axis), sum(weights, axis))


def _cumulative(name):
    def function(x, axis=None, dtype=None):
        x = T(x)
        dtype = standardize_dtype(dtype) if dtype is not None else x.dtype
        x = cast(x, "int32" if dtype == "bool" else dtype)
        if axis is None:
            x, axis = ravel(x), 0
        return formula(f"O = {name}(X, {one(axis, len(x.shape))});", x)

    return function


cumsum, cumprod = _cumulative("cumsum"), _cumulative("cumprod")


def diff(a, n=1, axis=-1):
    x = T(a)
    axis = one(axis, len(x.shape))
    for _ in range(n):
        at = (builtins.slice(None),) * axis
        after, before = _index.getitem(x, at + (builtins.slice(1, None),)), _index.getitem(x, at + (builtins.slice(0, -1),))
        x = not_equal(after, before) if x.dtype == "bool" else subtract(after, before)
    return x


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floated(y)
    axis = one(axis, len(y.shape))
    at = (builtins.slice(None),) * axis
    if x is None:
        steps = dx
    else:
        x = T(x, y.dtype)
        steps = diff(x, axis=0 if len(x.shape) == 1 else axis)
        if len(x.shape) == 1:
            steps = reshaped(steps, [-1 if a == axis else 1 for a in range(len(y.shape))])
    middle = add(_index.getitem(y, at + (builtins.slice(1, None),)), _index.getitem(y, at + (builtins.slice(0, -1),)))
    return sum(multiply(multiply(middle, 0.5), steps), axis)
