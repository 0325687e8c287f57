# SPDX-License-Identifier: Apache-2.0
"""Operators of Microsoft's domain, with onnxruntime's results."""

import numpy as np

from .draw import (
    MICROSOFT,
    Case,
    array,
    axis_of,
    between,
    broadcastable,
    dim,
    dims,
    flip,
    given,
    ints,
    maybe,
    pick,
    real,
)
from .draw import recipe as any_recipe
from .draw import shape, trimmed
from .windows import window


def recipe(*names):
    """Registers a recipe whose cases have onnxruntime's results."""

    def register(function):
        def made(rng, name):
            case = function(rng, name)
            case = case if isinstance(case, Case) else Case(*case)
            case.oracle = "onnxruntime"
            return case

        return any_recipe(*names, domain=MICROSOFT)(made)

    return register


# --- Activations


@recipe("Gelu", "QuickGelu", "FastGelu", "BiasGelu")
def gelus(rng, name):
    sizes = shape(rng, 1, 4, zero=False)
    # Near 0 onnxruntime's formulas lose digits.
    x = array(rng, sizes, low=-1 if name == "FastGelu" else -4, high=4)
    bias = array(rng, sizes[-1:], low=-1)
    if name == "QuickGelu":
        return [x], given(alpha=maybe(rng, real(rng, 0.5, 2))), 1
    if name == "Gelu":
        return [x], {}, 1
    return [x, bias] if name == "BiasGelu" or flip(rng) else [x], {}, 1


# --- Matmuls


@recipe("FusedMatMul")
def fused_matmul(rng, _):
    m, k, n = dims(rng, 3)
    batch = shape(rng, 0, 2, zero=False)
    turn_a, turn_b = flip(rng), flip(rng)
    a = array(rng, batch + ([k, m] if turn_a else [m, k]))
    b = array(rng, batch + ([n, k] if turn_b else [k, n]))
    return [a, b], given(transA=turn_a, transB=turn_b, alpha=maybe(rng, real(rng, 0.3, 2))), 1


@recipe("FusedGemm")
def fused_gemm(rng, _):
    m, k, n = dims(rng, 3)
    turn_a, turn_b = flip(rng), flip(rng)
    operands = [array(rng, [k, m] if turn_a else [m, k]), array(rng, [n, k] if turn_b else [k, n])]
    operands += maybe(rng, [array(rng, pick(rng, ([m, n], [n], [1])))], 0.7) or []
    activation = pick(rng, ("Relu", "LeakyRelu", "Tanh", "Sigmoid"))
    return (
        operands,
        given(
            transA=turn_a,
            transB=turn_b,
            alpha=maybe(rng, 0.5),
            beta=maybe(rng, 0.25),
            activation=activation,
            activation_alpha=real(rng, 0.05, 0.5) if activation == "LeakyRelu" else None,
        ),
        1,
    )


