# SPDX-License-Identifier: Apache-2.0
"""Slices and pieces of tensors."""

import builtins

from keras_tartan.src import numpy as knp
from keras_tartan.src._errors import named
from keras_tartan.src._values import _is_traced, cast, convert_to_tensor
from tartan._call import axis_of
from tartan._tensor import operator


def scatter(indices, values, shape):
    values = convert_to_tensor(values)
    zeros = knp.zeros(shape, values.dtype)
    return scatter_update(zeros, indices, values, reduction="add")


_REDUCTIONS = (None, "add", "max", "min", "mul")


def scatter_update(inputs, indices, updates, reduction=None):
    if reduction not in _REDUCTIONS:
        raise ValueError(f"Unsupported reduction: {reduction}")
    inputs = convert_to_tensor(inputs)
    indices = convert_to_tensor(indices, "int64")
    updates = convert_to_tensor(updates, inputs.dtype)
    wanted = indices.shape[:-1] + inputs.shape[indices.shape[-1]:]
    if updates.shape != wanted:
        updates = knp.broadcast_to(updates, wanted)
    return operator("ScatterND", [inputs, indices, updates], reduction=reduction or "none")


def slice(inputs, start_indices, shape):
    inputs = convert_to_tensor(inputs)
    if len(start_indices) != len(shape):
        raise ValueError("Length of `start_indices` must match length of `shape`. "
                         f"Received: start_indices={start_indices}, shape={shape}")
    for axis, (start, size) in enumerate(zip(start_indices, shape)):
        if _is_traced(start):
            at = knp.add(knp.arange(size, dtype="int32"), cast(start, "int32"))
            inputs = operator("Gather", [inputs, at], axis=axis)
        else:
            start = int(start)
            if start == 0 and size == inputs.shape[axis]:
                continue
            inputs = inputs[(builtins.slice(None),) * axis + (builtins.slice(start, start + int(size)),)]
    return inputs


def slice_update(inputs, start_indices, updates):
    inputs = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, inputs.dtype)
    if len(updates.shape) != len(inputs.shape) or builtins.any(n > m for n, m in zip(updates.shape, inputs.shape)):
        raise ValueError(f"updates of shape {list(updates.shape)} do not fit into {list(inputs.shape)}")
    grids = []
    for axis, start in enumerate(start_indices):
        at = knp.add(knp.arange(updates.shape[axis], dtype="int32"), convert_to_tensor(start, "int32"))
        dims = [1] * len(updates.shape) + [1]
        dims[axis] = updates.shape[axis]
        grids.append(knp.broadcast_to(knp.reshape(at, dims), tuple(updates.shape) + (1,)))
    indices = cast(knp.concatenate(grids, axis=-1), "int64")
    return operator("ScatterND", [inputs, indices, updates])


def unstack(x, num=None, axis=0):
    x = convert_to_tensor(x)
    axis = axis_of(axis, len(x.shape))
    return [x[(builtins.slice(None),) * axis + (i,)] for i in range(num or x.shape[axis])]


scatter, scatter_update, slice, slice_update, unstack = (
    named(function.__name__, function) for function in (scatter, scatter_update, slice, slice_update, unstack))
