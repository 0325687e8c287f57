# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements or read shapes."""

import numpy as np
from onnx import numpy_helper

from .draw import (
    EVERYTHING,
    NUMBERS,
    Case,
    anything,
    array,
    axis_of,
    broadcastable,
    dim,
    given,
    ints,
    maybe,
    pick,
    recipe,
    shape,
    some_axes,
    typed,
)


@recipe("Transpose")
def transpose(rng, _):
    dims = shape(rng, 0, 5)
    perm = [int(p) for p in rng.permutation(len(dims))]
    return [anything(rng, dims)], given(perm=maybe(rng, perm, 0.8)), 1


@recipe("Flatten")
def flatten(rng, _):
    dims = shape(rng, 1)
    axis = int(rng.integers(-len(dims), len(dims) + 1))
    return [array(rng, dims)], given(axis=maybe(rng, axis, 0.8)), 1


@recipe("Reshape")
def reshape(rng, _):
    x = anything(rng, shape(rng))
    rest = list(x.shape)
    rng.shuffle(rest)
    if rest and 0 not in rest and rng.random() < 0.5:
        rest[rng.integers(len(rest))] = -1
    return [x, ints(rest)], {"allowzero": 1} if 0 in rest else {}, 1


@recipe("Squeeze")
def squeeze(rng, _):
    dims = [1 if rng.random() < 0.5 else dim(rng) for _ in range(rng.integers(0, 5))]
    ones = [i for i, d in enumerate(dims) if d == 1 and rng.random() < 0.7]
    axes = [i - len(dims) if rng.random() < 0.4 else i for i in ones]
    return [anything(rng, dims)] + ([ints(axes)] if axes else []), {}, 1


@recipe("Unsqueeze")
def unsqueeze(rng, _):
    dims = shape(rng, 0, 3)
    added = int(rng.integers(1, 3))
    rank = len(dims) + added
    axes = rng.permutation(rank)[:added]
    axes = [int(a) - rank if rng.random() < 0.4 else int(a) for a in axes]
    return [anything(rng, dims), ints(axes)], {}, 1


@recipe("Concat")
def concat(rng, _):
    dims = shape(rng, 1)
    axis = axis_of(rng, len(dims))
    dtype = pick(rng, EVERYTHING)
    parts = []
    for _ in range(rng.integers(1, 5)):
        dims[axis] = dim(rng)
        parts.append(array(rng, dims, dtype))
    return parts, {"axis": axis}, 1


@recipe("Split")
def split(rng, _):
    dims = shape(rng, 1)
    axis = axis_of(rng, len(dims))
    sizes = [dim(rng) for _ in range(rng.integers(1, 5))]
    dims[axis] = sum(sizes)
    x = anything(rng, dims)
    if rng.random() < 0.5:
        return [x, ints(sizes)], {"axis": axis}, len(sizes)
    return [x], {"axis": axis, "num_outputs": len(sizes)}, len(sizes)


@recipe("Slice")
def slices(rng, _):
    dims = shape(rng, 1)
    axes = some_axes(rng, len(dims)) or [0]
    dtype = pick(rng, (np.int64, np.int32))
    starts = [int(rng.integers(-9, 10)) for _ in axes]
    ends = [int(rng.choice([rng.integers(-9, 10), 2**31 - 1, -(2**31)])) for _ in axes]
    steps = [int(rng.choice([-3, -2, -1, 1, 1, 2, 3])) for _ in axes]
    x = anything(rng, dims)
    return [x] + [ints(v, dtype) for v in (starts, ends, axes, steps)], {}, 1


@recipe("Pad")
def pad(rng, _):
    mode = pick(rng, ("constant", "edge", "reflect", "wrap"))
    dims = shape(rng, 1, 4, zero=mode == "constant")
    most = min(dims) if mode != "constant" else 4
    low = 0 if mode != "constant" else -1
    x = array(rng, dims, pick(rng, NUMBERS))
    axes = maybe(rng, some_axes(rng, len(dims)), 0.3)
    count = len(dims) if axes is None else len(axes)
    pads = [int(p) for p in rng.integers(low, max(most, 1), 2 * count)]
    value = maybe(rng, typed(2, x))
    oracle = (
        "onnxruntime" if min(pads, default=0) < 0 else "onnx"
    )  # the evaluator does not crop
    operands = [x, ints(pads), value] + ([] if axes is None else [ints(axes)])
    while operands[-1] is None:
        operands.pop()
    return Case(operands, {"mode": mode}, opset=18 if oracle != "onnx" else None, oracle=oracle)


