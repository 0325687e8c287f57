# SPDX-License-Identifier: Apache-2.0
"""Random numbers as pure functions of a key: the same key gives the same numbers on every device, eager and
captured. Keys are uint32[2]; `split` and `fold_in` derive new ones.

    key, other = tartan.random.split(tartan.random.key(7))
    x = tartan.random.normal(other, (3, 4))

Source: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tartan import _dtypes
from tartan import _elementwise as _e
from tartan._call import integer, shape_of, tensor
from tartan._creation import arange, asarray
from tartan._manipulation import broadcast_to, reshape, stack
from tartan._primitives import size_of, to
from tartan._reductions import argmax
from tartan._selection import argsort, take
from tartan._tensor import Tensor, constant, tile, tile1

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def _text():
    """Returns the Tile text for keys K, L and counters A, B; each round has its own names."""
    lines = ["P = as_uint(466688986, 32) ^ K ^ L;", "X0 = A + K;", "Y0 = B + L;"]
    keys = ("K", "L", "P")
    for number in range(20):
        x, y, left = f"X{number}", f"Y{number}", _ROTATIONS[number % 8]
        mixed, turned = f"U{number}", f"(({y} << {left}) | ({y} >> {32 - left}))"
        lines.append(f"{mixed} = {x} + {y};")
        lines.append(f"V{number} = {turned} ^ {mixed};")
        ends = number % 4 == 3
        turn = number // 4 + 1
        lines.append(f"X{number + 1} = {mixed}" + (f" + {keys[turn % 3]};" if ends else ";"))
        lines.append(f"Y{number + 1} = V{number}" + (f" + {keys[(turn + 1) % 3]} + as_uint({turn}, 32);" if ends else ";"))
    return "function (K, L, A, B) -> (X20, Y20) { " + " ".join(lines) + " }"


_THREEFRY = _text()


def _checked(key):
    key = tensor(key)
    if key.shape != (2,) or key.dtype != "uint32":
        raise ValueError(f"a key must be uint32[2], not {key.dtype}{list(key.shape)}: see tartan.random.key and split")
    return key


def _words(key, count):
    """Returns two random words for each counter from 0 to count - 1."""
    key = _checked(key)
    counters = arange(count, dtype=_dtypes.uint32)
    return tile(_THREEFRY, key[0], key[1], _e.multiply(counters, constant(0, _dtypes.uint32)), counters)


def key(seed: int) -> Tensor:
    """Returns a key uint32[2] for a 64-bit seed."""
    seed = integer(seed, "a seed") % 2**64
    return asarray(np.array([seed >> 32, seed % 2**32], "uint32"))


def split(key: Any, num: int = 2) -> Tensor:
    """Returns `num` independent keys as uint32[num, 2]; the given key must not be used again."""
    return stack(_words(key, integer(num)), axis=1)


def fold_in(key: Any, data: Any) -> Tensor:
    """Returns a key derived from a key and an integer, such as a step or a layer; also a tensor of shape ()."""
    key = _checked(key)
    number = to(tensor(data), _dtypes.uint32) if not isinstance(data, int) else constant(data % 2**32, _dtypes.uint32)
    one = constant(1, _dtypes.uint32)  # a counter that differs from the counters of all drawn numbers
    return stack(tile(_THREEFRY, key[0], key[1], one, number))


def bits(key: Any, shape: Any = (), *, dtype: Any = None) -> Tensor:
    """Returns random uint32 or uint64 of `shape`."""
    shape = shape_of(shape)
    first, second = _words(key, size_of(shape))
    if dtype is None or dtype == "uint32":
        return reshape(_e.bitwise_xor(first, second), shape)
    if dtype != "uint64":
        raise TypeError(f"random bits must be uint32 or uint64, not {dtype}")
    text = "function (X, Y) -> (Z) { Z = (as_uint(X, 64) << 32) | as_uint(Y, 64); }"
    return reshape(tile1(text, first, second), shape)


def _float_type(dtype):
    dtype = _dtypes.as_dtype(dtype)
    if dtype not in _dtypes.FLOATS:
        raise TypeError(f"the dtype must be a float, not {dtype}")
    return dtype


def _unit(key, shape, dtype):
    """Returns uniform numbers in [0, 1) with as many random bits as the dtype's mantissa; narrow dtypes are rounded
    down from more bits."""
    if dtype == "float64":
        return tile1("function (X) -> (Y) { Y = as_float(X >> 11, 64) * as_float(1.1102230246251565e-16, 64); }",
                     bits(key, shape, dtype=_dtypes.uint64))
    kept = {"float16": 11, "bfloat16": 8}.get(str(dtype), 24)
    text = f"function (X) -> (Y) {{ Y = as_float(X >> {32 - kept}, 32) * {2.0**-kept!r}; }}"
    return to(tile1(text, bits(key, shape)), dtype)


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Tensor:
    """Uniform distribution in [minval, maxval); result of `shape`, default dtype float32."""
    dtype = _float_type(dtype)
    unit = _unit(key, shape_of(shape), dtype)
    return _e.add(_e.multiply(unit, _e.subtract(tensor(maxval, dtype), tensor(minval, dtype))), tensor(minval, dtype))


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Normal distribution with mean 0 and variance 1 (Box-Muller transform); result of `shape`, default dtype
    float32."""
    dtype, shape = _float_type(dtype), shape_of(shape)
    wide = _dtypes.float64 if dtype == "float64" else _dtypes.float32
    keys = split(key)
    text = f"function (X, Y) -> (Z) {{ Z = sqrt(-2 * log(1 - X)) * cos({2 * math.pi!r} * Y); }}"
    return to(tile1(text, _unit(keys[0], shape, wide), _unit(keys[1], shape, wide)), dtype)


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Exponential distribution with rate 1; result of `shape`, default dtype float32."""
    dtype = _float_type(dtype)
    return _e.negative(_e.log1p(_e.negative(_unit(key, shape_of(shape), dtype))))


def gumbel(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Gumbel distribution with location 0 and scale 1; result of `shape`, default dtype float32."""
    return _e.negative(_e.log(_e.maximum(exponential(key, shape, dtype), 1e-30)))


