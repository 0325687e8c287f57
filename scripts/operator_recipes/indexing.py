# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and selection."""

import numpy as np

from .draw import (
    Case,
    anything,
    array,
    axis_of,
    dim,
    given,
    maybe,
    pick,
    recipe,
    shape,
)


def positions(rng, dims, size, dtype=np.int64):
    return rng.integers(-size, size, tuple(dims)).astype(dtype)


@recipe("Gather")
def gather(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    index = positions(rng, shape(rng, 0, 3), dims[axis], pick(rng, (np.int64, np.int32)))
    return [anything(rng, dims), index], {"axis": axis}, 1


@recipe("GatherElements")
def gather_elements(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    taken = list(dims)  # the evaluator requires equal sizes in the other dimensions
    taken[axis] = dim(rng)
    return [anything(rng, dims), positions(rng, taken, dims[axis])], {"axis": axis}, 1


@recipe("GatherND")
def gather_nd(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    batch = int(rng.integers(0, len(dims)))
    depth = int(rng.integers(1, len(dims) - batch + 1))
    lead = dims[:batch] + shape(rng, 0, 2, zero=False)
    index = np.stack([positions(rng, lead, dims[batch + i]) for i in range(depth)], axis=-1)
    return [anything(rng, dims), index], {"batch_dims": batch}, 1


@recipe("ScatterElements")
def scatter_elements(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    put = [int(rng.integers(1, d + 1)) for d in dims]
    mode = pick(rng, ("none", "add", "mul", "max", "min"))
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    index = (
        np.argsort(rng.random(put), axis=axis)
        if mode == "none"
        else positions(rng, put, dims[axis])
    )
    return (
        [array(rng, dims, dtype), index.astype(np.int64), array(rng, put, dtype)],
        {"axis": axis, "reduction": mode},
        1,
    )


@recipe("ScatterND")
def scatter_nd(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    depth = int(rng.integers(1, len(dims) + 1))
    mode = pick(rng, ("none", "add", "mul", "max", "min"))
    space = int(np.prod(dims[:depth]))
    count = int(rng.integers(0, min(space, 6) + 1))
    flat = rng.permutation(space)[:count] if mode == "none" else rng.integers(0, space, count)
    index = np.stack(np.unravel_index(flat, dims[:depth]), axis=-1).astype(np.int64)
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    return (
        [array(rng, dims, dtype), index, array(rng, [count] + dims[depth:], dtype)],
        {"reduction": mode},
        1,
    )


@recipe("Compress")
def compress(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = maybe(rng, axis_of(rng, len(dims)))
    size = int(np.prod(dims)) if axis is None else dims[axis]
    return (
        [anything(rng, dims), rng.random(int(rng.integers(1, size + 1))) < 0.5],
        given(axis=axis),
        1,
    )


@recipe("NonZero")
def non_zero(rng, _):
    return (
        [array(rng, shape(rng, 1), pick(rng, (np.float32, np.int64, np.bool_, np.int32)), -1, 1)],
        {},
        1,
    )


@recipe("Unique")
def unique(rng, _):
    dims = shape(rng, 1, 3, zero=False)
    x = array(rng, dims, pick(rng, (np.float32, np.int64, np.int8)), -2, 2)
    x = np.round(x).astype(x.dtype) + x.dtype.type(0)
    return (
        [x],
        given(axis=maybe(rng, axis_of(rng, len(dims))), sorted=maybe(rng, int(rng.integers(2)))),
        4,
    )


@recipe("Scatter")
def scatter(rng, _):
    """The name of ScatterElements before operator set 11."""
    sizes = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(sizes))
    put = [int(rng.integers(1, d + 1)) for d in sizes]
    index = np.argsort(rng.random(put), axis=axis) % sizes[axis]
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    return Case(
        [array(rng, sizes, dtype), index.astype(np.int64), array(rng, put, dtype)],
        {"axis": axis},
        opset=9,
        oracle="onnxruntime",
    )
