# SPDX-License-Identifier: Apache-2.0
"""Reductions that ignore NaN."""

from keras_tartan.src._kit import T, floated, is_float, like, op
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.elementwise import isnan, logical_not, multiply, sqrt, subtract, where
from keras_tartan.src.numpy.reductions import all, argmax, argmin, cumprod, cumsum, max, min, prod, sum


def _filled(x, value):
    x = T(x)
    return where(isnan(x), like(value, x), x) if is_float(x) else x


def nansum(x, axis=None, keepdims=False):
    return sum(_filled(x, 0), axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    return prod(_filled(x, 1), axis, keepdims)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_filled(x, 0), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_filled(x, 1), axis, dtype)


def _ignoring(reduce, filler, none):
    """Returns a reduction of the numbers that are not NaN; of NaN only, it is `none`."""
    def function(x, axis=None, keepdims=False):
        x = T(x)
        if not is_float(x):
            return reduce(x, axis, keepdims)
        result = reduce(_filled(x, filler), axis, keepdims)
        return where(all(isnan(x), axis, keepdims), like(none, result), result)

    return function

nanmax, nanargmax = _ignoring(max, -float("inf"), float("nan")), _ignoring(argmax, -float("inf"), -1)
nanmin, nanargmin = _ignoring(min, float("inf"), float("nan")), _ignoring(argmin, float("inf"), -1)

def nanmean(x, axis=None, keepdims=False):
    x = floated(x)
    count = sum(cast(logical_not(isnan(x)), x.dtype), axis, keepdims)
    return op("Div", sum(_filled(x, 0), axis, keepdims), count)


def nanvar(x, axis=None, keepdims=False):
    x = floated(x)
    centred = subtract(x, nanmean(x, axis, True))
    return nanmean(multiply(centred, centred), axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    return sqrt(nanvar(x, axis, keepdims))
