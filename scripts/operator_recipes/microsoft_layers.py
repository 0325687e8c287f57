# SPDX-License-Identifier: Apache-2.0
"""More operators of Microsoft's domain: mixtures of experts, gates, caches, quantized layers."""

import numpy as np

from .draw import (
    Case,
    array,
    axis_of,
    between,
    broadcastable,
    dim,
    dims,
    flip,
    given,
    maybe,
    pick,
    real,
    shape,
    trimmed,
)
from .microsoft import recipe
from .windows import window

# --- Experts


def layers(rng, tokens, hidden, inner, count):
    """Router and sizes of a mixture of experts, with its activation in the attributes."""
    activation = pick(rng, ("relu", "gelu", "silu", "identity", "swiglu"))
    attributes = {"k": between(rng, 1, count), "activation_type": activation}
    attributes.update(given(normalize_routing_weights=maybe(rng, flip(rng))))
    wide = inner
    if activation == "swiglu":
        wide = 2 * inner
        attributes["swiglu_fusion"] = 1
        attributes.update(
            given(
                activation_alpha=maybe(rng, real(rng, 0.5, 2)),
                activation_beta=maybe(rng, real(rng, 0, 1)),
                swiglu_limit=maybe(rng, real(rng, 0.3, 2)),
            )
        )
    x = array(rng, tokens + [hidden], low=-1, high=1)
    router = array(rng, [int(np.prod(tokens)), count])
    return x, router, wide, attributes


@recipe("MoE")
def mixture(rng, _):
    hidden, inner, count = dim(rng, False), dim(rng, False), between(rng, 1, 6)
    tokens = dims(rng, pick(rng, (1, 2)))
    x, router, wide, attributes = layers(rng, tokens, hidden, inner, count)
    operands = [
        x,
        router,
        array(rng, [count, wide, hidden], low=-1, high=1),
        maybe(rng, array(rng, [count, wide], low=-1, high=1)),
        array(rng, [count, hidden, inner], low=-1, high=1),
        maybe(rng, array(rng, [count, hidden], low=-1, high=1)),
    ]
    return trimmed(*operands), attributes, 1


