# SPDX-License-Identifier: Apache-2.0
"""Functions based on order: sorting, quantiles, counts."""

import builtins

import numpy as np
from keras.src.backend.config import floatx
from keras_tartan.src._kit import T, axes_of, common, floated, is_float, like, one, op, ours, reshaped, transposed
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.numpy.elementwise import (add, divide, equal, greater_equal, isnan, less, logical_and,
                                               logical_not, logical_or, multiply, subtract, where)
from keras_tartan.src.numpy.creation import _made, linspace
from keras_tartan.src.numpy.filled import full, ones, zeros
from keras_tartan.src.numpy.reductions import any, max, min, sum
from keras_tartan.src.numpy.shapes import concatenate, expand_dims, moveaxis, ravel
from keras_tartan.src._type import constant_array
from tartan import _selection


def sort(x, axis=-1):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    return ours(_selection.sort(x, axis=axis)) if x.shape else x


def argsort(x, axis=-1):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    return cast(ours(_selection.argsort(x, axis=axis)), "int32") if x.shape else zeros((1,), "int32")


def argpartition(x, kth, axis=-1):
    return argsort(x, axis)


def _to_last(x, axis):
    """Merges the reduced axes into one last axis. Also returns the shape with reduced axes kept."""
    axes = axes_of(axis, len(x.shape))
    rest = [a for a in range(len(x.shape)) if a not in axes]
    kept = [1 if a in axes else d for a, d in enumerate(x.shape)]
    x = transposed(x, rest + axes)
    return reshaped(x, [x.shape[i] for i in range(len(rest))] + [-1]), kept


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(x, q, axis, method, keepdims, skip):
    if method not in _METHODS:
        raise ValueError(f"Invalid method: {method}. Expected one of {_METHODS}")
    x = floated(x)
    q = T(q)
    dtype = x.dtype
    wide = "float64" if dtype == "float64" else "float32"
    x, kept = _to_last(cast(x, wide), axis)
    flat_q = reshaped(cast(q, wide), (-1,))
    ordered = sort(x, -1)  # NaN comes last
    missing = isnan(x)
    if skip:
        count = sum(cast(logical_not(missing), wide), -1, True)
    else:
        count = full(tuple(x.shape[:-1]) + (1,), x.shape[-1], wide)
    at = op("Mul", op("Max", op("Sub", count, like(1, count)), like(0, count)), flat_q)
    low, high = op("Floor", at), op("Ceil", at)

    def element(position):
        return op("GatherElements", ordered, cast(position, "int64"), axis=-1)

    a, b = element(low), element(high)
    if method == "linear":
        result = op("Add", a, op("Mul", op("Sub", b, a), op("Sub", at, low)))
        result = op("Where", op("Equal", low, high), a, result)
    elif method == "midpoint":
        result = op("Mul", op("Add", a, b), like(0.5, a))
    elif method == "nearest":
        result = element(op("Round", at))
    else:
        result = a if method == "lower" else b
    if not skip:
        result = op("Where", any(missing, -1, True), like(float("nan"), result), result)
    result = cast(moveaxis(result, -1, 0), dtype)
    shape = kept if keepdims else list(result.shape[1:])
    return reshaped(result, list(q.shape) + shape)


def quantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, False)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, True)


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, divide(T(q), 100.0), axis, method, keepdims, False)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, divide(T(q), 100.0), axis, method, keepdims, True)


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, keepdims=keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def searchsorted(sorted_sequence, values, side="left"):
    if len(T(sorted_sequence).shape) != 1:
        raise ValueError("`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` "
                         f"to extend it to N-D sequences. Received: sorted_sequence.shape={T(sorted_sequence).shape}")
    sequence, values = common(sorted_sequence, values)
    return cast(ours(_selection.searchsorted(sequence, values, side=side)), "int32")


def digitize(x, bins):
    return searchsorted(bins, x, side="right")


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    x = T(x)
    if x.is_traced:
        if not minlength:
            raise NotImplementedError("bincount without `minlength` in a captured step is not implemented in tartan")
        count = int(minlength)
    else:
        count = builtins.max(int(minlength), int(x.numpy().max()) + 1 if x.size else 0)
    hits = equal(expand_dims(x, -1), _made(np.arange(count), x.dtype))
    if weights is None:
        return sum(cast(hits, "int32"), -2)
    weights = T(weights)
    if weights.dtype in ("int8", "int16", "uint8", "uint16"):
        return cast(sum(multiply(cast(hits, "int32"), expand_dims(cast(weights, "int32"), -1)), -2), weights.dtype)
    return sum(multiply(cast(hits, weights.dtype), expand_dims(weights, -1)), -2)


def histogram(x, bins=10, range=None):
    x = ravel(T(x))
    dtype = x.dtype if is_float(x) else floatx()
    wide = "float64" if dtype == "float64" else "float32"  # the outer edges are exactly the minimum and the maximum
    if range is None:
        low, high = min(x), max(x)
        flat = equal(low, high)
        low, high = cast(low, wide), cast(high, wide)
        low, high = where(flat, subtract(low, 0.5), low), where(flat, add(high, 0.5), high)
    else:
        low, high = T(range[0], wide), T(range[1], wide)
    edges = cast(linspace(low, high, bins + 1, dtype=wide), dtype)
    x = cast(x, dtype)
    before = expand_dims(x, -1)
    at_least = greater_equal(before, edges[:-1])
    below = less(before, edges[1:])
    last = concatenate([zeros((bins - 1,), "bool"), ones((1,), "bool")])
    below = logical_or(below, logical_and(last, equal(before, edges[1:])))
    return sum(cast(logical_and(at_least, below), "int32"), 0), edges


def unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None, size=None,
           fill_value=None):
    x = T(x)
    if x.is_traced:
        raise NotImplementedError("unique of values of a captured step is not implemented in the tartan backend")
    _, first, inverse, counts = np.unique(x.numpy(), return_index=True, return_inverse=True, return_counts=True,
                                          axis=axis, equal_nan=False)
    if axis is None:
        x, axis = ravel(x), 0
    filler = 0 if size is None else builtins.max(size - len(first), 0)
    first, counts = first[:size], counts[:size]
    if filler:
        first = np.concatenate([first, np.full(filler, first[0])])
        counts = np.concatenate([counts, np.zeros(filler, counts.dtype)])
    kept = op("Gather", x, constant_array(first.astype("int64")), axis=one(axis, len(x.shape)))  # derivatives pass to x
    if filler and fill_value is not None:
        shape = [-1 if a == one(axis, len(x.shape)) else 1 for a in range(len(x.shape))]
        is_filler = from_array(np.arange(size) >= size - filler)
        kept = where(reshaped(is_filler, shape), T(fill_value, x.dtype), kept)
    results = [kept]
    for wanted, part in ((return_index, first), (return_inverse, inverse), (return_counts, counts)):
        if wanted:
            results.append(T(part.astype("int32")))
    return results[0] if len(results) == 1 else tuple(results)


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2 = common(x1, x2)
    return ours(_selection.isin(x1, x2, invert=invert))
