# SPDX-License-Identifier: Apache-2.0
"""Sums and other reductions along an axis or over all."""

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src._kit import T, axes_of, broadcast, floated, is_float, one, ours, reshaped, weak
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.elementwise import add, divide, isclose, maximum, minimum, multiply, subtract
from keras_tartan.src.numpy.filled import full
from keras_tartan.src.numpy.shapes import ravel
from tartan import _call, _reductions, _selection
from tartan._primitives import averaged, cumulated, kept_shape


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return all(isclose(x1, x2, rtol, atol, equal_nan))


def _axes(x, axis):
    return tuple(axes_of(axis, len(x.shape)))


def _of(function, convert=T):
    def reduced(x, axis=None, keepdims=False):
        x = convert(x)
        return ours(function(x, axis=_axes(x, axis), keepdims=keepdims))

    return reduced


sum, all, any = map(_of, (_reductions.sum, _reductions.all, _reductions.any))
var, std = _of(_reductions.var, floated), _of(_reductions.std, floated)


def mean(x, axis=None, keepdims=False):
    x = T(x)
    axes = _call.axes_of(_axes(x, axis), len(x.shape))
    return averaged(x if is_float(x) else cast(x, "float32"), axes, keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = T(x)
    return ours(_reductions.prod(x, axis=_axes(x, axis), keepdims=keepdims, dtype=dtype))


def _extreme(function, combine):
    def reduced(x, axis=None, keepdims=False, initial=None):
        x = T(x)
        if 0 in x.shape:
            if initial is None:
                raise ValueError("Cannot compute the max or min of an empty tensor.")
            return full(kept_shape(x.shape, _axes(x, axis), keepdims), initial, x.dtype)
        result = ours(function(x, axis=_axes(x, axis), keepdims=keepdims))
        return result if initial is None else combine(result, T(initial, x.dtype))

    return reduced


max, min = _extreme(_reductions.max, maximum), _extreme(_reductions.min, minimum)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def count_nonzero(x, axis=None):
    x = T(x)
    return cast(ours(_reductions.count_nonzero(x, axis=_axes(x, axis))), "int32")


def _position(function):
    def found(x, axis=None, keepdims=False):
        return cast(ours(function(T(x), axis=axis, keepdims=keepdims)), "int32")

    return found


argmax, argmin = _position(_reductions.argmax), _position(_reductions.argmin)


def average(x, axis=None, weights=None):
    dtype = result_type(weak(x), float, *([] if weights is None else [weak(weights)]))
    x = T(x, dtype)
    if weights is None:
        return mean(x, axis)
    weights = T(weights, dtype)
    if weights.shape != x.shape:
        axes = axes_of(axis, len(x.shape))
        weights = reshaped(weights, [d if a in axes else 1 for a, d in enumerate(x.shape)])
    weights = broadcast(weights, x.shape)
    return divide(sum(multiply(x, weights), axis), sum(weights, axis))


def _cumulative(name):
    def function(x, axis=None, dtype=None):
        x = T(x)
        dtype = standardize_dtype(dtype) if dtype is not None else x.dtype
        x = cast(x, "int32" if dtype == "bool" else dtype)
        if axis is None:
            x, axis = ravel(x), 0
        return cumulated(x, name, one(axis, len(x.shape)))

    return function


cumsum, cumprod = _cumulative("cumsum"), _cumulative("cumprod")


def diff(a, n=1, axis=-1):
    return ours(_selection.diff(T(a), n=n, axis=axis))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floated(y)
    axis = one(axis, len(y.shape))
    at = (slice(None),) * axis
    if x is None:
        steps = dx
    else:
        x = T(x, y.dtype)
        steps = diff(x, axis=0 if len(x.shape) == 1 else axis)
        if len(x.shape) == 1:
            steps = reshaped(steps, [-1 if a == axis else 1 for a in range(len(y.shape))])
    middle = add(y[at + (slice(1, None),)], y[at + (slice(0, -1),)])
    return sum(multiply(multiply(middle, 0.5), steps), axis)
