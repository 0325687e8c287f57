# SPDX-License-Identifier: Apache-2.0
"""The nodes of random graphs. Each function adds one node and the operands that decide its
shape, or refuses if no existing value fits."""

import math

import numpy as np
from onnx import helper, numpy_helper

from operator_recipes.draw import (
    BFLOAT16,
    array,
    axis_of,
    between,
    flip,
    ints,
    is_float,
    pick,
    some_axes,
)

from .bodies import add_body
from .builder import Refused, dim

FLOAT_FUNCTIONS = (
    "Relu", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "LeakyRelu", "Elu", "HardSigmoid",
    "Exp", "Sqrt", "Ceil", "Floor", "Round", "Reciprocal", "Selu", "Log", "Cos", "Sin", "Atan",
)  # fmt: skip
NUMBER_FUNCTIONS = ("Abs", "Neg", "Sign", "Identity")
INTEGERS_BELOW_14 = (np.int32, np.int64)  # integer types of Add, Sub, Mul, Div, Relu and others


def floats(v):
    return is_float(v)


def numbers(v):
    return v.dtype != np.bool_


def arithmetic(graph):
    """The types that Add and similar operators accept: fewer before operator set 14."""
    if graph.opset >= 14:
        return numbers
    return lambda v: (is_float(v) and v.dtype != BFLOAT16) or v.dtype in INTEGERS_BELOW_14


def finite(value):
    return bool(np.isfinite(value.astype(np.float64)).all())


def fits(value):
    """A condition for values of the same type that broadcast with this one."""

    def condition(other):
        if other.dtype != value.dtype:
            return False
        return all(a == b or 1 in (a, b) for a, b in zip(other.shape[::-1], value.shape[::-1]))

    return condition


def partner(graph, name):
    """A second operand for a value: from the graph, or a new one that broadcasts."""
    value = graph.find(name)
    if graph.rng.random() < 0.7:
        return graph.choose_array(fits(value))
    skip = graph.rng.integers(0, value.ndim + 1) if flip(graph.rng) else 0
    dims = [1 if graph.rng.random() < 0.25 else d for d in value.shape[skip:]]
    return graph.new_array(dims, value.dtype.type)


def erf(x):
    """Evaluates Erf, which the reference evaluator rounds to float32."""

    def run(find):
        value = find(x)
        made = [math.erf(v) for v in value.astype(np.float64).flat]
        return [np.array(made).reshape(value.shape).astype(value.dtype)]

    return run


def unary(graph):
    if flip(graph.rng):
        operator = pick(graph.rng, FLOAT_FUNCTIONS)
        if operator == "Round" and graph.opset < 11:
            raise Refused("no Round yet")
        x = graph.choose_array(floats)
        return graph.add(operator, [x], run=erf(x) if operator == "Erf" else None)
    return graph.add(pick(graph.rng, NUMBER_FUNCTIONS), [graph.choose_array(numbers)])


def combine(graph):
    x = graph.choose_array(arithmetic(graph))
    y = partner(graph, x)
    operator = pick(graph.rng, ("Add", "Sub", "Mul", "Div", "Max", "Min"))
    if operator in ("Max", "Min") and graph.opset < 12 and not floats(graph.find(x)):
        operator = "Add"
    if operator == "Div" and not floats(graph.find(x)) and np.any(graph.find(y) == 0):
        operator = "Mul"
    return graph.add(operator, [x, y] if flip(graph.rng) or operator == "Div" else [y, x])


def compare(graph):
    x = graph.choose_array(lambda v: numbers(v) and (graph.opset >= 11 or not floats(v)))
    operator = pick(graph.rng, ("Less", "Greater", "Equal"))
    return graph.add(operator, [x, partner(graph, x)])


def logic(graph):
    x = graph.choose_array(lambda v: v.dtype == np.bool_)
    operator = pick(graph.rng, ("And", "Or", "Xor", "Not"))
    return graph.add(operator, [x] if operator == "Not" else [x, partner(graph, x)])


