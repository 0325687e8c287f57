"""What is random of each operator, for compare_operators.py: a function of a random generator that
gives operands (None for one left out), attributes and the number of outputs."""

import numpy as np

FLOATS = (np.float32, np.float32, np.float64, np.float16)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = FLOATS + INTEGERS
EVERYTHING = NUMBERS + (np.bool_,)

RECIPES = {}


def recipe(*names):
    def register(function):
        for name in names:
            RECIPES[name] = lambda rng, name=name: function(rng, name)
        return function

    return register


# --- Sizes and elements


def dim(rng, zero=True):
    return int(rng.choice([0 if zero else 1, 1, 1, 2, 3, 4, 5, 7], p=[0.03, 0.1, 0.1] + [0.154] * 5))


def shape(rng, least=0, most=4, zero=True):
    return [dim(rng, zero) for _ in range(rng.integers(least, most + 1))]


def pick(rng, values):
    return values[rng.integers(len(values))]


def maybe(rng, value, chance=0.5):
    return value if rng.random() < chance else None


def given(**attributes):
    """Those that are not None."""
    return {name: value for name, value in attributes.items() if value is not None}


def array(rng, dims, dtype=np.float32, low=-3.0, high=3.0):
    dims = tuple(dims)
    if dtype == np.bool_:
        return rng.random(dims) < 0.5
    if np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        low, high = max(int(low), bounds.min), min(int(high), bounds.max)
        return rng.integers(low, high, dims, endpoint=True).astype(dtype)
    return rng.uniform(low, high, dims).astype(dtype)


def strange(rng, values):
    """Now and then some elements are NaN, infinite or zero."""
    if values.size and values.dtype.kind == "f" and rng.random() < 0.2:
        places = rng.random(values.shape) < 0.3
        values = np.where(places, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], values.shape), values)
    return values


def typed(values, like):
    return np.asarray(values).astype(like.dtype)


def ints(values, dtype=np.int64):
    return np.array(values, dtype=dtype)


def broadcastable(rng, count, most=4):
    """Shapes that broadcast together."""
    whole = shape(rng, 0, most)
    shapes = []
    for _ in range(count):
        skip = rng.integers(0, len(whole) + 1) if rng.random() < 0.4 else 0
        shapes.append([1 if rng.random() < 0.25 else d for d in whole[skip:]])
    return shapes


def axis_of(rng, rank):
    return int(rng.integers(-rank, rank))


def some_axes(rng, rank):
    axes = [int(a) for a in np.flatnonzero(rng.random(rank) < 0.5)]
    rng.shuffle(axes)
    return [a - rank if rng.random() < 0.3 else a for a in axes]


# --- Elementwise

UNARY = {  # operator: (types, low, high)
    "Abs": (NUMBERS, -9, 9), "Neg": (FLOATS + INTEGERS[:4], -9, 9), "Sign": (NUMBERS, -3, 3),
    "Ceil": (FLOATS, -4, 4), "Floor": (FLOATS, -4, 4), "Round": (FLOATS, -4, 4),
    "Exp": (FLOATS, -4, 4), "Log": (FLOATS, 0.01, 9), "Sqrt": (FLOATS, 0, 9),
    "Reciprocal": (FLOATS, 0.1, 9), "Erf": (FLOATS, -3, 3), "Sin": (FLOATS, -9, 9),
    "Cos": (FLOATS, -9, 9), "Tan": (FLOATS, -1.3, 1.3), "Asin": (FLOATS, -1, 1),
    "Acos": (FLOATS, -1, 1), "Atan": (FLOATS, -9, 9), "Sinh": (FLOATS, -4, 4),
    "Cosh": (FLOATS, -4, 4), "Tanh": (FLOATS, -4, 4), "Asinh": (FLOATS, -9, 9),
    "Acosh": (FLOATS, 1.01, 9), "Atanh": (FLOATS, -0.95, 0.95), "Relu": (FLOATS, -3, 3),
    "Sigmoid": (FLOATS, -9, 9), "Softplus": (FLOATS, -9, 9), "Softsign": (FLOATS, -9, 9),
    "HardSwish": (FLOATS, -5, 5), "Mish": (FLOATS, -5, 5), "IsNaN": (FLOATS, -1, 1),
    "Not": ((np.bool_,), 0, 1), "BitwiseNot": (INTEGERS, -99, 99), "Identity": (EVERYTHING, -9, 9),
}  # fmt: skip


