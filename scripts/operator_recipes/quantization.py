# SPDX-License-Identifier: Apache-2.0
"""Quantized operators: conversions, matmuls and convolutions."""

import numpy as np

from .casts import FLOAT4, FLOAT8, SMALL, code
from .draw import (
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
    recipe,
    shape,
    trimmed,
    typed,
)
from .windows import window

KINDS = (np.uint8, np.int8, np.uint8, np.int8, np.uint16, np.int16, *SMALL)


def scale_shape(rng, sizes, axis):
    """One scale, one per position of an axis, or one per block; and the block's size."""
    form = rng.random()
    if form < 0.4:
        return [], 0
    if form < 0.75 or 0 in sizes:
        return [sizes[axis]], 0
    block = between(rng, 1, sizes[axis])
    return [-(-s // block) if d == axis % len(sizes) else s for d, s in enumerate(sizes)], block


def zero_points(rng, sizes, kind):
    low, high = (0, 3) if kind in SMALL else (0, 20)
    low = -2 if kind in (SMALL[0], SMALL[2]) else low
    high = 1 if kind == SMALL[2] else high
    return array(rng, sizes, np.float32, low, high).round().astype(kind)


@recipe("QuantizeLinear")
def quantize(rng, _):
    sizes = shape(rng, 1, 4)
    axis = axis_of(rng, len(sizes))
    each, block = scale_shape(rng, sizes, axis)
    attributes = {"axis": axis, **({"block_size": block} if block else {})}
    dtype = pick(rng, (np.float32, np.float32, np.float16))
    scale = array(rng, each, dtype, 0.05, 0.3)
    x = array(rng, sizes, dtype, -40, 40)
    if rng.random() < 0.2:
        kind = pick(rng, FLOAT8 + [FLOAT4])
        if kind is not FLOAT4:
            attributes.update(given(saturate=maybe(rng, flip(rng))))
        return [x, scale, np.zeros(each, kind)], attributes, 1
    kind = pick(rng, KINDS)
    if rng.random() < 0.8:
        return [x, scale, zero_points(rng, each, kind)], attributes, 1
    if kind is not np.uint8:
        attributes["output_dtype"] = code(kind)
    return [x, scale], attributes, 1


@recipe("DequantizeLinear")
def dequantize(rng, _):
    sizes = shape(rng, 1, 4)
    axis = axis_of(rng, len(sizes))
    each, block = scale_shape(rng, sizes, axis)
    attributes = {"axis": axis, **({"block_size": block} if block else {})}
    scale = array(rng, each, pick(rng, (np.float32, np.float32, np.float16)), 0.05, 0.3)
    if rng.random() < 0.2:
        kind = pick(rng, FLOAT8 + [FLOAT4])
        return [array(rng, sizes, np.float32, -5, 5).astype(kind), scale], attributes, 1
    kind = pick(rng, KINDS + (np.int32,))
    low, high = {SMALL[0]: (-8, 7), SMALL[1]: (0, 15), SMALL[2]: (-2, 1), SMALL[3]: (0, 3)}.get(
        kind, (-100, 100)
    )
    x = np.clip(
        array(rng, sizes, np.int32, low, high), 0 if np.dtype(kind).kind == "u" else low, high
    ).astype(kind)
    zero = zero_points(rng, each, kind) if rng.random() < 0.8 and kind is not np.int32 else None
    return trimmed(x, scale, zero), attributes, 1


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(rng, _):
    return [array(rng, shape(rng, 1, 4, zero=False), np.float32, rng.uniform(-9, 1), 5)], {}, 3


def one(rng, kind):
    """A scale and a zero point for a whole tensor."""
    return np.array(real(rng, 0.01, 0.2), np.float32), np.array(rng.integers(0, 9), kind)


@recipe("QLinearMatMul")
def qlinear_matmul(rng, _):
    m, k, n = dims(rng, 3)
    batch_a, batch_b = broadcastable(rng, 2, 2)
    first, second, third = (pick(rng, (np.uint8, np.int8)) for _ in range(3))
    a, b = array(rng, batch_a + [m, k], first, -99, 99), array(
        rng, batch_b + [k, n], second, -99, 99
    )
    right = one(rng, second)
    if not batch_b and rng.random() < 0.3:  # a scale per column
        right = array(rng, [n], np.float32, 0.01, 0.2), array(rng, [n], second, 0, 9)
    return [a, *one(rng, first), b, *right, *one(rng, third)], {}, 1


@recipe("MatMulInteger")
def matmul_integer(rng, _):
    m, k, n = dims(rng, 3, zero=True)
    batch_a, batch_b = broadcastable(rng, 2, 2)
    a = array(rng, batch_a + [m, k], pick(rng, (np.uint8, np.int8)), -128, 255)
    b = array(rng, batch_b + [k, n], pick(rng, (np.uint8, np.int8)), -128, 255)
    zero_a = maybe(rng, typed(rng.integers(0, 9), a), 0.7)
    zero_b = maybe(rng, typed(rng.integers(0, 9, [n] if rng.random() < 0.3 else []), b), 0.7)
    return trimmed(a, b, zero_a, zero_b), {}, 1


@recipe("ConvInteger", "QLinearConv")
def integer_conv(rng, name):
    spatial = between(rng, 1, 2) if name == "ConvInteger" else 2
    group = pick(rng, (1, 1, 2))
    n, c, o = dim(rng, False), group * between(rng, 1, 3), group * between(rng, 1, 3)
    sizes = [between(rng, 3, 7) for _ in range(spatial)]
    kernel = [between(rng, 1, 3) for _ in range(spatial)]
    attributes = window(rng, spatial, sizes, kernel)
    attributes.pop("auto_pad", None)
    attributes.update(group=group, kernel_shape=kernel)
    kind = np.uint8 if name == "ConvInteger" else pick(rng, (np.uint8, np.int8))
    x = array(rng, [n, c] + sizes, kind, -128, 255)
    w = array(rng, [o, c // group] + kernel, pick(rng, (np.uint8, np.int8)), -128, 255)
    if name == "ConvInteger":
        zero = maybe(rng, typed(rng.integers(0, 9), x), 0.7)
        return trimmed(x, w, zero), attributes, 1
    bias = maybe(rng, array(rng, [o], np.int32, -999, 999))
    weights = one(rng, w.dtype)
    return trimmed(x, *one(rng, kind), w, *weights, *one(rng, kind), bias), attributes, 1
