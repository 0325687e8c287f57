# SPDX-License-Identifier: Apache-2.0
"""Functions that rearrange elements."""

import numpy as np
from keras_tartan.src._kit import T, adapted, broadcast, common, is_exported, is_float, one, op, ours, reshaped, values_of
from keras_tartan.src._type import constant_array, from_numpy
from keras_tartan.src._values import _known_dtype
from keras_tartan.src.numpy.filled import _shape
from tartan import _dtypes, _selection
from tartan import _manipulation as _m
from tartan._onnx_types import NUMBERS

ravel, transpose, swapaxes, squeeze, flip = map(adapted, (_m.ravel, _m.transpose, _m.swapaxes, _m.squeeze, _m.flip))
roll, split, array_split = map(adapted, (_m.roll, _m.split, _m.array_split))


def expand_dims(x, axis):
    return ours(_m.expand_dims(T(x), axis))


def reshape(x, newshape):
    return ours(_m.reshape(T(x), _shape(newshape)))


def ndim(x):
    return len(T(x).shape)


def size(x):
    return T(x).size


def moveaxis(x, source, destination):
    return ours(_m.moveaxis(T(x), source, destination))


def broadcast_to(x, shape):
    return ours(_m.broadcast_to(T(x), _shape(shape)))


def concatenate(xs, axis=0):
    return ours(_m.concat(common(*xs), axis))


def append(x1, x2, axis=None):
    return concatenate([x1, x2], axis=axis)


def stack(x, axis=0):
    return ours(_m.stack(common(*x), axis))


def _at_least(x, n):
    x = T(x)
    if n == 1:
        return reshaped(x, (1,)) if not x.shape else x
    if n == 2:
        return reshaped(x, (1, -1)) if len(x.shape) < 2 else x
    return reshaped(x, {0: (1, 1, 1), 1: (1, -1, 1), 2: tuple(x.shape) + (1,)}.get(len(x.shape), x.shape))


def hstack(xs):
    xs = [_at_least(x, 1) for x in xs]
    return concatenate(xs, axis=0 if len(xs[0].shape) == 1 else 1)


def vstack(xs):
    return concatenate([_at_least(x, 2) for x in xs], axis=0)


def dstack(xs):
    return concatenate([_at_least(x, 3) for x in xs], axis=2)


def hsplit(x, indices_or_sections):
    x = T(x)
    return split(x, indices_or_sections, axis=0 if len(x.shape) == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=2)


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    x = T(array)
    if len(x.shape) < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={len(x.shape)}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    for _ in range(k % 4):
        x = flip(swapaxes(x, *axes), axes[0])
    return x


def tile(x, repeats):
    return ours(_m.tile(T(x), values_of(repeats, "tile").reshape(-1)))


def repeat(x, repeats, axis=None):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one(axis, len(x.shape))
    counts = values_of(repeats, "repeat").reshape(-1)
    if is_exported() and len(counts) == 1 and is_float(x) and len(x.shape) > 2:  # for any size
        scales = [float(counts[0]) if a == axis else 1.0 for a in range(len(x.shape))]
        return op("Resize", x, None, constant_array(np.array(scales, "float32")), mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if is_exported() and len(counts) == 1:
        count, shape = int(counts[0]), tuple(x.shape)
        parts = broadcast(expand_dims(x, axis + 1), shape[:axis + 1] + (count,) + shape[axis + 1:])
        return reshaped(parts, shape[:axis] + (shape[axis] * count,) + shape[axis + 1:])
    return ours(_selection.repeat(x, counts, axis=axis))


def pad(x, pad_width, mode="constant", constant_values=None):
    x = T(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when `mode == 'constant'`. "
                         f"Received: mode={mode}")
    widths = np.broadcast_to(values_of(pad_width, "pad"), (len(x.shape), 2)).astype("int64")
    if mode == "constant":
        value = T(0 if constant_values is None else constant_values, x.dtype)
        return op("Pad", x, constant_array(np.concatenate([widths[:, 0], widths[:, 1]])), value, mode="constant")
    return ours(_selection.pad(x, widths, mode))


def view(x, dtype=None):
    x = T(x)
    dtype = _known_dtype(dtype) if dtype is not None else x.dtype
    if dtype not in _dtypes.BITS:
        raise NotImplementedError(f"view as {dtype} is not implemented in the tartan backend")
    if dtype == x.dtype:
        return x
    if _dtypes.BITS[dtype] == _dtypes.BITS[x.dtype] and "bool" not in (dtype, x.dtype):
        return op("BitCast", x, to=NUMBERS[dtype])
    return from_numpy(values_of(x, "view").view(_dtypes.numpy_dtype(dtype)))
