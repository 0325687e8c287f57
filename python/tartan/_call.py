# SPDX-License-Identifier: Apache-2.0
"""Helpers shared by tensor functions: conversion of operands to tensors of one dtype, axes, and shapes."""

import functools
import numbers
import operator as _python

import numpy as np

from tartan import _dtypes
from tartan._primitives import stacked, to
from tartan._tensor import Tensor, constant, from_numpy
from tartan._variable import Variable

def is_scalar(x):
    """Returns True for a Python number, whose type yields to a tensor's dtype in promotion."""
    if isinstance(x, Tensor):  # tested first, because the test of numbers.Real is slow
        return False
    return isinstance(x, (bool, int, float)) or isinstance(x, numbers.Real) and not isinstance(x, np.generic)


def tensor(x, dtype=None):
    """Converts any array-like to a tensor."""
    if type(x) is not Tensor:
        x = _made(x)
    return x if dtype is None or x.dtype == dtype else to(x, dtype)


def _made(x):
    if isinstance(x, Variable):
        return x.value._as_operand()
    if isinstance(x, Tensor):
        return x._as_operand()
    if is_scalar(x):
        kind = bool if isinstance(x, (bool, np.bool_)) else int if isinstance(x, int) else float
        dtype = _dtypes.as_dtype(kind)
        if kind is int and not -(2**31) <= x < 2**31:
            dtype = _dtypes.int64 if x < 2**63 else _dtypes.uint64
        return constant(x, dtype)
    if isinstance(x, complex):
        raise TypeError(f"{x} is a complex number, but a real one is expected here")
    if isinstance(x, np.ndarray) and not x.dtype.hasobject or isinstance(x, np.generic):
        return from_numpy(x)
    held = getattr(x, "value", None)
    if isinstance(held, (Variable, Tensor)):
        return _made(held)
    if isinstance(x, (list, tuple)) and holds_tensors(x):
        return stack(x)
    return from_numpy(default_dtype(np.asarray(x), x))


def holds_tensors(x):
    return any(isinstance(part, (Tensor, Variable)) or isinstance(part, (list, tuple)) and holds_tensors(part) for part in x)


def default_dtype(array, source):
    """Narrows an array made from Python numbers to float32, or to int32 if the values fit."""
    if isinstance(source, (np.ndarray, np.generic)) or hasattr(source, "__dlpack__"):
        return array
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64 and (array.size == 0 or -2**31 <= array.min() and array.max() < 2**31):
        return array.astype(np.int32)
    return array


def scalar(x, dtype):
    """Returns a Python number as a constant of `dtype`. OverflowError if the dtype cannot hold it."""
    if _dtypes.is_integer(dtype) and isinstance(x, int):
        bits = _dtypes.BITS[dtype]
        low, high = (0, 2**bits) if dtype in _dtypes.UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if not low <= x < high:
            raise OverflowError(f"{x} is out of the range of {dtype}")
    return constant(x, dtype)


def pair(a, b, floats=False):
    """Converts two operands to tensors of their common dtype; with `floats`, integers become float32."""
    if type(a) is Tensor and type(b) is Tensor and (dtype := a.dtype) == b.dtype and (not floats or dtype in _dtypes.FLOATS):
        return a, b
    scalar_a, scalar_b = type(a) is not Tensor and is_scalar(a), type(b) is not Tensor and is_scalar(b)
    if scalar_a and not scalar_b:
        b, a = pair(b, a, floats)
        return a, b
    a = tensor(a)
    if scalar_b and not scalar_a:
        dtype = _dtypes.promote_scalar(a.dtype, b)
        if floats and dtype not in _dtypes.FLOATS:
            dtype = _dtypes.float32
        return to(a, dtype), scalar(b, dtype)
    b = tensor(b)
    dtype, other = a.dtype, b.dtype
    if dtype != other:
        dtype = _dtypes.promote(dtype, other)
    if floats and dtype not in _dtypes.FLOATS:
        dtype = _dtypes.float32
    return to(a, dtype), to(b, dtype)


def as_float(x):
    """Returns a tensor of floats; integers become float32."""
    x = tensor(x)
    return x if x.dtype in _dtypes.FLOATS else to(x, _dtypes.float32)


def alike(tensors):
    """Converts tensors to their common dtype; Python numbers yield in promotion."""
    tensors = list(tensors)
    strong = [tensor(x).dtype for x in tensors if not is_scalar(x)]
    weak = [x for x in tensors if is_scalar(x)]
    if not strong:
        strong = [tensor(x).dtype for x in weak]
    dtype = functools.reduce(_dtypes.promote, strong)
    for x in weak:
        dtype = _dtypes.promote_scalar(dtype, x)
    return [constant(x, dtype) if is_scalar(x) else tensor(x, dtype) for x in tensors]


def integer(x, what="a size"):
    """Converts an integer-like value, including a tensor with one element, to a Python int."""
    try:
        return _python.index(x)
    except TypeError:
        if isinstance(x, np.ndarray) and x.size == 1 and x.dtype.kind in "iu":
            return int(x.reshape(()))
        held = getattr(x, "value", None)
        if isinstance(held, (Tensor, Variable)):
            return integer(held, what)
        raise TypeError(f"{what} must be an integer, not {x!r}") from None


def axis_of(axis, rank, what="axis"):
    """Returns a non-negative axis. IndexError if it is out of range."""
    number = integer(axis, what)
    if not -rank <= number < rank:
        raise IndexError(f"{what} {number} is out of bounds for {rank} dimensions")
    return number + rank if number < 0 else number


def axes_of(axis, rank):
    """Returns a sorted tuple of axes: all for None, one for a number. ValueError for duplicates."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, (tuple, list)):
        axes = tuple(sorted(axis_of(a, rank) for a in axis))
        if len(set(axes)) != len(axes):
            raise ValueError(f"axes {tuple(axis)} name an axis twice")
        return axes
    return (axis_of(axis, rank),)


def shape_of(shape):
    """Returns a tuple of sizes from a number, a sequence of numbers, or a tensor of them."""
    if isinstance(shape, (tuple, list)):
        return tuple(integer(dim) for dim in shape)
    if isinstance(shape, (Tensor, np.ndarray, Variable)) and len(shape.shape) == 1:
        return tuple(int(dim) for dim in np.asarray(shape))
    return (integer(shape),)


def broadcast_shapes(*shapes):
    """Returns the common broadcast shape. ValueError with the shapes if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise ValueError(f"shapes {listed} do not broadcast") from None


def stack(arrays, /, axis=0):
    """Joins arrays of equal shapes along a new axis."""
    arrays = alike(arrays)
    for x in arrays[1:]:
        if x.shape != arrays[0].shape:
            raise ValueError(f"{list(arrays[0].shape)} and {list(x.shape)} do not stack")
    return stacked(arrays, axis_of(axis, arrays[0].ndim + 1))