@recipe("FusedConv")
def fused_conv(rng, _):
    group = pick(rng, (1, 1, 2))
    n, c, o = dim(rng, False), group * between(rng, 1, 3), group * between(rng, 1, 3)
    sizes, kernel = [between(rng, 3, 7) for _ in range(2)], [between(rng, 1, 3) for _ in range(2)]
    activation = pick(rng, ("Relu", "LeakyRelu", "Tanh", "Sigmoid", "Clip", "HardSigmoid"))
    parameters = {"LeakyRelu": [0.25], "Clip": [-0.5, 2.0], "HardSigmoid": [0.25, 0.5]}.get(
        activation
    )
    attributes = window(rng, 2, sizes, kernel)
    attributes.update(
        given(group=group, kernel_shape=kernel, activation=activation, activation_params=parameters)
    )
    bias = maybe(rng, array(rng, [o]))
    return (
        trimmed(array(rng, [n, c] + sizes), array(rng, [o, c // group] + kernel), bias),
        attributes,
        1,
    )


@recipe("MatMulNBits")
def matmul_n_bits(rng, _):
    bits = pick(rng, (4, 4, 8))
    block = pick(rng, (16, 32))
    m, n = dims(rng, 2)
    k = pick(rng, (block, 2 * block, block + 8))
    blocks = -(-k // block)
    packed = rng.integers(0, 256, [n, blocks, block * bits // 8]).astype(np.uint8)
    scales = array(rng, [n, blocks], low=0.05, high=0.3)
    zero = rng.integers(0, 256, [n, -(-blocks * bits // 8)]).astype(np.uint8)
    return (
        trimmed(array(rng, [m, k]), packed, scales, maybe(rng, zero)),
        {"K": k, "N": n, "bits": bits, "block_size": block},
        1,
    )


def quantized(rng, sizes, kind):
    return array(rng, sizes, kind, -128, 255), *one(rng, kind)


def one(rng, kind):
    """A scale and a zero point."""
    return np.array(real(rng, 0.02, 0.2), np.float32), np.array(rng.integers(0, 9), kind)


@recipe("MatMulIntegerToFloat", "DynamicQuantizeMatMul")
def to_float(rng, name):
    m, k, n = dims(rng, 3)
    kind = pick(rng, (np.uint8, np.int8))
    b = array(
        rng, [k, n], kind, -60, 60
    )  # sums of two terms that exceed 16 bits saturate in onnxruntime
    each = [n] if flip(rng) else []
    scale, zero = array(rng, each, low=0.02, high=0.2), array(rng, each, kind, 0, 9)
    bias = maybe(rng, array(rng, [n]))
    if name == "DynamicQuantizeMatMul":
        return trimmed(array(rng, [m, k]), b, scale, zero, bias), {}, 1
    a = array(rng, [m, k], np.uint8, 0, 200)
    return (
        trimmed(a, b, np.array(0.125, np.float32), scale, np.array(7, np.uint8), zero, bias),
        {},
        1,
    )


# --- Quantized tensors


@recipe("QLinearAdd", "QLinearMul")
def quantized_binary(rng, _):
    kind = pick(rng, (np.uint8, np.int8))
    first, second = broadcastable(rng, 2)
    if 0 in first + second:
        first, second = [2, 3], [3]
    return [*quantized(rng, first, kind), *quantized(rng, second, kind), *one(rng, kind)], {}, 1


@recipe("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def quantized_unary(rng, name):
    kind = pick(rng, (np.uint8, np.int8))
    sizes = shape(rng, 1, 4, zero=False)
    attributes = {
        "QLinearLeakyRelu": {"alpha": real(rng, 0.05, 0.5)},
        "QLinearSoftmax": {"axis": axis_of(rng, len(sizes)), "opset": 13},
    }.get(name, {})
    # 1 exceeds the maximum of 255/256, and onnxruntime converts it to 0.
    ends = (np.array(1 / 128, np.float32), np.array(0 if kind == np.uint8 else -128, kind))
    return (
        [*quantized(rng, sizes, kind), *(one(rng, kind) if name == "QLinearLeakyRelu" else ends)],
        attributes,
        1,
    )


@recipe("QLinearAveragePool", "QLinearGlobalAveragePool")
def quantized_pool(rng, name):
    kind = pick(rng, (np.uint8, np.int8)) if name == "QLinearAveragePool" else np.uint8
    sizes = [dim(rng, False), dim(rng, False), between(rng, 3, 6), between(rng, 3, 6)]
    last = flip(rng)
    operands = [*quantized(rng, sizes, kind), *one(rng, kind)]
    if name == "QLinearGlobalAveragePool":
        return operands, {"channels_last": last}, 1
    kernel = [between(rng, 1, 3) for _ in range(2)]
    attributes = {
        "kernel_shape": kernel,
        "strides": [between(rng, 1, 2) for _ in range(2)],
        **given(count_include_pad=maybe(rng, flip(rng))),
    }
    if flip(rng):
        attributes["pads"] = [between(rng, 0, kernel[i % 2] - 1) for i in range(4)]
    return operands, attributes, 1


@recipe("QuantizeLinear", "DequantizeLinear")
def quantize(rng, name):
    sizes = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(sizes))
    each = [] if flip(rng) else [sizes[axis]]
    kind = pick(rng, (np.uint8, np.int8, np.uint16, np.int16))
    scale, zero = array(rng, each, low=0.05, high=0.3), array(rng, each, kind, 0, 20)
    x = (
        array(rng, sizes, low=-40, high=40)
        if name == "QuantizeLinear"
        else array(rng, sizes, kind, -128, 255)
    )
    return [x, scale, zero], {"axis": axis}, 1


# --- Transformers


@recipe("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_normalization(rng, name):
    sizes = dims(rng, 3)
    operands = [array(rng, sizes), array(rng, sizes), array(rng, sizes[-1:])]
    if name == "SkipLayerNormalization":
        operands.append(maybe(rng, array(rng, sizes[-1:])))
    operands.append(maybe(rng, array(rng, sizes[-1:])))
    outputs = pick(rng, (1, 4))
    return Case(
        trimmed(*operands), {"epsilon": 0.01}, outputs, left_out=(1, 2) if outputs == 4 else ()
    )


@recipe("EmbedLayerNormalization")
def embed(rng, _):
    batch, length, size = dims(rng, 3)
    words, places, segments = dims(rng, 3)
    places = max(places, length)
    with_segments = flip(rng)
    operands = [
        array(rng, [batch, length], np.int32, 0, words - 1),
        array(rng, [batch, length], np.int32, 0, segments - 1) if with_segments else None,
        array(rng, [words, size]),
        array(rng, [places, size]),
        array(rng, [segments, size]) if with_segments else None,
        array(rng, [size]),
        array(rng, [size]),
    ]
    operands.append(maybe(rng, array(rng, [batch, length], np.int32, 0, 1)))
    return trimmed(*operands), {"epsilon": 0.01}, 2


@recipe("Attention")
def attention(rng, _):
    batch, length, heads, size, hidden = dims(rng, 5)
    causal = flip(rng)
    weights = array(rng, [hidden, 3 * heads * size], low=-0.7, high=0.7)
    mask = maybe(rng, array(rng, [batch, length], np.int32, 0, 1))
    if mask is not None:
        mask[:, 0] = 1  # one visible key per row
    return (
        trimmed(array(rng, [batch, length, hidden]), weights, array(rng, [3 * heads * size]), mask),
        {
            "num_heads": heads,
            "unidirectional": causal,
            **given(scale=maybe(rng, real(rng, 0.2, 1), 0.3)),
        },
        1,
    )


@recipe("GroupQueryAttention")
def group_query_attention(rng, _):
    batch, heads, length = dims(rng, 3)
    size = pick(rng, (8, 16))
    group = between(rng, 1, 3)
    total = np.array(length, np.int32)
    q = array(rng, [batch, length, heads * group * size])
    k, v = (array(rng, [batch, length, heads * size]) for _ in range(2))
    past = [array(rng, [batch, heads, 0, size]) for _ in range(2)]
    lengths = np.full([batch], length - 1, np.int32)
    tables, turned = [], {}
    if flip(rng):
        tables = [array(rng, [length, size // 2], low=-1, high=1) for _ in range(2)]
        turned = {"do_rotary": 1, "rotary_interleaved": flip(rng)}
    return (
        [q, k, v, *past, lengths, total, *tables],
        {
            "num_heads": heads * group,
            "kv_num_heads": heads,
            **turned,
            **given(
                scale=maybe(rng, real(rng, 0.2, 1), 0.3),
                local_window_size=maybe(rng, between(rng, 1, 4), 0.3),
            ),
        },
        3,
    )


@recipe("RotaryEmbedding")
def rotary(rng, _):
    batch, heads, length, half = dims(rng, 4)
    places = length + between(rng, 0, 3)
    x = array(rng, [batch, heads, length, 2 * half])
    if flip(rng):
        x = array(rng, [batch, length, heads * 2 * half])
    positions = array(rng, [1], np.int64, 0, places - length)
    if flip(rng):
        positions = array(rng, [batch, length], np.int64, 0, places - 1)
    tables = [array(rng, [places, half], low=-1, high=1) for _ in range(2)]
    return (
        [x, positions, *tables],
        given(interleaved=maybe(rng, flip(rng)), num_heads=heads if x.ndim == 3 else None),
        1,
    )


@recipe("LinearAttention")
def linear_attention(rng, _):
    batch, length, heads, size, value_size = dims(rng, 5)
    rule = pick(rng, ("linear", "gated", "delta", "gated_delta"))

    def part(*sizes, low=-0.7, high=0.7):
        return array(rng, sizes, np.float32, low, high)

    state = part(batch, heads, size, value_size)
    decay = part(batch, length, heads * size, low=-1, high=0) if rule.startswith("gated") else None
    beta = part(batch, length, heads, low=0, high=1) if rule.endswith("delta") else None
    return (
        trimmed(
            part(batch, length, heads * size),
            part(batch, length, heads * size),
            part(batch, length, heads * value_size),
            state,
            decay,
            beta,
        ),
        {"update_rule": rule, "q_num_heads": heads, "kv_num_heads": heads},
        2,
    )


# --- Forms of the standard's operators


@recipe("ExpandDims")
def expand_dims(rng, _):
    sizes = shape(rng, 0, 3)
    return (
        [array(rng, sizes), np.array(rng.integers(-len(sizes) - 1, len(sizes) + 1), np.int32)],
        {},
        1,
    )


@recipe("Trilu")
def trilu(rng, _):
    x = array(rng, shape(rng, 2, 4, zero=False), pick(rng, (np.float32, np.int64)))
    return (
        trimmed(x, maybe(rng, np.array(between(rng, -3, 3), np.int64))),
        given(upper=maybe(rng, flip(rng))),
        1,
    )


@recipe("Range")
def ranges(rng, _):
    dtype = pick(rng, (np.float32, np.int32, np.int64))
    return (
        [
            np.array(v).astype(dtype)
            for v in (between(rng, -9, 0), between(rng, 0, 9), between(rng, 1, 3))
        ],
        {},
        1,
    )


@recipe("Pad")
def pad(rng, _):
    sizes = shape(rng, 1, 4, zero=False)
    x = array(rng, sizes)
    value = maybe(rng, np.array([2.0], np.float32))
    return (
        trimmed(x, ints([between(rng, 0, 2) for _ in range(2 * len(sizes))]), value),
        {"mode": "constant"},
        1,
    )


@recipe("GatherND")
def gather_nd(rng, _):
    sizes = shape(rng, 1, 4, zero=False)
    depth = between(rng, 1, len(sizes))
    lead = shape(rng, 1, 2, zero=False)
    index = np.stack([rng.integers(0, sizes[i], lead) for i in range(depth)], axis=-1)
    return [array(rng, sizes), index.astype(np.int64)], {}, 1


# --- Layers in other forms


@recipe("TransposeMatMul")
def transpose_matmul(rng, _):
    m, k, n = dims(rng, 3)
    turn_a, turn_b = flip(rng), flip(rng)
    a = array(rng, [k, m] if turn_a else [m, k])
    return [a, array(rng, [n, k] if turn_b else [k, n])], given(transA=turn_a, transB=turn_b), 1


@recipe("CDist")
def distances(rng, _):
    m, n, size = dims(rng, 3)
    metric = pick(rng, ("euclidean", "sqeuclidean"))
    return [array(rng, [m, size]), array(rng, [n, size])], {"metric": metric}, 1


@recipe("Inverse")
def inverse(rng, _):
    size = between(rng, 1, 4)
    x = array(rng, shape(rng, 0, 2, zero=False) + [size, size], low=-1, high=1)
    return [x + 4 * np.eye(size, dtype=np.float32)], {}, 1


@recipe("QGemm")
def quantized_gemm(rng, _):
    kind = pick(rng, (np.uint8, np.int8))
    m, k, n = dims(rng, 3)
    turn_a, turn_b = flip(rng), flip(rng)
    a = quantized(rng, [k, m] if turn_a else [m, k], kind)
    b = array(rng, [n, k] if turn_b else [k, n], kind, -60, 60), *one(rng, kind)
    bias = maybe(rng, array(rng, [n], np.int32, -99, 99))
    ends = one(rng, kind) if flip(rng) else ()
    return trimmed(*a, *b, bias, *ends), given(transA=turn_a, transB=turn_b), 1


@recipe("QLinearConcat")
def quantized_concat(rng, _):
    kind = pick(rng, (np.uint8, np.int8))
    sizes = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(sizes))
    operands = [*one(rng, kind)]
    for _ in range(between(rng, 1, 3)):
        sizes[axis] = dim(rng, False)
        operands += quantized(rng, sizes, kind)
    return operands, {"axis": axis}, 1


@recipe("QLinearWhere")
def quantized_where(rng, _):
    kind = pick(rng, (np.uint8, np.int8))
    sizes = shape(rng, 1, 4, zero=False)
    operands = [array(rng, sizes, np.bool_), *quantized(rng, sizes, kind)]
    return operands + [*quantized(rng, sizes, kind), *one(rng, kind)], {}, 1
