# SPDX-License-Identifier: Apache-2.0
"""Sequences and optionals."""

import numpy as np
from onnx import helper

from .draw import (
    Case,
    array,
    axis_of,
    between,
    dim,
    flip,
    given,
    maybe,
    pick,
    recipe,
    shape,
    trimmed,
)

TYPES = (np.float32, np.float64, np.float16, np.int8, np.int32, np.int64, np.uint8, np.bool_)


def tensors(rng, least=1, most=4, dtype=None):
    dtype = dtype or pick(rng, TYPES)
    return [array(rng, shape(rng, 0, 3), dtype) for _ in range(between(rng, least, most))]


def place(rng, count):
    """A position among `count`, from the front or the back."""
    return np.array(between(rng, -count, count - 1), pick(rng, (np.int32, np.int64)))


@recipe("SequenceConstruct")
def construct(rng, _):
    return tensors(rng), {}, 1


@recipe("SequenceAt")
def at(rng, _):
    values = tensors(rng)
    return [values, place(rng, len(values))], {}, 1


@recipe("SequenceLength")
def length(rng, _):
    return [tensors(rng)], {}, 1


@recipe("SequenceErase")
def erase(rng, _):
    values = tensors(rng, 2)
    return trimmed(values, maybe(rng, place(rng, len(values)), 0.8)), {}, 1


@recipe("SequenceInsert")
def insert(rng, _):
    dtype = pick(rng, TYPES)
    values = tensors(rng, dtype=dtype)
    # If the position equals the length, the evaluator inserts at the front.
    where = np.array(between(rng, -len(values), len(values) - 1), np.int64)
    return trimmed(values, array(rng, shape(rng, 0, 3), dtype), maybe(rng, where, 0.8)), {}, 1


@recipe("SequenceEmpty")
def empty(rng, _):
    """An empty sequence, and an element inserted into it."""
    dtype = pick(rng, TYPES)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    values = tensors(rng, 1, 3, dtype)
    nodes = [
        helper.make_node(
            "SequenceEmpty",
            [],
            ["s0"],
            **({} if dtype == np.float32 and flip(rng) else {"dtype": kind}),
        )
    ]
    for i in range(len(values)):
        result = "y0" if i + 1 == len(values) else f"s{i + 1}"
        nodes.append(helper.make_node("SequenceInsert", [f"s{i}", f"x{i}"], [result]))
    return Case(values, nodes=nodes)


@recipe("SequenceMap")
def sequence_map(rng, _):
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    rank = between(rng, 0, 3)
    values = [array(rng, shape(rng, rank, rank), dtype) for _ in range(between(rng, 1, 4))]
    other = array(rng, [], dtype)
    operator = pick(rng, ("Add", "Sub", "Mul"))
    names = [None] * rank
    body = helper.make_graph(
        [helper.make_node(operator, ["element", "extra"], ["result"])],
        "body",
        [
            helper.make_tensor_value_info("element", kind, names),
            helper.make_tensor_value_info("extra", kind, []),
        ],
        [helper.make_tensor_value_info("result", kind, names)],
    )
    return [values, other], {"body": body}, 1


@recipe("SplitToSequence")
def split_to_sequence(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    split = None
    kind = pick(rng, (np.int32, np.int64))
    form = rng.random()
    if form < 0.4:
        split = np.array(between(rng, 1, dims[axis] + 1), kind)
    elif form < 0.7:
        sizes = [between(rng, 0, 3) for _ in range(between(rng, 1, 4))]
        dims[axis] = sum(sizes)
        split = np.array(sizes, kind)
    keep = maybe(rng, flip(rng)) if split is None else None
    x = array(rng, dims, pick(rng, TYPES))
    return trimmed(x, split), given(axis=axis, keepdims=keep), 1


@recipe("ConcatFromSequence")
def concat_from_sequence(rng, _):
    dims = shape(rng, 1, 4)
    new_axis = flip(rng)
    axis = int(rng.integers(-len(dims) - new_axis, len(dims) + new_axis))
    dtype = pick(rng, TYPES)
    parts = []
    for _ in range(between(rng, 1, 4)):
        if not new_axis:
            dims[axis] = dim(rng)
        parts.append(array(rng, dims, dtype))
    return [parts], {"axis": axis, **({"new_axis": 1} if new_axis else {})}, 1


@recipe("Optional", "OptionalGetElement", "OptionalHasElement")
def optional(rng, name):
    """Creates an optional and reads it: in the evaluator graphs cannot end with one."""
    if name == "OptionalHasElement" and rng.random() < 0.2:
        return Case([], nodes=[helper.make_node(name, [], ["y0"])])
    value = tensors(rng) if rng.random() < 0.5 else array(rng, shape(rng), pick(rng, TYPES))
    if name != "Optional" and rng.random() < 0.5:  # since 18 also for the value without an optional
        return [value], {}, 1
    last = pick(rng, ("OptionalGetElement", "OptionalHasElement")) if name == "Optional" else name
    return Case(
        [value],
        nodes=[helper.make_node("Optional", ["x0"], ["o"]), helper.make_node(last, ["o"], ["y0"])],
    )
