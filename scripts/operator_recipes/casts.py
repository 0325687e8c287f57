# SPDX-License-Identifier: Apache-2.0
"""Conversions between all element types."""

import ml_dtypes
import numpy as np
from onnx import helper

from .draw import (
    BFLOAT16,
    EVERYTHING,
    Case,
    array,
    flip,
    given,
    maybe,
    pick,
    recipe,
    shape,
    strange,
)

FLOAT8 = [
    np.dtype(t).type
    for t in (
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    )
]
FLOAT4 = np.dtype(ml_dtypes.float4_e2m1fn).type
FLOAT6 = [np.dtype(t).type for t in (ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)]
SCALE8 = np.dtype(ml_dtypes.float8_e8m0fnu).type
SMALL = [
    np.dtype(t).type for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
]
NARROW = FLOAT8 + [FLOAT4] + SMALL + FLOAT6
WIDE_FLOATS = (np.float32, np.float64, np.float16, BFLOAT16)


def code(dtype):
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def range_of(dtype):
    """Integers in the range of every value of a type."""
    if dtype in SMALL:
        info = ml_dtypes.iinfo(dtype)
        return int(info.min), int(info.max)
    if np.dtype(dtype).kind in "iu":
        return max(int(np.iinfo(dtype).min), -100), 100
    return (-5, 5) if dtype in [FLOAT4] + FLOAT6 else (-100, 100)


def words_of_numbers(rng, dims):
    words = ("0", "1", "-2", "3.5", "1e3", "-1.25e-2", "NaN", "INF", "-INF", "17", "0.1")
    return np.asarray(rng.choice(words, tuple(dims)), dtype=object)


def source_for(rng, source, target):
    """Elements of one type that the other can represent, so that the result is defined."""
    low, high = range_of(source)
    floor, ceiling = range_of(target)
    x = array(rng, shape(rng), np.float64, max(low, floor), min(high, ceiling))
    if np.dtype(source).kind in "iub" or source in SMALL:
        x = np.trunc(x)
    elif np.dtype(target).kind not in "iub" and target not in SMALL and source in WIDE_FLOATS:
        x = (
            strange(rng, x)
            if target in WIDE_FLOATS
            else np.where(rng.random(x.shape) < 0.1, x * 1e4, x)
        )
    return x.astype(np.float32).astype(source)


@recipe("Cast", "CastLike")
def cast(rng, name):
    types = list(EVERYTHING) + NARROW
    source, target = pick(rng, types), pick(rng, types)
    if source in NARROW and target in NARROW:  # these types need a wide type at the other end
        target = pick(rng, (np.float32, np.float16, np.int32))
    attributes = {}
    if target in FLOAT8:
        attributes = given(saturate=maybe(rng, flip(rng)))
    x = source_for(rng, source, target)
    if target is np.bool_ or source is np.bool_:
        x = array(rng, shape(rng), source if source not in NARROW else np.float32, -1, 1)
    if rng.random() < 0.06 and target in WIDE_FLOATS:
        x = words_of_numbers(rng, shape(rng))
    if name == "CastLike":
        return [x, np.zeros([1], target)], attributes, 1
    if rng.random() < 0.08 and np.issubdtype(x.dtype, np.integer):
        return [x], {"to": 8}, 1  # strings
    if source in WIDE_FLOATS and rng.random() < 0.06:
        rounding = given(
            saturate=maybe(rng, flip(rng)),
            round_mode=maybe(rng, pick(rng, ("up", "down", "nearest"))),
        )
        x = np.abs(array(rng, shape(rng), np.float32, 0.01, 100)).astype(source)
        return Case([x], {"to": code(SCALE8), **rounding}, opset=25)
    return [x], {"to": code(target), **attributes}, 1


BY_WIDTH = {
    1: [np.int8, np.uint8, *FLOAT8],
    2: [np.int16, np.uint16, np.float16, BFLOAT16],
    4: [np.int32, np.uint32, np.float32],
    8: [np.int64, np.uint64, np.float64],
}


@recipe("BitCast")
def bit_cast(rng, _):
    types = BY_WIDTH[pick(rng, (1, 2, 4, 8))]
    source, target = pick(rng, types), pick(rng, types)
    if source in FLOAT8:
        x = array(rng, shape(rng), np.uint8, 0, 255).view(source)
    else:
        x = array(rng, shape(rng), source, -100, 100)
    return [x], {"to": code(target)}, 1
