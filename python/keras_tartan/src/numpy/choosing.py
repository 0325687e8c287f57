# SPDX-License-Identifier: Apache-2.0
"""Selection of elements by conditions and positions."""

import builtins

import numpy as np
from keras_tartan.src._kit import T, broadcast, like, one, op, reshaped, transposed
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.numpy.arithmetic import floor_divide, mod, where
from keras_tartan.src.numpy.filled import _shape
from keras_tartan.src.numpy.reductions import sum
from keras_tartan.src.numpy.shapes import expand_dims, pad, ravel
from tartan import _dtypes
from keras_tartan.src._type import constant_array


def take(x, indices, axis=None):
    x = T(x)
    indices = T(indices)
    if not _dtypes.is_integer(indices.dtype) or indices.dtype not in ("int32", "int64"):
        indices = cast(indices, "int32" if indices.dtype != "uint32" else "int64")
    if axis is None:
        x, axis = ravel(x), 0
    return op("Gather", x, indices, axis=one(axis, len(x.shape)))


def take_along_axis(x, indices, axis=None):
    x = T(x)
    indices = T(indices, "int64")
    if axis is None:
        x, indices, axis = ravel(x), ravel(indices), 0
    axis = one(axis, len(x.shape))
    dims = np.broadcast_shapes(*[s[:axis] + (1,) + s[axis + 1:] for s in (tuple(x.shape), tuple(indices.shape))])
    x = broadcast(x, dims[:axis] + (x.shape[axis],) + dims[axis + 1:])
    indices = broadcast(indices, dims[:axis] + (indices.shape[axis],) + dims[axis + 1:])
    return op("GatherElements", x, indices, axis=axis)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = T(x)
    n = len(x.shape)
    axis1, axis2 = one(axis1, n), one(axis2, n)
    rest = [a for a in range(n) if a not in (axis1, axis2)]
    x = transposed(x, rest + [axis1, axis2])
    rows, columns = x.shape[-2:]
    row, column = builtins.max(0, -offset), builtins.max(0, offset)
    count = builtins.max(0, builtins.min(rows - row, columns - column))
    flat = reshaped(x, list(x.shape[:-2]) + [rows * columns])
    at = (row + np.arange(count)) * columns + column + np.arange(count)
    return op("Gather", flat, constant_array(at.astype("int64")), axis=len(rest))


def diag(x, k=0):
    x = T(x)
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        raise ValueError(f"diag takes a tensor of one or two dimensions. Received: shape={x.shape}")
    n = x.shape[0] + builtins.abs(k)
    shown = pad(x, [(builtins.max(0, -k), builtins.max(0, k))]) if k else x
    rows = expand_dims(shown if k < 0 else (pad(x, [(0, k)]) if k else x), 1)
    mask = np.eye(n, k=k, dtype=bool)
    return where(from_array(mask), broadcast(rows, (n, n)), like(0, x))


def diagflat(x, k=0):
    return diag(ravel(x), k)


def trace(x, offset=0, axis1=0, axis2=1):
    return sum(diagonal(x, offset, axis1, axis2), -1)


def _triangle(upper):
    def function(x, k=0):
        x = T(x)
        mask = np.tri(x.shape[-2], x.shape[-1], k - 1 if upper else k, dtype=bool)
        return op("Where", from_array(~mask if upper else mask), x, like(0, x))

    return function


tril, triu = _triangle(False), _triangle(True)


def unravel_index(indices, shape):
    indices = T(indices)
    results = []
    for dim in reversed(_shape(shape)):
        results.append(mod(indices, T(dim, indices.dtype)))
        indices = floor_divide(indices, T(dim, indices.dtype))
    return tuple(reversed(results))
