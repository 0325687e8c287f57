# SPDX-License-Identifier: Apache-2.0
"""New tensors: ranges, windows, grids."""


import numpy as np
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx
from keras_tartan.src._kit import T, op, ours, values_of, weak
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.numpy.elementwise import absolute, exp, log, multiply, sign
from keras_tartan.src.numpy.shapes import expand_dims, moveaxis
from tartan import _creation, _dtypes


def _made(values, dtype):
    return from_array(np.asarray(values), dtype)


def arange(start, stop=None, step=None, dtype=None):
    if dtype is None:
        given = [weak(x) for x in (start, stop, step) if x is not None]
        dtype = result_type(*given)
    start, stop, step = [x if x is None or isinstance(x, (int, float)) else
                         values_of(x, "arange").item() for x in (start, stop, step)]
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("the step is 0")
    values = np.arange(start, stop, 1 if step is None else step)
    return _made(values, standardize_dtype(dtype))


def eye(N, M=None, k=0, dtype=None):
    return ours(_creation.eye(N, M, k=k, dtype=standardize_dtype(dtype)))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    return _made(np.tri(N, M, k), standardize_dtype(dtype))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    dtype = standardize_dtype(dtype)
    if num < 0:
        raise ValueError(f"the number of values, {num}, is negative")
    values, step = ours(_creation.spaced(T(start, "float64"), T(stop, "float64"), num, endpoint))
    if _dtypes.is_integer(dtype):
        values = op("Floor", values)
    values = cast(moveaxis(values, 0, axis), dtype)
    return (values, cast(step, dtype)) if retstep else values


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    powers = linspace(start, stop, num, endpoint, dtype="float64", axis=axis)
    return cast(op("Pow", T(base, "float64"), powers), standardize_dtype(dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    start, stop = T(start, "float64"), T(stop, "float64")
    low = log(absolute(start))
    values = exp(linspace(low, log(absolute(stop)), num, endpoint, dtype="float64", axis=axis))
    return cast(multiply(values, expand_dims(sign(start), axis) if start.shape else sign(start)),
                standardize_dtype(dtype))


def _window(make):
    def function(x):
        return _made(make(int(values_of(x, "a window's length"))), floatx())

    return function


bartlett, blackman, hamming, hanning = map(_window, (np.bartlett, np.blackman, np.hamming, np.hanning))


def kaiser(x, beta):
    return _made(np.kaiser(int(values_of(x, "a window's length")), float(values_of(beta, "kaiser"))), floatx())


def meshgrid(*x, indexing="xy"):
    return ours(_creation.meshgrid(*[T(a) for a in x], indexing=indexing))
