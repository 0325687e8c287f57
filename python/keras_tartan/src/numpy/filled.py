# SPDX-License-Identifier: Apache-2.0
"""Tensors of one value, and copies."""

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx
from keras_tartan.src._kit import T, adapted, ours, values_of
from tartan import _creation
from tartan._complex import ComplexTensor


def _shape(shape):
    if not isinstance(shape, (tuple, list)):
        shape = values_of(shape, "a shape").reshape(-1)
    shape = [int(d) for d in shape]
    if any(size < -1 for size in shape):
        raise ValueError(f"the shape {shape} has a negative size")
    return shape


def full(shape, fill_value, dtype=None):
    if dtype is None and isinstance(fill_value, (bool, int, float)):
        dtype = floatx()
    value = T(fill_value, dtype)
    if isinstance(value, ComplexTensor):
        return ComplexTensor(full(shape, value.real), full(shape, value.imag))
    shape = _shape(shape)
    if -1 in shape:
        raise ValueError(f"the shape {shape} has a negative size")
    return ours(_creation.full(shape, value))


def zeros(shape, dtype=None):
    return full(shape, 0, standardize_dtype(dtype))


def ones(shape, dtype=None):
    return full(shape, 1, standardize_dtype(dtype))


def full_like(x, fill_value, dtype=None):
    x = T(x)
    return full(x.shape, fill_value, dtype or x.dtype)


def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)


empty, empty_like = zeros, zeros_like


array = T


copy = adapted(_creation.copy)