@recipe(*UNARY)
def unary(rng, name):
    types, low, high = UNARY[name]
    dtype = pick(rng, types)
    values = strange(rng, array(rng, shape(rng), dtype, low, high)).astype(dtype)
    return [values], {}, 1


WITH_ALPHA = {
    "Celu": {"alpha": (0.3, 3)}, "Elu": {"alpha": (0.3, 3)}, "LeakyRelu": {"alpha": (-0.5, 0.5)},
    "Selu": {"alpha": (0.5, 2), "gamma": (1, 2)}, "ThresholdedRelu": {"alpha": (-1, 2)},
    "HardSigmoid": {"alpha": (0.05, 0.5), "beta": (0, 1)},
    "Shrink": {"lambd": (0.1, 1), "bias": (0, 0.5)},
}  # fmt: skip


@recipe(*WITH_ALPHA)
def activation(rng, name):
    dtype = np.float32 if name == "Celu" else pick(rng, FLOATS)
    attributes = {}
    for key, (low, high) in WITH_ALPHA[name].items():
        if rng.random() < 0.6:
            attributes[key] = float(np.float32(rng.uniform(low, high)))
    return [strange(rng, array(rng, shape(rng), dtype, -4, 4)).astype(dtype)], attributes, 1


@recipe("Gelu")
def gelu(rng, _):
    return [array(rng, shape(rng), pick(rng, FLOATS), -4, 4)], given(
        approximate=maybe(rng, pick(rng, ("none", "tanh")))), 1


@recipe("PRelu")
def prelu(rng, _):
    dims = shape(rng)
    slope = [1 if rng.random() < 0.4 else d for d in dims[rng.integers(0, len(dims) + 1) :]]
    dtype = pick(rng, FLOATS)
    return [array(rng, dims, dtype), array(rng, slope, dtype)], {}, 1


@recipe("IsInf")
def isinf(rng, _):
    x = strange(rng, array(rng, shape(rng), np.float32)).astype(np.float32)
    return [x], given(detect_negative=maybe(rng, int(rng.integers(2))),
                      detect_positive=maybe(rng, int(rng.integers(2)))), 1


@recipe("Clip")
def clip(rng, _):
    x = array(rng, shape(rng), pick(rng, NUMBERS), -9, 9)
    low = maybe(rng, typed(rng.integers(0, 4), x), 0.7)
    high = maybe(rng, typed(rng.integers(2, 8), x), 0.7)
    return [x, low] + ([] if high is None else [high]), {}, 1


BINARY = {
    "Add": NUMBERS, "Sub": NUMBERS, "Mul": NUMBERS, "Div": NUMBERS, "Pow": FLOATS,
    "Equal": EVERYTHING, "Greater": NUMBERS, "Less": NUMBERS, "GreaterOrEqual": NUMBERS,
    "LessOrEqual": NUMBERS, "And": (np.bool_,), "Or": (np.bool_,), "Xor": (np.bool_,),
    "BitwiseAnd": INTEGERS, "BitwiseOr": INTEGERS, "BitwiseXor": INTEGERS,
    "BitShift": INTEGERS[4:], "Mod": NUMBERS,
}  # fmt: skip


@recipe(*BINARY)
def binary(rng, name):
    dtype = pick(rng, BINARY[name])
    first, second = broadcastable(rng, 2)
    positive = name in ("Pow", "BitShift")
    a = array(rng, first, dtype, 0.1 if positive else -9, 9)
    b = array(rng, second, dtype, 0 if positive else -4, 4)
    attributes = {}
    if name in ("Div", "Mod") and b.dtype.kind != "f":
        b = np.where(b == 0, 3, b).astype(dtype)
        if name == "Div":  # the specification truncates, the evaluator floors
            a, b = np.abs(a).astype(dtype), np.abs(b).astype(dtype)
    if name == "Mod" and (b.dtype.kind == "f" or rng.random() < 0.3):
        attributes["fmod"] = 1
        b = np.where(b == 0, 2.5, b).astype(dtype)
    if name == "BitShift":
        attributes["direction"] = pick(rng, ("LEFT", "RIGHT"))
    return [a, b], attributes, 1


@recipe("Max", "Min", "Sum", "Mean")
def variadic(rng, name):
    dtype = pick(rng, NUMBERS if name in ("Max", "Min") else FLOATS)
    count = int(rng.integers(1, 5))
    return [array(rng, s, dtype, -9, 9) for s in broadcastable(rng, count)], {}, 1