def select(graph):
    c = graph.choose_array(lambda v: v.dtype == np.bool_)
    x = graph.choose_array()
    value = graph.find(x)
    np.broadcast_shapes(value.shape, graph.find(c).shape)
    return graph.add("Where", [c, x, partner(graph, x)])


def convert(graph):
    x = graph.choose_array()
    value, target = graph.find(x), np.dtype(pick(graph.rng, graph.model.types))
    if floats(value) and target.kind in "iu":
        low = 0 if target.kind == "u" else np.iinfo(target).min
        known = value.astype(np.float64)
        if not np.isfinite(known).all() or np.any((known < low) | (known > np.iinfo(target).max)):
            raise Refused("beyond the integers")
    return graph.add("Cast", [x], to=helper.np_dtype_to_tensor_dtype(target))


def clip(graph):
    x = graph.choose_array(floats if graph.opset < 12 else numbers)
    dtype = graph.find(x).dtype
    low, high = array(graph.rng, [], dtype.type, 0, 1), array(graph.rng, [], dtype.type, 1, 3)
    if graph.opset < 11:
        return graph.add("Clip", [x], min=float(low), max=float(high))
    return graph.add("Clip", [x, graph.add_input(low), graph.add_input(high)])


# --- Movement


def with_axes(graph, operator, x, axes, since, **attributes):
    if graph.opset < since:
        return graph.add(operator, [x], axes=axes, **attributes)
    return graph.add(operator, [x, graph.operand(ints(axes))], **attributes)


def reshape(graph):
    x = graph.choose_array()
    value = graph.find(x)
    rest = list(value.shape)
    graph.rng.shuffle(rest)
    while len(rest) > 1 and flip(graph.rng):
        last = rest.pop()
        rest[0] *= last
    if len(rest) < 4 and flip(graph.rng):
        rest.insert(between(graph.rng, 0, len(rest)), 1)
    if rest and value.size and graph.rng.random() < 0.4:
        rest[graph.rng.integers(len(rest))] = -1
    zero = {"allowzero": 1} if 0 in rest else {}
    if zero and graph.opset < 14:
        raise Refused("no allowzero yet")
    return graph.add("Reshape", [x, graph.operand(ints(rest))], **zero)


def transpose(graph):
    x = graph.choose_array()
    perm = [int(p) for p in graph.rng.permutation(graph.find(x).ndim)]
    return graph.add("Transpose", [x], **({"perm": perm} if perm and flip(graph.rng) else {}))


def squeeze(graph):
    x = graph.choose_array(lambda v: 1 in v.shape)
    axes = [i for i, d in enumerate(graph.find(x).shape) if d == 1]
    axes = axes[: between(graph.rng, 1, len(axes))]
    return with_axes(graph, "Squeeze", x, axes, 13)


def unsqueeze(graph):
    x = graph.choose_array(lambda v: v.ndim < 5)
    return with_axes(graph, "Unsqueeze", x, [between(graph.rng, 0, graph.find(x).ndim)], 13)