@recipe("QMoE")
def quantized_mixture(rng, _):
    bits = pick(rng, (4, 8))
    block = pick(rng, (0, 16, 32))
    hidden, inner = (between(rng, 1, 3) * max(block, 16) for _ in range(2))
    count = between(rng, 1, 5)
    x, router, wide, attributes = layers(rng, dims(rng, pick(rng, (1, 2))), hidden, inner, count)
    attributes["expert_weight_bits"] = bits
    if block:
        attributes["block_size"] = block
    if bits == 8 and block:
        attributes.pop("block_size")  # with blocks, onnxruntime rounds activations to 8 bits
        block = 0
    with_zeros = flip(rng)

    def layer(rows, columns):
        blocks = columns // block if block else 1
        weights = rng.integers(0, 256, [count, rows, columns * bits // 8]).astype(np.uint8)
        scales = array(rng, [count, rows] + ([blocks] if block else []), low=0.01, high=0.04)
        bias = maybe(rng, array(rng, [count, rows], low=-1, high=1))
        last = [rows, -(-blocks * bits // 8)] if block else [-(-rows * bits // 8)]
        zeros = rng.integers(0, 256, [count] + last).astype(np.uint8) if with_zeros else None
        return [weights, scales, bias], zeros

    first, first_zeros = layer(wide, hidden)
    second, second_zeros = layer(hidden, inner)
    tail = [None, None, None, first_zeros, second_zeros] if with_zeros else []
    if flip(rng):
        tail = (tail + [None] * 6)[:6] if tail else [None] * 6
        tail.append(array(rng, router.shape, low=0.1, high=1))
    else:  # onnxruntime ignores this attribute here, but not for MoE
        attributes["normalize_routing_weights"] = 1
    return trimmed(x, router, *first, *second, *tail), attributes, 1


# --- Attention with a cache


@recipe("MultiHeadAttention")
def multi_head_attention(rng, _):
    batch, queries, keys, heads, size = dims(rng, 5)
    hidden = heads * size
    outputs = 1
    q = array(rng, [batch, queries, hidden])
    k, v = array(rng, [batch, keys, hidden]), array(rng, [batch, keys, hidden])
    bias = maybe(rng, array(rng, [3 * hidden]))
    attributes = {"num_heads": heads, **given(scale=maybe(rng, real(rng, 0.2, 1), 0.3))}
    attributes.update(given(unidirectional=maybe(rng, flip(rng), 0.3)))
    form = rng.random()
    if form < 0.2:  # all in one
        return [array(rng, [batch, queries, heads, 3, size])], {"num_heads": heads}, 1
    if form < 0.35:
        return [q, array(rng, [batch, keys, heads, 2, size])], {"num_heads": heads}, 1
    past, total = [None, None], keys
    if form < 0.6:
        before = dim(rng, False)
        past = [array(rng, [batch, heads, before, size]) for _ in range(2)]
        total, outputs = before + keys, 3
    mask = maybe(rng, array(rng, [batch, total], np.int32, 0, 1), 0.3)
    if mask is not None:
        mask[:, 0] = 1
    elif rng.random() < 0.2 and past[0] is None:
        mask = rng.integers(1, total + 1, [batch]).astype(np.int32)  # lengths
    if keys != queries:  # onnxruntime's results fit no alignment of several queries with more keys
        attributes.pop("unidirectional", None)
    extra = maybe(
        rng, array(rng, [pick(rng, (1, batch)), pick(rng, (1, heads)), queries, total]), 0.4
    )
    return trimmed(q, k, v, bias, mask, extra, *past), attributes, outputs


@recipe("MRotaryEmbedding")
def multimodal_rotation(rng, _):
    batch, heads, length = dims(rng, 3)
    layout = flip(rng)
    section = [between(rng, 1, 3) for _ in range(3)]
    if layout:
        section = [max(section)] * 3
    half = sum(section)
    places = between(rng, 1, 9)
    x = array(rng, [batch, heads, length, 2 * half])
    if flip(rng):
        x = array(rng, [batch, length, heads * 2 * half])
    positions = array(rng, [3, batch, length], np.int64, 0, places - 1)
    tables = [array(rng, [places, half], low=-1, high=1) for _ in range(2)]
    attributes = {"mrope_section": section, "mrope_layout": layout}
    return [x, positions, *tables], {**attributes, **given(interleaved=maybe(rng, flip(rng)))}, 1


# --- Recurrent


@recipe("DynamicQuantizeLSTM")
def quantized_lstm(rng, _):
    steps, batch, inputs, hidden = dims(rng, 4)
    direction = pick(rng, ("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    kind = pick(rng, (np.uint8, np.int8))

    def weights(rows):
        each = [count, 4 * hidden] if flip(rng) else [count]
        values = array(rng, [count, rows, 4 * hidden], kind, -60, 60)
        return values, array(rng, each, low=0.005, high=0.02), array(rng, each, kind, 0, 9)

    w, r = weights(inputs), weights(hidden)
    bias = maybe(rng, array(rng, [count, 8 * hidden], low=-0.5, high=0.5))
    lengths = None
    if direction == "forward":  # in reverse, ended rows count for the 8-bit range
        lengths = maybe(rng, rng.integers(1, steps + 1, [batch]).astype(np.int32), 0.3)
    states = [maybe(rng, array(rng, [count, batch, hidden], low=-1, high=1), 0.4) for _ in range(2)]
    x = array(rng, [steps, batch, inputs], low=-1, high=1)
    operands = [x, w[0], r[0], bias, lengths, *states, None, *w[1:], *r[1:]]
    return operands, {"direction": direction, "hidden_size": hidden}, 3


# --- Gates


@recipe("BranchwiseRMSNorm")
def branch_norm(rng, _):
    lead, branches, size = shape(rng, 1, 2, zero=False), between(rng, 2, 4), between(rng, 2, 7)
    flat = flip(rng)
    x = array(rng, lead + ([branches * size] if flat else [branches, size]))
    scales = pick(rng, ([branches * size], [branches, size], [size]))
    return (
        trimmed(x, maybe(rng, array(rng, scales))),
        given(num_branches=branches if flat else None, epsilon=maybe(rng, 0.01)),
        1,
    )


@recipe("GatedAdd")
def gated_add(rng, _):
    sizes = shape(rng, 1, 4, zero=False)
    return [array(rng, sizes), array(rng, sizes), array(rng, sizes[:-1] + [1])], {}, 1


@recipe("GatedRMSNorm")
def gated_norm(rng, _):
    size = between(rng, 1, 5)
    sizes = shape(rng, 1, 3, zero=False) + [size * between(rng, 1, 3)]
    attributes = given(
        activation=maybe(rng, pick(rng, ("silu", "swish", "sigmoid"))), epsilon=maybe(rng, 0.01)
    )
    return [array(rng, sizes), array(rng, [size]), array(rng, sizes)], attributes, 1


@recipe("ScaledSiLU")
def scaled_silu(rng, _):
    x = array(rng, shape(rng, 1, 4, zero=False))
    if flip(rng):
        return [x, np.array(real(rng, 0.5, 2), np.float32)], {}, 1
    return [x], given(alpha=maybe(rng, real(rng, 0.5, 2))), 1


@recipe("EngramGate")
def engram_gate(rng, _):
    batch, length, branches, size = dims(rng, 4)
    each = [batch, length, branches, size]
    scales = [array(rng, [branches, size], low=0.5, high=2) for _ in range(3)]
    outputs = between(rng, 1, 2)
    operands = [array(rng, each), array(rng, each), array(rng, [batch, length, size])]
    return operands + scales[: 1 + outputs], given(epsilon=maybe(rng, 0.01)), outputs


@recipe("HyperConnectionPreMix", "HyperConnectionPostMix")
def hyper_connection(rng, name):
    lead, branches, size = shape(rng, 1, 2, zero=False), between(rng, 2, 4), between(rng, 2, 5)
    flat = flip(rng)
    x = array(rng, lead + ([branches * size] if flat else [branches, size]))
    gate = array(rng, lead + pick(rng, ([branches], [branches, 1], [branches, size])))
    attributes = given(num_branches=branches if flat else None)
    if name == "HyperConnectionPreMix":
        attributes.update(given(reduction_scale=maybe(rng, real(rng, 0.3, 2))))
        return [x, gate], attributes, 1
    block = array(rng, lead + [size])
    mix = maybe(rng, array(rng, lead + [branches, branches]))
    return trimmed(x, block, gate, mix), attributes, 1


@recipe("LinearAttentionGate")
def attention_gate(rng, _):
    batch, length, heads = dims(rng, 3)
    sizes = [batch, length, heads]
    operands = [array(rng, sizes), array(rng, [heads]), array(rng, [heads])]
    if flip(rng):
        return [*operands, array(rng, sizes)], {}, 2
    return operands, {}, 1


# --- Elements and rows


@recipe("CausalConvWithState")
def causal_convolution(rng, _):
    batch, channels, length = dims(rng, 3)
    taps = between(rng, 2, 4)
    bias = maybe(rng, array(rng, [channels]))
    past = maybe(rng, array(rng, [batch, channels, taps - 1]))
    x, w = array(rng, [batch, channels, length]), array(rng, [channels, 1, taps])
    activation = maybe(rng, pick(rng, ("silu", "swish", "none")))
    return trimmed(x, w, bias, past), given(activation=activation), 2


@recipe("MatMulBnb4")
def bitsandbytes(rng, _):
    block = pick(rng, (16, 32))
    inner, outer = block * between(rng, 1, 3), between(rng, 1, 5)
    codes = rng.integers(0, 256, [(inner * outer + 1) // 2]).astype(np.uint8)
    scales = array(rng, [inner * outer // block], low=0.1, high=1)
    attributes = {"K": inner, "N": outer, "block_size": block, "quant_type": flip(rng)}
    return [array(rng, dims(rng, between(rng, 1, 3)) + [inner]), codes, scales], attributes, 1


@recipe("MatMulInteger16")
def wide_product(rng, _):
    m, k, n = dims(rng, 3)
    return [array(rng, [m, k], np.int16, -99, 99), array(rng, [k, n], np.int16, -99, 99)], {}, 1


@recipe("UnfoldTensor")
def unfold(rng, _):
    sizes = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(sizes))
    x = array(rng, sizes, pick(rng, (np.float32, np.int64, np.uint8)))
    size, step = between(rng, 1, sizes[axis]), maybe(rng, between(rng, 1, 3))
    return [x], given(dim=axis, size=size, step=step), 1


@recipe("CropAndResize")
def crop_and_resize(rng, _):
    n, c, h, w = dims(rng, 4)
    count = between(rng, 1, 4)
    corners = np.sort(rng.uniform(-0.2, 1.2, [count, 2, 2]), axis=1).reshape(count, 4)
    operands = [
        array(rng, [n, c, h, w]),
        corners.astype(np.float32),
        array(rng, [count], np.int32, 0, n - 1),
        np.array([between(rng, 1, 5), between(rng, 1, 5)], np.int32),
    ]
    return operands, given(
        mode=maybe(rng, pick(rng, ("bilinear", "nearest"))),
        extrapolation_value=maybe(rng, real(rng, 0, 3)),
    ), 1


@recipe("NhwcMaxPool")
def pool_last(rng, _):
    sizes, kernel = [between(rng, 3, 6) for _ in range(2)], [between(rng, 1, 3) for _ in range(2)]
    attributes = window(rng, 2, sizes, kernel)
    attributes["kernel_shape"] = kernel
    if "auto_pad" in attributes and "strides" in attributes:
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
    kind = pick(rng, (np.uint8, np.int8))
    x = array(rng, [dim(rng, False)] + sizes + [dim(rng, False)], kind, -99, 99)
    return [x], attributes, 1


@recipe("NGramRepeatBlock")
def repeats(rng, _):
    batch, length, words = dim(rng, False), between(rng, 1, 9), between(rng, 2, 4)
    ids = array(rng, [batch, length], np.int64, 0, words - 1)
    return [ids, array(rng, [batch, words])], {"ngram_size": between(rng, 1, 3)}, 1


@recipe("Unique")
def unique(rng, _):
    return [array(rng, [dim(rng, False) * 2], np.float32, -3, 3).round() + 0.0], {}, 3


@recipe("QEmbedLayerNormalization")
def quantized_embedding(rng, _):
    batch, length, size = dims(rng, 3)
    words, segments = dims(rng, 2)
    kind = pick(rng, (np.uint8, np.int8))

    def table(*sizes):
        return array(rng, sizes, kind, -99, 99)

    def scale():
        return np.array(real(rng, 0.01, 0.1), np.float32)

    def zero():
        return np.array(rng.integers(0, 9), kind)

    mask = maybe(rng, array(rng, [batch, length], np.int32, 0, 1))
    operands = [
        array(rng, [batch, length], np.int32, 0, words - 1),
        array(rng, [batch, length], np.int32, 0, segments - 1),
        table(words, size),
        table(length, size),
        table(segments, size),
        table(size),
        table(size),
        mask,
        *[scale() for _ in range(5)],
        *[zero() for _ in range(5)],
    ]
    return operands, {"epsilon": 0.01}, 2