@recipe("Where")
def where(rng, _):
    dtype = pick(rng, EVERYTHING)
    c, a, b = broadcastable(rng, 3)
    return [array(rng, c, np.bool_), array(rng, a, dtype), array(rng, b, dtype)], {}, 1


CASTS = {np.float32: 1, np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6,
         np.int64: 7, np.bool_: 9, np.float16: 10, np.float64: 11, np.uint32: 12, np.uint64: 13}


@recipe("Cast", "CastLike")
def cast(rng, name):
    source, target = pick(rng, EVERYTHING), pick(rng, EVERYTHING)
    low = 0 if np.issubdtype(target, np.unsignedinteger) else -100
    x = array(rng, shape(rng), source, low, 100)
    if name == "Cast":
        return [x], {"to": CASTS[target]}, 1
    return [x, array(rng, [1], target)], {}, 1


# --- Reductions

REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")


@recipe(*REDUCTIONS)
def reduction(rng, name):
    dims = shape(rng)
    types = (np.float32, np.float64, np.int32, np.int64)
    if name in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean"):
        types = types[:2]
    x = array(rng, dims, pick(rng, types), 0.1 if name == "ReduceLogSum" else -2, 3)
    axes = maybe(rng, ints(some_axes(rng, len(dims))), 0.75)
    attributes = given(keepdims=maybe(rng, int(rng.integers(2))),
                       noop_with_empty_axes=maybe(rng, int(rng.integers(2)), 0.3))
    return [x] if axes is None else [x, axes], attributes, 1


@recipe("ArgMax", "ArgMin")
def arg(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int32, np.int8, np.uint8)), -2, 2)
    return [x], given(axis=maybe(rng, axis_of(rng, len(dims))), keepdims=maybe(rng, int(rng.integers(2))),
                      select_last_index=maybe(rng, int(rng.integers(2)))), 1


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(rng, _):
    dims = shape(rng, 1, 4)
    return [array(rng, dims, pick(rng, FLOATS), -5, 5)], given(axis=maybe(rng, axis_of(rng, len(dims)))), 1


@recipe("CumSum", "CumProd")
def cumsum(rng, _):
    dims = shape(rng, 1)
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int32, np.int64)))
    axis = np.array(axis_of(rng, len(dims)), pick(rng, (np.int32, np.int64)))
    return [x, axis], given(exclusive=maybe(rng, int(rng.integers(2))),
                            reverse=maybe(rng, int(rng.integers(2)))), 1


