# SPDX-License-Identifier: Apache-2.0
"""Selection of elements by conditions and positions."""

import builtins

import numpy as np
from keras_tartan.src._kit import T, adapted, broadcast, like, ours
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.numpy.elementwise import floor_divide, mod, where
from keras_tartan.src.numpy.filled import _shape
from keras_tartan.src.numpy.shapes import expand_dims, moveaxis, pad, ravel
from tartan import _dtypes, _manipulation, _matmul, _selection


def _positions(indices):
    indices = T(indices)
    return indices if _dtypes.is_integer(indices.dtype) else cast(indices, "int32")


def take(x, indices, axis=None):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    return ours(_selection.take(x, _positions(indices), axis=axis))


def take_along_axis(x, indices, axis=None):
    x, indices = T(x), _positions(indices)
    if axis is None:
        x, indices, axis = ravel(x), ravel(indices), 0
    return ours(_selection.take_along_axis(x, indices, axis=axis))


def diagonal(x, offset=0, axis1=0, axis2=1):
    return ours(_matmul.diagonal(moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset))


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
    return ours(_matmul.trace(moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset))


tril, triu = adapted(_manipulation.tril), adapted(_manipulation.triu)


def unravel_index(indices, shape):
    indices = T(indices)
    results = []
    for dim in reversed(_shape(shape)):
        results.append(mod(indices, T(dim, indices.dtype)))
        indices = floor_divide(indices, T(dim, indices.dtype))
    return tuple(reversed(results))
