# SPDX-License-Identifier: Apache-2.0
"""Attention and CTC."""

import math as _math

import numpy as np
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, common, like, op, reshaped, transposed
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.nn.activations import log_softmax
from keras_tartan.src.nn.beams import beam_search


def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None,
                          attn_logits_soft_cap=None):
    query, key, value = common(query, key, value)
    if len(query.shape) != 4 or len(key.shape) != 4 or len(value.shape) != 4:
        raise ValueError("`dot_product_attention` only supports 4D inputs. Received: "
                         f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}.")
    if key.shape != value.shape and key.shape[:3] != value.shape[:3]:
        raise ValueError(f"key and value differ: {key.shape}, {value.shape}")
    heads, groups = query.shape[2], key.shape[2]
    if heads != groups:
        if heads % groups:
            raise ValueError(f"{groups} heads of keys do not divide {heads} heads of queries")
        key, value = knp.repeat(key, heads // groups, 2), knp.repeat(value, heads // groups, 2)
    size = query.shape[-1]
    scale = 1.0 / _math.sqrt(size) if scale is None else scale
    dtype = query.dtype
    q, k, v = [transposed(x, [0, 2, 1, 3]) for x in (query, key, value)]
    logits = cast(op("MatMul", q, transposed(k, [0, 1, 3, 2])), "float32" if dtype != "float64" else dtype)
    logits = op("Mul", logits, T(scale, logits.dtype))
    if attn_logits_soft_cap is not None:
        cap = T(attn_logits_soft_cap, logits.dtype)
        logits = op("Mul", op("Tanh", op("Div", logits, cap)), cap)
    if bias is not None:
        logits = knp.add(logits, T(bias, logits.dtype))
    if is_causal:
        causal = from_array(np.tri(logits.shape[-2], logits.shape[-1], dtype=bool))
        mask = causal if mask is None else knp.logical_and(T(mask, "bool"), causal)
    if mask is not None:
        logits = op("Where", T(mask, "bool"), logits, like(-0.7 * 3.4028234663852886e38, logits))
    weights = cast(op("Softmax", logits, axis=-1), dtype)
    return transposed(op("MatMul", weights, v), [0, 2, 1, 3])


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    """Sums the probabilities of all paths in log space, one time step after another."""
    target, output = T(target, "int64"), T(output, "float32")
    target_length, output_length = T(target_length, "int64"), T(output_length, "int64")
    rows, steps, _ = output.shape
    labels = target.shape[1]
    width = 2 * labels + 1
    logs = log_softmax(output, -1)
    blank = knp.full((rows, labels, 1), mask_index, "int64")
    extended = reshaped(knp.concatenate([blank, knp.expand_dims(target, -1)], -1), (rows, 2 * labels))
    extended = knp.concatenate([extended, knp.full((rows, 1), mask_index, "int64")], 1)
    none = like(-1e30, logs)
    # A label can be reached from two positions back unless both are equal; for blanks they always are.
    before = knp.concatenate([knp.full((rows, 2), mask_index, "int64"), extended[:, :-2]], 1)
    jumps = knp.not_equal(extended, before)
    start = knp.broadcast_to(from_array(np.arange(width) < 2), (rows, width))

    # One gather for all steps: a gather per step has a scatter of all classes per step as its gradient.
    places = knp.broadcast_to(knp.expand_dims(extended, 1), (rows, steps, width))
    scores = transposed(knp.take_along_axis(logs, places, 2), [1, 0, 2])

    alpha = knp.where(start, scores[0], none)
    gap = knp.broadcast_to(none, (rows, 2))
    for t in range(1, steps):
        padded = knp.concatenate([gap, alpha], 1)
        one_back, two_back = padded[:, 1:-1], knp.where(jumps, padded[:, :-2], none)
        total = knp.logaddexp(knp.logaddexp(alpha, one_back), two_back)
        alive = knp.expand_dims(knp.less(t, output_length), -1)
        alpha = knp.where(alive, knp.add(total, scores[t]), alpha)
    last = knp.expand_dims(knp.multiply(target_length, 2), -1)
    ends = knp.concatenate([last, knp.maximum(knp.subtract(last, 1), 0)], 1)
    found = knp.take_along_axis(alpha, ends, 1)
    both = knp.logaddexp(found[:, 0], found[:, 1])
    return knp.negative(knp.where(knp.equal(target_length, 0), found[:, 0], both))


def ctc_decode(inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True,
               mask_index=0):
    if strategy not in ("greedy", "beam_search"):
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    x = T(inputs)
    x = cast(x, result_type(x.dtype, "float32"))
    if strategy == "beam_search":
        return beam_search(x, sequence_lengths, beam_width, top_paths, mask_index)
    rows, steps, _ = x.shape
    lengths = T(sequence_lengths, "int32")
    best = knp.argmax(x, -1)
    score = knp.max(x, -1)
    inside = knp.less(knp.expand_dims(knp.arange(steps, dtype="int32"), 0), knp.expand_dims(lengths, -1))
    kept = knp.logical_and(inside, knp.not_equal(best, mask_index))
    if merge_repeated:
        again = knp.equal(best[:, 1:], best[:, :-1])
        again = knp.concatenate([knp.zeros((rows, 1), "bool"), again], 1)
        kept = knp.logical_and(kept, knp.logical_not(again))
    order = knp.argsort(cast(knp.logical_not(kept), "int32"), 1)
    shown = knp.take_along_axis(knp.where(kept, best, like(-1, best)), order, 1)
    total = knp.negative(knp.sum(knp.where(inside, score, like(0, score)), 1, True))
    return knp.expand_dims(shown, 0), total