@recipe("Tile")
def tile(rng, _):
    dims = shape(rng)
    return [anything(rng, dims), ints(rng.integers(0, 4, len(dims)))], {}, 1


@recipe("Expand")
def expand(rng, _):
    first, second = broadcastable(rng, 2)
    return [anything(rng, first), ints(second)], {}, 1


@recipe("Trilu")
def trilu(rng, _):
    k = maybe(rng, np.array(rng.integers(-4, 5), np.int64), 0.8)
    x = array(rng, shape(rng, 2), pick(rng, EVERYTHING))
    return [x] if k is None else [x, k], given(upper=maybe(rng, int(rng.integers(2)))), 1


@recipe("DepthToSpace")
def depth_to_space(rng, _):
    n, c, h, w = (dim(rng) for _ in range(4))
    block = int(rng.integers(1, 4))
    return (
        [array(rng, [n, c * block * block, h, w])],
        given(blocksize=block, mode=maybe(rng, pick(rng, ("DCR", "CRD")))),
        1,
    )


@recipe("SpaceToDepth")
def space_to_depth(rng, _):
    n, c, h, w = (dim(rng) for _ in range(4))
    block = int(rng.integers(1, 4))
    return [array(rng, [n, c, h * block, w * block])], {"blocksize": block}, 1


@recipe("ReverseSequence")
def reverse_sequence(rng, _):
    batch = int(rng.integers(2))
    dims = [dim(rng, False), dim(rng, False)] + shape(rng, 0, 2)
    lengths = rng.integers(1, dims[1 - batch] + 1, dims[batch])
    return [array(rng, dims), ints(lengths)], {"batch_axis": batch, "time_axis": 1 - batch}, 1


@recipe("EyeLike")
def eye_like(rng, _):
    x = array(rng, [dim(rng), dim(rng)], pick(rng, (np.float32, np.int64, np.int32)))
    return [x], given(k=maybe(rng, int(rng.integers(-4, 5)))), 1


@recipe("Range")
def ranges(rng, _):
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64, np.int16))
    step = rng.choice([-3, -1, 1, 2])
    return (
        [np.array(v).astype(dtype) for v in (rng.integers(-9, 9), rng.integers(-9, 9), step)],
        {},
        1,
    )


@recipe("OneHot")
def one_hot(rng, _):
    dims = shape(rng, 0, 3)
    depth = int(rng.integers(1, 6))
    x = array(rng, dims, pick(rng, (np.int64, np.int32, np.float32)), -depth, depth - 1)
    x = np.trunc(x).astype(x.dtype)
    values = array(rng, [2], pick(rng, (np.float32, np.int32, np.int64)))
    axis = int(rng.integers(-len(dims) - 1, len(dims) + 1))
    return [x, np.array(depth, np.int64), values], given(axis=maybe(rng, axis, 0.8)), 1


@recipe("Shape", "Size")
def shapes(rng, name):
    x = anything(rng, shape(rng))
    if name == "Size":
        return [x], {}, 1
    # Below -rank the evaluator wraps around.
    start, end = (int(v) for v in rng.integers(-x.ndim, 6, 2))
    return [x], given(start=maybe(rng, start), end=maybe(rng, end)), 1


@recipe("Constant", "ConstantOfShape")
def constant(rng, name):
    x = array(rng, shape(rng) if name == "Constant" else [1], pick(rng, EVERYTHING))
    value = numpy_helper.from_array(x)
    if name == "ConstantOfShape":
        return [ints(shape(rng))], given(value=maybe(rng, value, 0.8)), 1
    form = rng.random()
    if form < 0.6:
        return [], {"value": value}, 1
    if form < 0.8:
        return [], pick(rng, ({"value_float": 0.5}, {"value_int": 7}, {"value_string": "word"})), 1
    return (
        [],
        pick(
            rng,
            ({"value_floats": [0.5, 2.0]}, {"value_ints": [7, 8]}, {"value_strings": ["a", ""]}),
        ),
        1,
    )