def randint(key: Any, shape: Any, minval: int, maxval: int, dtype: Any = None) -> Tensor:
    """Uniform integers in [minval, maxval), of `shape`. ValueError if the range is empty or larger than 2**32."""
    dtype = _dtypes.as_dtype(dtype or _dtypes.int32)
    low, high = integer(minval), integer(maxval)
    if not 0 < high - low <= 2**32:
        raise ValueError(f"randint from {low} to {high}: the range has {max(0, high - low)} integers")
    text = f"function (X, L) -> (Y) {{ Y = as_int((as_uint(X, 64) * as_uint({high - low}, 64)) >> 32, 64) + L; }}"
    return to(tile1(text, bits(key, shape), constant(low, _dtypes.int64)), dtype)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tensor:
    """Returns True with probability p; of `shape`, by default the shape of p."""
    p = tensor(p)
    return _e.less(uniform(key, p.shape if shape is None else shape), p)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Tensor:
    """Returns int32 indices along an axis, drawn with the probabilities softmax(logits). `shape` is the result's
    shape; its last dimensions are the shape of the logits without the axis."""
    logits = tensor(logits)
    left = [size for d, size in enumerate(logits.shape) if d != axis % logits.ndim]
    lead = shape_of(shape)[:len(shape_of(shape)) - len(left)] if shape is not None else ()
    noise = gumbel(key, (*lead, *logits.shape))
    return argmax(_e.add(broadcast_to(logits, noise.shape), noise), axis=axis % logits.ndim + len(lead))


def permutation(key: Any, x: Any, axis: int = 0) -> Tensor:
    """Returns a random permutation of the integers below x, or of a tensor's slices along an axis."""
    count = x if isinstance(x, int) else tensor(x).shape[axis]
    order = argsort(tile1("function (X) -> (Y) { Y = as_int(X >> 1, 64); }", bits(key, (count,), dtype=_dtypes.uint64)))
    return order if isinstance(x, int) else take(tensor(x), order, axis=axis)


__all__ = ["bernoulli", "bits", "categorical", "exponential", "fold_in", "gumbel", "key", "normal", "permutation", "randint",
           "split", "uniform"]
