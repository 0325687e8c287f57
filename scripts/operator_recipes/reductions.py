# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans and sorting along axes."""

import numpy as np

from .draw import FLOATS, array, axis_of, given, ints, maybe, pick, recipe, shape, some_axes

REDUCTIONS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)


@recipe(*REDUCTIONS)
def reduction(rng, name):
    dims = shape(rng)
    types = (np.float32, np.float64, np.int32, np.int64)
    if name in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean"):
        types = types[:2]
    x = array(rng, dims, pick(rng, types), 0.1 if name == "ReduceLogSum" else -2, 3)
    axes = maybe(rng, ints(some_axes(rng, len(dims))), 0.75)
    attributes = given(
        keepdims=maybe(rng, int(rng.integers(2))),
        noop_with_empty_axes=maybe(rng, int(rng.integers(2)), 0.3),
    )
    return [x] if axes is None else [x, axes], attributes, 1


@recipe("ArgMax", "ArgMin")
def arg(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int32, np.int8, np.uint8)), -2, 2)
    return (
        [x],
        given(
            axis=maybe(rng, axis_of(rng, len(dims))),
            keepdims=maybe(rng, int(rng.integers(2))),
            select_last_index=maybe(rng, int(rng.integers(2))),
        ),
        1,
    )


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(rng, _):
    dims = shape(rng, 1, 4)
    return (
        [array(rng, dims, pick(rng, FLOATS), -5, 5)],
        given(axis=maybe(rng, axis_of(rng, len(dims)))),
        1,
    )


@recipe("CumSum", "CumProd")
def cumsum(rng, _):
    dims = shape(rng, 1)
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int32, np.int64)))
    axis = np.array(axis_of(rng, len(dims)), pick(rng, (np.int32, np.int64)))
    return (
        [x, axis],
        given(exclusive=maybe(rng, int(rng.integers(2))), reverse=maybe(rng, int(rng.integers(2)))),
        1,
    )


@recipe("TopK")
def topk(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int64, np.int32)), -50, 50)
    x = rng.permutation(x.size).reshape(dims).astype(x.dtype)  # no ties, whose order is undefined
    k = ints([rng.integers(1, dims[axis] + 1)])
    return [x, k], given(axis=axis, largest=maybe(rng, int(rng.integers(2)))), 2


@recipe("LpNormalization")
def lp_normalization(rng, _):
    dims = shape(rng, 1, 4)
    return (
        [array(rng, dims, pick(rng, (np.float32, np.float64)), 0.1, 3)],
        given(axis=maybe(rng, axis_of(rng, len(dims))), p=maybe(rng, int(rng.integers(1, 3)))),
        1,
    )