def flatten(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    return graph.add("Flatten", [x], axis=between(graph.rng, 0, graph.find(x).ndim))


def expand(graph):
    x = graph.choose_array(lambda v: v.ndim < 5)
    dims = [d if d != 1 or flip(graph.rng) else dim(graph.rng) for d in graph.find(x).shape]
    if flip(graph.rng):
        dims = [dim(graph.rng), *dims]
    return graph.add("Expand", [x, graph.operand(ints(dims))])


def tile(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    repeats = graph.rng.integers(0 if graph.rng.random() < 0.1 else 1, 4, graph.find(x).ndim)
    return graph.add("Tile", [x, graph.operand(ints(repeats))])


def slices(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    rank = graph.find(x).ndim
    axes = sorted({a % rank for a in some_axes(graph.rng, rank)} or {0})
    starts = [between(graph.rng, -4, 4) for _ in axes]
    steps = [int(graph.rng.choice([-2, -1, 1, 1, 1, 2, 3])) for _ in axes]
    # onnxruntime treats the maximum integer as open in backward slices; the standard clamps it.
    most = [2**31 - 1 if graph.opset < 10 or s > 0 else -(2**31) for s in steps]
    ends = [int(graph.rng.choice([between(graph.rng, -5, 9), m])) for m in most]
    # The standard clamps starts of backward slices to the first element; numpy returns nothing.
    sizes = [graph.find(x).shape[a] for a in axes]
    starts = [b if s > 0 else max(b, -max(d, 1)) for b, s, d in zip(starts, steps, sizes)]
    if graph.opset < 10:
        return graph.add("Slice", [x], starts=starts, ends=ends, axes=axes)
    dtype = pick(graph.rng, (np.int64, np.int32))
    return graph.add("Slice", [x, *(graph.operand(ints(v, dtype)) for v in (starts, ends, axes, steps))])


def pad(graph):
    x = graph.choose_array(lambda v: v.ndim > 0 and (floats(v) or graph.opset >= 13) and numbers(v))
    value = graph.find(x)
    pads = graph.rng.integers(0, 3, 2 * value.ndim)
    if graph.opset < 11:
        return graph.add("Pad", [x], pads=[int(p) for p in pads], value=0.5)
    filler = [graph.add_input(np.asarray(2).astype(value.dtype))] if flip(graph.rng) else []
    return graph.add("Pad", [x, graph.operand(ints(pads)), *filler])


def concat(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    value, axis = graph.find(x), axis_of(graph.rng, graph.find(x).ndim)

    def alike(v):
        if v.dtype != value.dtype or v.ndim != value.ndim:
            return False
        skip = axis % value.ndim
        return all(a == b for d, (a, b) in enumerate(zip(v.shape, value.shape)) if d != skip)

    parts = [x] + [graph.choose_array(alike) for _ in range(between(graph.rng, 1, 2))]
    return graph.add("Concat", parts, axis=axis)


def split(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    value = graph.find(x)
    axis = between(graph.rng, 0, value.ndim - 1)
    cut = between(graph.rng, 0, value.shape[axis])
    sizes = [cut, value.shape[axis] - cut]
    if graph.opset < 13:
        return graph.add("Split", [x], 2, axis=axis, split=sizes)
    return graph.add("Split", [x, graph.operand(ints(sizes))], 2, axis=axis)


def gather(graph):
    x = graph.choose_array(lambda v: v.ndim > 0)
    value = graph.find(x)
    axis = axis_of(graph.rng, value.ndim)
    size = value.shape[axis]
    if size == 0:
        raise Refused("nothing to gather")
    dims = [dim(graph.rng) for _ in range(between(graph.rng, 0, 2))]
    low = -size if graph.opset >= 11 else 0
    indices = graph.add_input(np.asarray(graph.rng.integers(low, size, dims)).astype(np.int64))
    return graph.add("Gather", [x, indices], axis=axis)


def gather_elements(graph):
    if graph.opset < 11:
        raise Refused("no GatherElements yet")
    x = graph.choose_array(lambda v: v.ndim > 0 and v.size > 0)
    value = graph.find(x)
    axis = between(graph.rng, 0, value.ndim - 1)
    dims = [between(graph.rng, 1, d) for d in value.shape]
    indices = graph.rng.integers(-value.shape[axis], value.shape[axis], dims)
    return graph.add("GatherElements", [x, graph.add_input(indices)], axis=axis)


def scatter(graph):
    if graph.opset < 11:
        raise Refused("no ScatterND yet")
    x = graph.choose_array(lambda v: v.ndim > 0 and v.size > 0)
    value = graph.find(x)
    rows = graph.rng.permutation(value.shape[0])[: between(graph.rng, 1, value.shape[0])]
    updates = graph.new_array([len(rows), *value.shape[1:]], value.dtype.type)
    return graph.add("ScatterND", [x, graph.add_input(ints(rows).reshape(-1, 1)), updates])


def of_shape(graph):
    if flip(graph.rng):
        return graph.add(pick(graph.rng, ("Shape", "Size")), [graph.choose_array()])
    dims = [dim(graph.rng) for _ in range(between(graph.rng, 0, 3))]
    value = array(graph.rng, [1], pick(graph.rng, graph.model.types))
    return graph.add("ConstantOfShape", [graph.operand(ints(dims))], value=numpy_helper.from_array(value))


def ranges(graph):
    if graph.opset < 11:
        raise Refused("no Range yet")
    values = np.array([0, between(graph.rng, 0, 7), 1])
    dtype = pick(graph.rng, (np.int64, np.int32, np.float32))
    return graph.add("Range", [graph.operand(np.asarray(v).astype(dtype)) for v in values])


def one_hot(graph):
    x = graph.choose_array(lambda v: v.dtype == np.int64 and 0 < v.ndim < 4)
    depth, values = np.array(between(graph.rng, 1, 5), np.int64), pick(graph.rng, (np.float32, np.int32))
    pair = graph.add_input(array(graph.rng, [2], values))
    return graph.add("OneHot", [x, graph.operand(depth), pair], axis=-1)


def resize(graph):
    if graph.opset < 13:
        raise Refused("other forms")
    # The evaluator multiplies elements that are not selected by 0, so they must be finite.
    x = graph.choose_array(lambda v: v.ndim > 0 and v.size and v.dtype == np.float32 and finite(v))
    sizes = [d * between(graph.rng, 1, 2) for d in graph.find(x).shape]
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return graph.add("Resize", [x, "", "", graph.operand(ints(sizes))], **how)


# --- Reductions and matmuls


def reduce(graph):
    operator = pick(graph.rng, ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare"))
    types = (np.float32, np.float64, np.float16, np.int32, np.int64)
    types = (*types, BFLOAT16) if graph.opset >= 13 else types
    x = graph.choose_array(lambda v: v.dtype in [np.dtype(t) for t in types] and v.ndim > 0)
    value = graph.find(x)
    if operator in ("Mean", "L2") and not floats(value):
        operator = "Sum"
    axes = sorted({a % value.ndim for a in some_axes(graph.rng, value.ndim)} or {0})
    if operator in ("Max", "Min", "Mean") and any(value.shape[a] == 0 for a in axes):
        raise Refused("of nothing")
    if operator in ("Max", "Min") and not finite(value):
        raise Refused("onnxruntime may drop NaN, which the evaluator and PyTorch propagate")
    since = 13 if operator == "Sum" else 18
    return with_axes(graph, f"Reduce{operator}", x, axes, since, keepdims=flip(graph.rng))


def arg(graph):
    x = graph.choose_array(lambda v: v.dtype in (np.float32, np.int32) and v.ndim > 0)
    value = graph.find(x)
    axis = between(graph.rng, 0, value.ndim - 1)
    if value.shape[axis] == 0 or not finite(value):
        raise Refused("of nothing")
    operator = pick(graph.rng, ("ArgMax", "ArgMin"))
    return graph.add(operator, [x], axis=axis, keepdims=flip(graph.rng))


def top_k(graph):
    if graph.opset < 11:
        raise Refused("other forms")
    x = graph.choose_array(lambda v: v.dtype in (np.float32, np.int64) and v.ndim > 0)
    value = graph.find(x)
    axis = axis_of(graph.rng, value.ndim)
    if value.shape[axis] == 0 or not finite(value):
        raise Refused("of nothing")
    ordered = np.sort(value, axis)
    if np.any(np.diff(ordered, axis=axis) == 0):
        raise Refused("ties")
    k = graph.operand(ints([between(graph.rng, 1, value.shape[axis])]))
    return graph.add("TopK", [x, k], 2, axis=axis, largest=flip(graph.rng))


def softmax(graph):
    if graph.opset < 13:
        raise Refused("other forms")
    x = graph.choose_array(lambda v: floats(v) and v.ndim > 0 and v.size > 0)
    operator = pick(graph.rng, ("Softmax", "LogSoftmax"))
    return graph.add(operator, [x], axis=axis_of(graph.rng, graph.find(x).ndim))


def cumulative(graph):
    if graph.opset < 14:
        raise Refused("no CumSum of all types yet")
    types = (np.float32, np.float64, np.int32, np.int64)
    x = graph.choose_array(lambda v: v.dtype in types and v.ndim > 0)
    axis = graph.operand(np.array(axis_of(graph.rng, graph.find(x).ndim), np.int64))
    return graph.add("CumSum", [x, axis], exclusive=flip(graph.rng), reverse=flip(graph.rng))


def product(graph):
    types = (np.float32, np.float64, np.float16)
    # numpy's matmul may skip 0 * infinity.
    x = graph.choose_array(lambda v: v.dtype in types and v.ndim > 0 and finite(v))
    value = graph.find(x)
    inner = value.shape[-1]
    if flip(graph.rng):
        y = graph.choose_array(
            lambda v: v.dtype == value.dtype and v.shape[:1] == (inner,) and v.ndim == 2 and finite(v)
        )
    else:
        y = graph.add_input(array(graph.rng, [inner, dim(graph.rng)], value.dtype.type))
    return graph.add("MatMul", [x, y])


def conv(graph):
    x = graph.choose_array(lambda v: v.dtype == np.float32 and v.ndim == 4 and v.size > 0)
    channels = graph.find(x).shape[1]
    kernel = [between(graph.rng, 1, 3) for _ in range(2)]
    # The standard does not define padding times an infinite weight.
    weights = graph.add_input(array(graph.rng, [between(graph.rng, 1, 5), channels, *kernel]))
    padded = [k // 2 for k in kernel] * 2
    return graph.add("Conv", [x, weights], pads=padded, kernel_shape=kernel)


# --- Sizes that depend on values, sequences


def data_dependent(graph):
    if graph.repeated:
        raise Refused("its size may differ between iterations")
    if flip(graph.rng):
        return graph.add("NonZero", [graph.choose_array(lambda v: v.ndim > 0)])
    x = graph.choose_array(lambda v: v.ndim > 0 and v.shape[0] > 0)
    mask = array(graph.rng, [graph.find(x).shape[0]], np.bool_)
    return graph.add("Compress", [x, graph.add_input(mask)], axis=0)


def sequence(graph):
    if graph.opset < 11:
        raise Refused("no sequences yet")
    x = graph.choose_array()
    value = graph.find(x)
    more = graph.choose_array(lambda v: v.dtype == value.dtype and v.ndim == value.ndim)
    return graph.add("SequenceConstruct", [x, more])


def of_sequence(graph):
    x = graph.choose(lambda v: isinstance(v, list) and len(v) > 0)
    value = graph.find(x)
    if flip(graph.rng):
        at = np.array(between(graph.rng, -len(value), len(value) - 1), np.int64)
        return graph.add("SequenceAt", [x, graph.operand(at)])
    if value[0].ndim == 0 or any(v.shape != value[0].shape for v in value):
        return graph.add("SequenceLength", [x])
    return graph.add("ConcatFromSequence", [x], axis=0, new_axis=flip(graph.rng))


NODES = (
    unary, unary, combine, combine, combine, compare, logic, select, convert, clip,
    reshape, reshape, transpose, squeeze, unsqueeze, flatten, expand, expand, tile, slices, slices,
    pad, concat, concat, split, gather, gather_elements, scatter, of_shape, ranges, one_hot, resize,
    reduce, reduce, arg, top_k, softmax, cumulative, product, conv, data_dependent, sequence,
    of_sequence,
)  # fmt: skip


def add_node(graph):
    """Tries to add a random node, and returns whether it succeeded."""
    mark = graph.mark()
    try:
        if graph.rng.random() < 0.15:
            add_body(graph, add_node)
        else:
            pick(graph.rng, NODES)(graph)
        return True
    except Exception:  # includes refusals of the evaluator: another node is drawn
        graph.return_to(mark)
        return False
