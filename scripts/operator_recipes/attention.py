# SPDX-License-Identifier: Apache-2.0
"""Attention operators and related ones: rotary embeddings, caches, causal convolutions."""

import numpy as np
from onnx import TensorProto, helper

from .draw import (
    BFLOAT16,
    EVERYTHING,
    FLOATS,
    Case,
    array,
    between,
    dim,
    dims,
    flip,
    given,
    maybe,
    pick,
    real,
    recipe,
    shape,
    trimmed,
)

ACTIVATIONS = (np.float32, np.float32, np.float16, BFLOAT16)  # for operators without float64


def heads_as_columns(values):
    """(batch, heads, length, size) to (batch, length, heads * size)."""
    batch, heads, length, size = values.shape
    return np.ascontiguousarray(values.transpose(0, 2, 1, 3)).reshape(batch, length, heads * size)


def mask_for(rng, batch, heads, queries, keys, dtype):
    dims = [pick(rng, (1, batch)), pick(rng, (1, heads)), queries, keys][between(rng, 0, 2) :]
    if rng.random() < 0.5:
        return array(rng, dims, np.bool_)
    return array(rng, dims, dtype)


@recipe("Attention")
def attention(rng, _):
    dtype = pick(rng, FLOATS)
    batch, heads, queries, keys, size, value_size = dims(rng, 6)
    group = between(rng, 1, 3)
    past = maybe(rng, dim(rng), 0.4)
    q = array(rng, [batch, heads * group, queries, size], dtype)
    k = array(rng, [batch, heads, keys, size], dtype)
    v = array(rng, [batch, heads, keys, value_size], dtype)
    attributes = given(
        is_causal=maybe(rng, flip(rng)),
        scale=maybe(rng, real(rng, 0.1, 1), 0.3),
        softcap=maybe(rng, real(rng, 0.5, 3), 0.3),
        softmax_precision=maybe(rng, 1, 0.2),
        qk_matmul_output_mode=maybe(rng, between(rng, 0, 3), 0.4),
    )
    if rng.random() < 0.25:
        attributes["left_window_size"] = between(rng, -1, 4)
        attributes["right_window_size"] = between(rng, -1, 4)
    mask = maybe(rng, mask_for(rng, batch, heads * group, queries, keys + (past or 0), dtype))
    cache = [None, None, None]
    if past is not None:
        cache = [array(rng, [batch, heads, past, s], dtype) for s in (size, value_size)] + [None]
    elif rng.random() < 0.2:
        cache[2] = array(rng, [batch], np.int64, min(1, keys), keys)
    if rng.random() < 0.4:
        attributes.update(q_num_heads=heads * group, kv_num_heads=heads)
        q, k, v = (heads_as_columns(x) for x in (q, k, v))
    outputs = pick(rng, (3, 4)) if past is not None else pick(rng, (1, 4))
    if outputs == 4 and "softcap" in attributes:  # mode 0 is "raw", unlike in the evaluator
        attributes["qk_matmul_output_mode"] = between(rng, 1, 3)
    left_out = () if past is not None or outputs == 1 else (1, 2)
    return Case(trimmed(q, k, v, mask, *cache), attributes, outputs, left_out=left_out)


@recipe("LinearAttention")
def linear_attention(rng, _):
    dtype = pick(rng, ACTIVATIONS)
    batch, length, heads, size, value_size = dims(rng, 5)
    group = between(rng, 1, 3)
    rule = pick(rng, ("linear", "gated", "delta", "gated_delta"))

    def part(*sizes, low=-0.7, high=0.7):
        return array(rng, sizes, dtype, low, high)

    state = maybe(rng, part(batch, heads, size, value_size))
    decay = beta = None
    if rule.startswith("gated"):
        decay = part(batch, length, heads * pick(rng, (1, size)), low=-1, high=0)
    if rule.endswith("delta"):
        beta = part(batch, length, pick(rng, (1, heads)), low=0, high=1)
    attributes = given(
        update_rule=rule,
        q_num_heads=heads * group,
        kv_num_heads=heads,
        scale=maybe(rng, real(rng, 0.2, 1)),
        chunk_size=maybe(rng, between(rng, 1, 5)),
    )
    return (
        trimmed(
            part(batch, length, heads * group * size),
            part(batch, length, heads * size),
            part(batch, length, heads * value_size),
            state,
            decay,
            beta,
        ),
        attributes,
        2,
    )


