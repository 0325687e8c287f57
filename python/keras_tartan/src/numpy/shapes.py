# SPDX-License-Identifier: Apache-2.0
"""Functions that rearrange elements."""

import builtins

import numpy as np
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.backend_utils import canonicalize_axis, to_tuple_or_list
from keras_tartan.src import _index
from keras_tartan.src._kit import (T, axes_of, broadcast, common, ints, is_exported, is_float, one, op, reshaped,
                                   transposed, values_of)
from keras_tartan.src.numpy.filled import _shape
from tartan import _dtypes
from keras_tartan.src._type import constant_array, from_numpy


def reshape(x, newshape):
    if not isinstance(newshape, (tuple, list)):
        newshape = [newshape] if isinstance(newshape, int) else np.atleast_1d(values_of(newshape, "a shape")).tolist()
    return reshaped(T(x), newshape)


def ravel(x):
    return reshaped(T(x), (-1,))


def ndim(x):
    return len(T(x).shape)


def size(x):
    return T(x).size


def transpose(x, axes=None):
    x = T(x)
    return transposed(x, axes if axes is not None else list(range(len(x.shape)))[::-1])


def swapaxes(x, axis1, axis2):
    x = T(x)
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transposed(x, order)


def moveaxis(x, source, destination):
    x = T(x)
    n = len(x.shape)
    source, destination = axes_of(source, n), axes_of(destination, n)
    order = [a for a in range(n) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transposed(x, order)


def expand_dims(x, axis):
    x = T(x)
    axes = to_tuple_or_list(axis)
    n = len(x.shape) + len(axes)
    axes = [canonicalize_axis(a, n) for a in axes]
    dims = iter(x.shape)
    return reshaped(x, [1 if a in axes else next(dims) for a in range(n)])


def squeeze(x, axis=None):
    x = T(x)
    axes = [a for a, d in enumerate(x.shape) if d == 1] if axis is None else axes_of(axis, len(x.shape))
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"Cannot squeeze axis {a} of a tensor of shape {x.shape}: its size is not 1")
    return reshaped(x, [d for a, d in enumerate(x.shape) if a not in axes])


def broadcast_to(x, shape):
    return broadcast(T(x), _shape(shape))


def concatenate(xs, axis=0):
    xs = common(*xs)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return op("Concat", *xs, axis=int(axis))


def append(x1, x2, axis=None):
    return concatenate([x1, x2], axis=axis)


def stack(x, axis=0):
    xs = common(*x)
    return concatenate([expand_dims(part, axis) for part in xs], axis=axis)


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


def _pieces(x, ends, axis):
    results, begin = [], 0
    for end in list(ends) + [x.shape[axis]]:
        at = (builtins.slice(None),) * axis + (builtins.slice(begin, builtins.max(end, begin)),)
        results.append(_index.getitem(x, at))
        begin = end
    return results


def split(x, indices_or_sections, axis=0):
    x = T(x)
    axis = one(axis, len(x.shape))
    if not isinstance(indices_or_sections, int):
        return _pieces(x, [int(i) for i in values_of(indices_or_sections, "split")], axis)
    if x.shape[axis] % indices_or_sections:
        raise ValueError(f"array split does not result in an equal division: {x.shape[axis]} elements in "
                         f"{indices_or_sections} sections")
    part = x.shape[axis] // indices_or_sections
    return _pieces(x, [part * i for i in range(1, indices_or_sections)], axis)


def array_split(x, indices_or_sections, axis=0):
    x = T(x)
    axis = one(axis, len(x.shape))
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    part, more = divmod(x.shape[axis], indices_or_sections)
    sizes = [part + (i < more) for i in range(indices_or_sections)]
    return _pieces(x, np.cumsum(sizes)[:-1].tolist(), axis)


def hsplit(x, indices_or_sections):
    x = T(x)
    return split(x, indices_or_sections, axis=0 if len(x.shape) == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=2)


def flip(x, axis=None):
    x = T(x)
    axes = axes_of(axis, len(x.shape))
    at = [builtins.slice(None)] * len(x.shape)
    for a in axes:
        at[a] = builtins.slice(None, None, -1)
    return _index.getitem(x, tuple(at))


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


def roll(x, shift, axis=None):
    x = T(x)
    if axis is None:
        return reshaped(roll(ravel(x), shift, 0), x.shape)
    axes = axes_of(axis, len(x.shape))
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    for a, s in zip(axes, shifts):
        n = x.shape[a]
        s = int(s) % n if n else 0
        if s:
            begin, end = _pieces(x, [n - s], a)
            x = concatenate([end, begin], axis=a)
    return x


def tile(x, repeats):
    x = T(x)
    repeats = [repeats] if isinstance(repeats, int) else list(np.atleast_1d(values_of(repeats, "tile")))
    n = builtins.max(len(repeats), len(x.shape))
    x = reshaped(x, (1,) * (n - len(x.shape)) + tuple(x.shape))
    return op("Tile", x, ints(*([1] * (n - len(repeats)) + [int(r) for r in repeats])))


def repeat(x, repeats, axis=None):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one(axis, len(x.shape))
    counts = np.atleast_1d(values_of(repeats, "repeat"))
    if is_exported() and len(counts) == 1 and is_float(x) and len(x.shape) > 2:  # for any size
        scales = [float(counts[0]) if a == axis else 1.0 for a in range(len(x.shape))]
        return op("Resize", x, None, constant_array(np.array(scales, "float32")), mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if is_exported() and len(counts) == 1:
        count, shape = int(counts[0]), tuple(x.shape)
        parts = broadcast(expand_dims(x, axis + 1), shape[:axis + 1] + (count,) + shape[axis + 1:])
        return reshaped(parts, shape[:axis] + (shape[axis] * count,) + shape[axis + 1:])
    at = np.repeat(np.arange(x.shape[axis]), counts if len(counts) > 1 else int(counts[0]))
    return op("Gather", x, constant_array(at.astype("int64")), axis=axis)


def pad(x, pad_width, mode="constant", constant_values=None):
    x = T(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when `mode == 'constant'`. "
                         f"Received: mode={mode}")
    widths = np.broadcast_to(values_of(pad_width, "pad"), (len(x.shape), 2)).astype("int64")
    if mode == "constant":
        value = T(0 if constant_values is None else constant_values, x.dtype)
        return op("Pad", x, constant_array(np.concatenate([widths[:, 0], widths[:, 1]])), value, mode="constant")
    for axis, (before, after) in enumerate(widths.tolist()):
        if before or after:
            at = np.pad(np.arange(x.shape[axis]), (before, after), mode)
            x = op("Gather", x, constant_array(at), axis=axis)
    return x


def view(x, dtype=None):
    from tartan._onnx_types import NUMBERS

    x = T(x)
    dtype = _dtypes.ALL[standardize_dtype(dtype)] if dtype is not None else x.dtype
    if dtype == x.dtype:
        return x
    if _dtypes.BITS[dtype] == _dtypes.BITS[x.dtype] and "bool" not in (dtype, x.dtype):
        return op("BitCast", x, to=NUMBERS[dtype])
    return from_numpy(values_of(x, "view").view(_dtypes.numpy_dtype(dtype)))