@recipe("TopK")
def topk(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    x = array(rng, dims, pick(rng, (np.float32, np.float64, np.int64, np.int32)), -50, 50)
    x = rng.permutation(x.size).reshape(dims).astype(x.dtype)  # no ties: their order is free
    k = ints([rng.integers(1, dims[axis] + 1)])
    return [x, k], given(axis=axis, largest=maybe(rng, int(rng.integers(2)))), 2


@recipe("LpNormalization")
def lp_normalization(rng, _):
    dims = shape(rng, 1, 4)
    return [array(rng, dims, pick(rng, (np.float32, np.float64)), 0.1, 3)], given(
        axis=maybe(rng, axis_of(rng, len(dims))), p=maybe(rng, int(rng.integers(1, 3)))), 1


# --- Moving elements


@recipe("Transpose")
def transpose(rng, _):
    dims = shape(rng, 0, 5)
    perm = [int(p) for p in rng.permutation(len(dims))]
    return [array(rng, dims, pick(rng, EVERYTHING))], given(perm=maybe(rng, perm, 0.8)), 1


@recipe("Flatten")
def flatten(rng, _):
    dims = shape(rng, 1)
    axis = int(rng.integers(-len(dims), len(dims) + 1))
    return [array(rng, dims)], given(axis=maybe(rng, axis, 0.8)), 1


@recipe("Reshape")
def reshape(rng, _):
    x = array(rng, shape(rng), pick(rng, EVERYTHING))
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
    return [array(rng, dims, pick(rng, EVERYTHING))] + ([ints(axes)] if axes else []), {}, 1


@recipe("Unsqueeze")
def unsqueeze(rng, _):
    dims = shape(rng, 0, 3)
    added = int(rng.integers(1, 3))
    rank = len(dims) + added
    axes = rng.permutation(rank)[:added]
    axes = [int(a) - rank if rng.random() < 0.4 else int(a) for a in axes]
    return [array(rng, dims, pick(rng, EVERYTHING)), ints(axes)], {}, 1


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
    x = array(rng, dims, pick(rng, EVERYTHING))
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
    x = array(rng, dims, pick(rng, EVERYTHING))
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
    operands = [x, ints(pads), value] + ([] if axes is None else [ints(axes)])
    while operands[-1] is None:
        operands.pop()
    return operands, {"mode": mode}, 1


@recipe("Tile")
def tile(rng, _):
    dims = shape(rng)
    return [array(rng, dims, pick(rng, EVERYTHING)), ints(rng.integers(0, 4, len(dims)))], {}, 1


@recipe("Expand")
def expand(rng, _):
    first, second = broadcastable(rng, 2)
    return [array(rng, first, pick(rng, EVERYTHING)), ints(second)], {}, 1


@recipe("Trilu")
def trilu(rng, _):
    k = maybe(rng, np.array(rng.integers(-4, 5), np.int64), 0.8)
    x = array(rng, shape(rng, 2), pick(rng, EVERYTHING))
    return [x] if k is None else [x, k], given(upper=maybe(rng, int(rng.integers(2)))), 1


@recipe("DepthToSpace")
def depth_to_space(rng, _):
    n, c, h, w = (dim(rng) for _ in range(4))
    block = int(rng.integers(1, 4))
    return [array(rng, [n, c * block * block, h, w])], given(
        blocksize=block, mode=maybe(rng, pick(rng, ("DCR", "CRD")))), 1


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
    return [np.array(v).astype(dtype) for v in (rng.integers(-9, 9), rng.integers(-9, 9), step)], {}, 1


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
    x = array(rng, shape(rng), pick(rng, EVERYTHING))
    if name == "Size":
        return [x], {}, 1
    # Below -rank the evaluator wraps around.
    start, end = (int(v) for v in rng.integers(-x.ndim, 6, 2))
    return [x], given(start=maybe(rng, start), end=maybe(rng, end)), 1


# --- Gather and scatter


def positions(rng, dims, size, dtype=np.int64):
    return rng.integers(-size, size, tuple(dims)).astype(dtype)


@recipe("Gather")
def gather(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    index = positions(rng, shape(rng, 0, 3), dims[axis], pick(rng, (np.int64, np.int32)))
    return [array(rng, dims, pick(rng, EVERYTHING)), index], {"axis": axis}, 1


@recipe("GatherElements")
def gather_elements(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    taken = list(dims)  # the evaluator takes no smaller ones
    taken[axis] = dim(rng)
    return [array(rng, dims, pick(rng, EVERYTHING)), positions(rng, taken, dims[axis])], {"axis": axis}, 1


@recipe("GatherND")
def gather_nd(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    batch = int(rng.integers(0, len(dims)))
    depth = int(rng.integers(1, len(dims) - batch + 1))
    lead = dims[:batch] + shape(rng, 0, 2, zero=False)
    index = np.stack([positions(rng, lead, dims[batch + i]) for i in range(depth)], axis=-1)
    return [array(rng, dims, pick(rng, EVERYTHING)), index], {"batch_dims": batch}, 1


@recipe("ScatterElements")
def scatter_elements(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    put = [int(rng.integers(1, d + 1)) for d in dims]
    mode = pick(rng, ("none", "add", "mul", "max", "min"))
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    index = np.argsort(rng.random(put), axis=axis) if mode == "none" else positions(rng, put, dims[axis])
    return [array(rng, dims, dtype), index.astype(np.int64), array(rng, put, dtype)], {
        "axis": axis, "reduction": mode}, 1


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
    return [array(rng, dims, dtype), index, array(rng, [count] + dims[depth:], dtype)], {"reduction": mode}, 1


@recipe("Compress")
def compress(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axis = maybe(rng, axis_of(rng, len(dims)))
    size = int(np.prod(dims)) if axis is None else dims[axis]
    return [array(rng, dims), rng.random(int(rng.integers(1, size + 1))) < 0.5], given(axis=axis), 1


@recipe("NonZero")
def non_zero(rng, _):
    return [array(rng, shape(rng, 1), pick(rng, (np.float32, np.int64, np.bool_, np.int32)), -1, 1)], {}, 1


# --- Products


@recipe("MatMul", "MatMulInteger")
def matmul(rng, name):
    m, k, n = dim(rng), dim(rng), dim(rng)
    batch_a, batch_b = broadcastable(rng, 2, 2)
    first = batch_a + [m, k] if rng.random() < 0.85 else [k]
    second = batch_b + [k, n] if rng.random() < 0.85 else [k]
    if name == "MatMul":
        dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
        return [array(rng, first, dtype), array(rng, second, dtype)], {}, 1
    first = first if len(first) > 1 else [m, k]
    a = array(rng, first, pick(rng, (np.uint8, np.int8)), -99, 99)
    b = array(rng, [k, n], pick(rng, (np.uint8, np.int8)), -99, 99)
    return [a, b, typed(rng.integers(0, 9), a), typed(rng.integers(0, 9), b)], {}, 1


@recipe("Gemm")
def gemm(rng, _):
    m, k, n = dim(rng), dim(rng), dim(rng)
    turn_a, turn_b = int(rng.integers(2)), int(rng.integers(2))
    dtype = pick(rng, (np.float32, np.float64))
    a = array(rng, [k, m] if turn_a else [m, k], dtype)
    b = array(rng, [n, k] if turn_b else [k, n], dtype)
    c = array(rng, pick(rng, ([m, n], [1, n], [n], [m, 1], [1], [])), dtype)
    attributes = given(transA=turn_a, transB=turn_b, alpha=maybe(rng, 0.5), beta=maybe(rng, 0.25))
    return [a, b, c] if rng.random() < 0.7 else [a, b], attributes, 1


@recipe("Einsum")
def einsum(rng, _):
    equation, *forms = pick(rng, (
        ("ij,jk->ik", "ij", "jk"), ("ij->ji", "ij"), ("ij->", "ij"), ("ii->i", "ii"), ("i,j->ij", "i", "j"),
        ("bij,bjk->bik", "bij", "bjk"), ("ij,ij->i", "ij", "ij"), ("bij->bj", "bij"), ("i,i", "i", "i"),
        ("ij,jk,kl->il", "ij", "jk", "kl"), ("abc,cd,ad->b", "abc", "cd", "ad"), ("...ij,...jk->...ik", "aij", "ajk"),
        ("...i->...", "abi"), ("ij, jk", "ij", "jk"), ("ii", "ii"),
    ))  # fmt: skip
    sizes = {letter: dim(rng) for letter in "abcdijkl"}
    return [array(rng, [sizes[l] for l in form], np.float32) for form in forms], {"equation": equation}, 1


@recipe("Det")
def det(rng, _):
    n = int(rng.integers(1, 5))
    return [array(rng, shape(rng, 0, 2, zero=False) + [n, n], np.float32)], {}, 1


# --- Windows


def window(rng, spatial, sizes, kernel, most_pad=True):
    """Strides, dilations and pads with which the kernel fits."""
    attributes = {}
    dilations = [int(rng.integers(1, 3)) if (k - 1) * 2 < s else 1 for k, s in zip(kernel, sizes)]
    if rng.random() < 0.6:
        attributes["strides"] = [int(v) for v in rng.integers(1, 4, spatial)]
    if max(dilations) > 1:
        attributes["dilations"] = dilations
    choice = rng.random()
    if choice < 0.5:
        attributes["pads"] = [int(rng.integers(0, k)) if most_pad else 0 for k in kernel * 2]
    elif choice < 0.75:
        attributes["auto_pad"] = pick(rng, ("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes.pop("dilations", None)
    return attributes


@recipe("Conv", "ConvInteger")
def conv(rng, name):
    spatial = int(rng.integers(1, 4))
    group = int(rng.choice([1, 1, 2, 3]))
    n, c, o = dim(rng, False), group * int(rng.integers(1, 4)), group * int(rng.integers(1, 4))
    sizes = [int(v) for v in rng.integers(3, 8, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = window(rng, spatial, sizes, kernel)
    attributes["group"] = group
    attributes["kernel_shape"] = kernel
    if name == "ConvInteger":
        attributes.pop("auto_pad", None)
        x = array(rng, [n, c] + sizes, np.uint8, 0, 200)
        w = array(rng, [o, c // group] + kernel, np.uint8, 0, 200)
        return [x, w, np.array(rng.integers(0, 9), np.uint8)], attributes, 1
    x = array(rng, [n, c] + sizes, np.float32)
    w = array(rng, [o, c // group] + kernel, np.float32)
    return [x, w] + ([array(rng, [o], np.float32)] if rng.random() < 0.5 else []), attributes, 1


@recipe("ConvTranspose")
def conv_transpose(rng, _):
    spatial = int(rng.integers(1, 3))
    group = int(rng.choice([1, 1, 2]))
    n, c, o = dim(rng, False), group * int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if group > 1:  # all the evaluator can do
        c, o = group, 1
    sizes = [int(v) for v in rng.integers(2, 6, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = {"group": group, "kernel_shape": kernel}
    if rng.random() < 0.6:
        attributes["strides"] = [int(v) for v in rng.integers(1, 4, spatial)]
    if rng.random() < 0.4:
        attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    x = array(rng, [n, c] + sizes, np.float32)
    w = array(rng, [c, o] + kernel, np.float32)
    # The evaluator gives every group the bias of the first.
    bias = [array(rng, [o], np.float32)] if group == 1 and rng.random() < 0.5 else []
    return [x, w] + bias, attributes, 1


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(rng, name):
    spatial = int(rng.integers(1, 4))
    sizes = [int(v) for v in rng.integers(3, 8, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = window(rng, spatial, sizes, kernel)
    attributes["kernel_shape"] = kernel
    # The evaluator errs where the last window reaches over the end and is dilated or at an edge made
    # by auto_pad, and where strides leave gaps there.
    plain = "dilations" not in attributes and "auto_pad" not in attributes
    if plain and "strides" in attributes:
        attributes.update(given(ceil_mode=maybe(rng, int(rng.integers(2)))))
    if "auto_pad" in attributes and "strides" in attributes:
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
    if name == "AveragePool":
        attributes.update(given(count_include_pad=maybe(rng, int(rng.integers(2)))))
    if name == "LpPool":
        attributes.update(given(p=maybe(rng, int(rng.integers(1, 4)))))
    return [array(rng, [dim(rng, False), dim(rng, False)] + sizes, np.float32)], attributes, 1


@recipe("GlobalAveragePool", "GlobalMaxPool")
def global_pool(rng, name):
    # The evaluator's maximum has a wrong shape for other ranks than 4.
    most = 4 if name == "GlobalMaxPool" else 5
    return [array(rng, shape(rng, 4 if most == 4 else 3, most, zero=False), pick(rng, FLOATS))], {}, 1


@recipe("LRN")
def lrn(rng, _):
    dims = shape(rng, 4, 4, zero=False)
    dims[0] = dims[1]  # the evaluator takes the batch for the channels
    return [array(rng, dims)], given(
        size=int(rng.choice([1, 3, 5])), alpha=maybe(rng, 0.01), beta=maybe(rng, 0.5), bias=maybe(rng, 2.0)), 1


@recipe("Resize")
def resize(rng, _):
    rank = int(rng.integers(1, 5))
    dims = [int(v) for v in rng.integers(1, 7, rank)]
    mode = pick(rng, ("nearest", "linear", "cubic"))
    spatial = [d for d in range(rank) if d >= rank - 2 or mode == "nearest"]
    scales = np.ones(rank, np.float32)
    for d in spatial:
        scales[d] = rng.choice([0.5, 0.75, 1, 1.5, 2, 2.6, 3])
    transformations = ["half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"]
    if all(int(d * s) > 1 for d, s in zip(dims, scales)):  # for 1 the evaluator has no 0
        transformations.append("pytorch_half_pixel")
    attributes = {"mode": mode, "coordinate_transformation_mode": pick(rng, transformations)}
    if mode == "nearest":
        attributes["nearest_mode"] = pick(
            rng, ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    else:
        attributes.update(given(antialias=maybe(rng, 1, 0.3)))
    if mode == "cubic":
        attributes.update(given(cubic_coeff_a=maybe(rng, -0.5),
                                exclude_outside=maybe(rng, int(rng.integers(2)))))
    x = array(rng, dims, np.float32, 2, 3)  # no sums near 0, whose relative errors are great
    if rng.random() < 0.5:
        return [x, None, scales], attributes, 1
    sizes = ints([max(int(d * s), 1) for d, s in zip(dims, scales)])
    return [x, None, None, sizes], attributes, 1


# --- Normalisations


@recipe("BatchNormalization")
def batch_normalization(rng, _):
    dims = shape(rng, 2, 5)
    per = [array(rng, [dims[1]]) for _ in range(3)] + [array(rng, [dims[1]], low=0.1)]
    return [array(rng, dims)] + per, given(epsilon=maybe(rng, 0.01)), 1


@recipe("InstanceNormalization")
def instance_normalization(rng, _):
    dims = shape(rng, 3, 5, zero=False)
    return [array(rng, dims), array(rng, [dims[1]]), array(rng, [dims[1]])], given(epsilon=maybe(rng, 0.01)), 1


@recipe("GroupNormalization")
def group_normalization(rng, _):
    groups = int(rng.integers(1, 4))
    channels = groups * int(rng.integers(1, 4))
    dims = [dim(rng, False), channels] + shape(rng, 1, 3, zero=False)
    return [array(rng, dims), array(rng, [channels]), array(rng, [channels])], {
        "num_groups": groups, "epsilon": 0.01}, 1


@recipe("LayerNormalization", "RMSNormalization")
def layer_normalization(rng, name):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    operands = [array(rng, dims), array(rng, dims[axis:])]
    if name == "LayerNormalization" and rng.random() < 0.6:
        operands.append(array(rng, dims[axis:]))
    return operands, {"axis": axis, "epsilon": 0.01}, 1


@recipe("MeanVarianceNormalization")
def mean_variance(rng, _):
    return [array(rng, shape(rng, 4, 4, zero=False))], given(axes=maybe(rng, [0, 2, 3])), 1


# --- Quantisation


@recipe("QuantizeLinear", "DequantizeLinear")
def quantize(rng, name):
    dims = shape(rng, 1, 4)
    axis = axis_of(rng, len(dims))
    each = [] if rng.random() < 0.5 else [dims[axis]]
    kind = pick(rng, (np.uint8, np.int8))
    scale = array(rng, each, np.float32, 0.05, 0.3)
    zero = array(rng, each, kind, 0, 20)
    if name == "QuantizeLinear":
        x = array(rng, dims, np.float32, -40, 40)
        return [x, scale, zero] if rng.random() < 0.8 else [x, scale], {"axis": axis}, 1
    x = array(rng, dims, kind, -128, 255)
    return [x, scale, zero] if rng.random() < 0.8 else [x, scale], {"axis": axis}, 1


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(rng, _):
    return [array(rng, shape(rng, 1, 4, zero=False), np.float32, rng.uniform(-9, 1), 5)], {}, 3


@recipe("QLinearMatMul")
def qlinear_matmul(rng, _):
    m, k, n = (dim(rng, False) for _ in range(3))
    kind = pick(rng, (np.uint8, np.int8))

    def scale():
        return np.array(rng.uniform(0.01, 0.2), np.float32)

    def zero():
        return np.array(rng.integers(0, 9), kind)

    return [array(rng, [m, k], kind, -99, 99), scale(), zero(), array(rng, [k, n], kind, -99, 99),
            scale(), zero(), scale(), zero()], {}, 1


# --- Losses, windows of signals, others


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(rng, name):
    n, c = dim(rng, False), int(rng.integers(1, 6))
    rest = shape(rng, 0, 2, zero=False)
    x = array(rng, [n, c] + rest)
    target = rng.integers(0, c, [n] + rest)
    operands = [x, ints(target)] + ([array(rng, [c], low=0.1)] if rng.random() < 0.5 else [])
    return operands, given(reduction=maybe(rng, pick(rng, ("none", "sum", "mean"))),
                           ignore_index=maybe(rng, int(rng.integers(c)), 0.3)), 1


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(rng, _):
    # A symmetric window of 1 is 0 / 0 in the evaluator.
    return [np.array(rng.integers(2, 20), np.int32)], given(periodic=maybe(rng, int(rng.integers(2)))), 1


@recipe("Col2Im")
def col2im(rng, _):
    image = [int(v) for v in rng.integers(3, 7, 2)]
    block = [int(v) for v in rng.integers(1, 4, 2)]
    strides = [int(v) for v in rng.integers(1, 3, 2)]
    count = int(np.prod([(i - b) // s + 1 for i, b, s in zip(image, block, strides)]))
    x = array(rng, [dim(rng, False), int(rng.integers(1, 3)) * int(np.prod(block)), count])
    return [x, ints(image), ints(block)], {"strides": strides}, 1


@recipe("CenterCropPad")
def center_crop_pad(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axes = sorted({int(a) % len(dims) for a in some_axes(rng, len(dims))}) or [0]
    target = rng.integers(1, 8, len(axes))
    return [array(rng, dims), ints(target)], {"axes": axes}, 1


@recipe("DFT")
def dft(rng, _):
    dims = [dim(rng, False) for _ in range(rng.integers(2, 4))]
    axis = int(rng.integers(0, len(dims)))
    length = maybe(rng, np.array(rng.integers(1, 9), np.int64))
    return [array(rng, dims + [pick(rng, (1, 2))]), length, np.array(axis, np.int64)], given(
        inverse=maybe(rng, 0)), 1


# --- Recurrent operators, sampling


@recipe("RNN", "GRU", "LSTM")
def recurrent(rng, name):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    steps, batch, size, hidden = (dim(rng, False) for _ in range(4))
    x = array(rng, [steps, batch, size], low=-1, high=1)
    w = array(rng, [1, gates * hidden, size], low=-1, high=1)
    r = array(rng, [1, gates * hidden, hidden], low=-1, high=1)
    bias = maybe(rng, array(rng, [1, 2 * gates * hidden], low=-1, high=1))
    state = maybe(rng, array(rng, [1, batch, hidden], low=-1, high=1))
    attributes = {"hidden_size": hidden}
    if name == "GRU":
        attributes.update(given(linear_before_reset=maybe(rng, int(rng.integers(2)))))
    operands = [x, w, r, bias, None, state]
    while operands[-1] is None:
        operands.pop()
    return operands, attributes, 2


@recipe("Unique")
def unique(rng, _):
    dims = shape(rng, 1, 3, zero=False)
    x = array(rng, dims, pick(rng, (np.float32, np.int64, np.int8)), -2, 2)
    x = np.round(x).astype(x.dtype) + x.dtype.type(0)
    return [x], given(axis=maybe(rng, axis_of(rng, len(dims))), sorted=maybe(rng, int(rng.integers(2)))), 4


@recipe("GridSample")
def grid_sample(rng, _):
    n, c = dim(rng, False), dim(rng, False)
    x = array(rng, [n, c] + [int(v) for v in rng.integers(2, 7, 2)])
    grid = array(rng, [n, dim(rng, False), dim(rng, False), 2], low=-1.3, high=1.3)
    return [x, grid], given(mode=maybe(rng, pick(rng, ("linear", "nearest", "cubic"))),
                            padding_mode=maybe(rng, pick(rng, ("zeros", "border", "reflection"))),
                            align_corners=maybe(rng, int(rng.integers(2)))), 1


@recipe("AffineGrid")
def affine_grid(rng, _):
    n, spatial = dim(rng, False), int(rng.integers(2, 4))
    sizes = [n, 3] + [int(v) for v in rng.integers(2, 6, spatial)]
    return [array(rng, [n, spatial, spatial + 1]), ints(sizes)], given(
        align_corners=maybe(rng, int(rng.integers(2)))), 1


@recipe("QLinearConv")
def qlinear_conv(rng, _):
    sizes = [int(v) for v in rng.integers(3, 7, 2)]
    kernel = [int(v) for v in rng.integers(1, 4, 2)]
    c, o = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    scales = [np.array(v, np.float32) for v in rng.uniform(0.02, 0.2, 3)]
    zeros = [np.array(v, np.uint8) for v in rng.integers(0, 9, 3)]
    x = array(rng, [dim(rng, False), c] + sizes, np.uint8, 0, 99)
    w = array(rng, [o, c] + kernel, np.uint8, 0, 30)
    return [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2]], {
        "strides": [int(v) for v in rng.integers(1, 3, 2)], "pads": [0, 1, 1, 0]}, 1


@recipe("Swish")
def swish(rng, _):
    return [array(rng, shape(rng), pick(rng, FLOATS), -5, 5)], given(alpha=maybe(rng, 0.5)), 1


@recipe("RotaryEmbedding")
def rotary(rng, _):
    batch, heads, length, half = (dim(rng, False) for _ in range(4))
    x = array(rng, [batch, heads, length, 2 * half])
    angles = [array(rng, [batch, length, half], low=-1, high=1) for _ in range(2)]
    return [x] + angles, given(interleaved=maybe(rng, int(rng.integers(2)))), 1
