# SPDX-License-Identifier: Apache-2.0
"""Tensors of one value, and copies."""

import numpy as np
from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx
from keras_tartan.src._kit import T, broadcast, full as _full, op, values_of
from tartan._tensor import Tensor


def zeros(shape, dtype=None):
    return _full(_shape(shape), 0, standardize_dtype(dtype))


def ones(shape, dtype=None):
    return _full(_shape(shape), 1, standardize_dtype(dtype))


def _shape(shape):
    if isinstance(shape, (Tensor,)) or not isinstance(shape, (tuple, list)):
        shape = np.atleast_1d(values_of(shape, "a shape")).tolist()
    return [int(d) for d in shape]


def full(shape, fill_value, dtype=None):
    value = T(fill_value, dtype or (None if not isinstance(fill_value, (bool, int, float)) else floatx()))
    return broadcast(value, _shape(shape))


empty = zeros


def zeros_like(x, dtype=None):
    x = T(x)
    return _full(x.shape, 0, dtype or x.dtype)


def ones_like(x, dtype=None):
    x = T(x)
    return _full(x.shape, 1, dtype or x.dtype)


empty_like = zeros_like


def full_like(x, fill_value, dtype=None):
    x = T(x)
    return broadcast(T(fill_value, dtype or x.dtype), x.shape)


def array(x, dtype=None):
    return T(x, dtype)


def copy(x):
    return op("Identity", T(x))