@recipe("CausalConvWithState")
def causal_conv(rng, _):
    dtype = pick(rng, ACTIVATIONS)
    batch, channels, length = dims(rng, 3)
    taps = between(rng, 1, 5)
    bias = maybe(rng, array(rng, [channels], dtype))
    past = maybe(rng, array(rng, [batch, channels, taps - 1], dtype))
    return (
        trimmed(
            array(rng, [batch, channels, length], dtype),
            array(rng, [channels, 1, taps], dtype),
            bias,
            past,
        ),
        given(activation=maybe(rng, pick(rng, ("none", "silu", "swish")))),
        2,
    )


@recipe("TensorScatter")
def tensor_scatter(rng, _):
    cache = shape(rng, 2, 4, zero=False)
    axis = between(rng, 1, len(cache) - 1)
    update = list(cache)
    update[axis] = between(rng, 1, cache[axis])
    mode = pick(rng, ("linear", "circular"))
    last = cache[axis] - 1 if mode == "circular" else cache[axis] - update[axis]
    dtype = pick(rng, EVERYTHING)
    where = maybe(rng, array(rng, [cache[0]], np.int64, 0, last), 0.8)
    return (
        trimmed(array(rng, cache, dtype), array(rng, update, dtype), where),
        {"mode": mode, "axis": axis - len(cache) * flip(rng)},
        1,
    )


@recipe("RotaryEmbedding")
def rotary(rng, _):
    dtype = pick(rng, ACTIVATIONS)
    batch, heads, length, half = dims(rng, 4)
    rotated = 2 * half
    size = rotated
    attributes = given(interleaved=maybe(rng, flip(rng)))
    if rng.random() < 0.4:  # only a part of each head is rotated
        size = rotated + between(rng, 0, 3)
        attributes["rotary_embedding_dim"] = rotated
    x = array(rng, [batch, heads, length, size], dtype)
    if rng.random() < 0.4:
        x = heads_as_columns(x)
        attributes["num_heads"] = heads
    positions = None
    table = [batch, length, half]
    if rng.random() < 0.5:
        table = [dim(rng, False), half]
        positions = array(rng, [batch, length], np.int64, 0, table[0] - 1)
    return (
        trimmed(x, array(rng, table, dtype, -1, 1), array(rng, table, dtype, -1, 1), positions),
        attributes,
        1,
    )


def score_function(rng, name, dtype, dims, low, high):
    """A subgraph that combines each score, of rank 4, with one number."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    factor = helper.make_tensor(
        "factor", kind, [], np.asarray([real(rng, low, high)]).astype(dtype)
    )
    operator = pick(rng, ("Mul", "Add", "Min"))
    nodes = [helper.make_node(operator, ["s", "factor"], ["t"])]
    return helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("s", kind, dims)],
        [helper.make_tensor_value_info("t", kind, dims)],
        [factor],
    )


@recipe("FlexAttention", domain="ai.onnx.preview")
def flex_attention(rng, _):
    dtype = pick(rng, (np.float32, np.float64, np.float16))
    batch, heads, queries, keys, size, value_size = dims(rng, 6)
    group = between(rng, 1, 3)
    precise = TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
    wide = np.float64 if dtype == np.float64 else np.float32
    scores = [batch, heads * group, queries, keys]
    attributes = given(
        scale=maybe(rng, real(rng, 0.2, 1)),
        softmax_precision=maybe(rng, int(precise), 0.3),
        score_mod=maybe(rng, score_function(rng, "score", wide, scores, 0.3, 2)),
        prob_mod=maybe(rng, score_function(rng, "prob", wide, scores, 0.1, 1)),
    )
    return (
        [
            array(rng, [batch, heads * group, queries, size], dtype),
            array(rng, [batch, heads, keys, size], dtype),
            array(rng, [batch, heads, keys, value_size], dtype),
        ],
        attributes,
        1,
    )
