# SPDX-License-Identifier: Apache-2.0
"""Indexing x[...] by NumPy's rules for slices, numbers, None, masks and tensors of positions."""

import builtins

import numpy as np
from keras_tartan.src._kit import T, axes_of, broadcast, ints, is_variable, op, reshaped, transposed, values_of
from tartan._tensor import Tensor


def _is_position(part):
    return isinstance(part, (Tensor, np.ndarray, list)) or is_variable(part)


def _expanded(index, ndim):
    """Returns every part of an index, with `...` and omitted dimensions expanded."""
    index = list(index) if isinstance(index, tuple) else [index]
    parts = []
    used = 0
    for part in index:
        if isinstance(part, (bool, np.bool_)):
            raise NotImplementedError("indexing by a single bool is not implemented in the tartan backend")
        if _is_position(part):
            part = T(part) if not isinstance(part, list) or part else T(np.zeros(0, "int32"))
            if part.dtype == "bool":
                found = np.nonzero(values_of(part, "indexing by a mask"))
                parts += [T(positions) for positions in found]
                used += len(found)
                continue
            if part.shape == () and not part.is_traced:
                part = int(part)
        if part is not None and part is not Ellipsis:
            used += 1
        parts.append(part)
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > ndim:
        raise IndexError(f"too many indices: the tensor has {ndim} dimensions, {used} were indexed")
    rest = [builtins.slice(None)] * (ndim - used)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    if at is None:
        return parts + rest
    return parts[:at] + rest + parts[at + 1:]


def _number(value):
    return None if value is None else int(value)


def getitem(x, index):
    x = T(x)
    starts, ends, axes, steps = [], [], [], []
    shape, gathered, axis = [], [], 0
    for part in _expanded(index, len(x.shape)):
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(part, builtins.slice):
            part = builtins.slice(_number(part.start), _number(part.stop), _number(part.step))
            begin, end, step = part.indices(size)
            count = len(range(begin, end, step))
            if (begin, count, step) != (0, size, 1):
                starts.append(begin)
                ends.append(end if end >= 0 else -size - 1)
                axes.append(axis)
                steps.append(step)
            shape.append(count)
        elif isinstance(part, Tensor):
            gathered.append((len(shape), part))
            shape.append(size)
        else:
            number = part.__index__()
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for axis {axis} with size {size}")
            starts.append(number % size)
            ends.append(number % size + 1)
            axes.append(axis)
            steps.append(1)
        axis += 1
    if axes:
        x = op("Slice", x, ints(*starts), ints(*ends), ints(*axes), ints(*steps))
    x = reshaped(x, shape)
    return _at(x, gathered) if gathered else x


def _at(x, gathered):
    """Returns the elements at positions along some axes; the positions broadcast against each other."""
    axes = [axis for axis, _ in gathered]
    positions = [part for _, part in gathered]
    if len(axes) == 1:
        return op("Gather", x, positions[0], axis=axes[0])
    shape = np.broadcast_shapes(*[part.shape for part in positions])
    rest = [a for a in axes_of(None, len(x.shape)) if a not in axes]
    stacked = [reshaped(broadcast(T(part, "int64"), shape), tuple(shape) + (1,)) for part in positions]
    indices = op("Concat", *stacked, axis=-1)
    result = op("GatherND", transposed(x, axes + rest), indices)
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return result
    # Adjacent axes: the dimensions of the positions replace the axes in place.
    n, before = len(shape), axes[0]
    order = list(range(n, n + before)) + list(range(n)) + list(range(n + before, len(result.shape)))
    return transposed(result, order)
