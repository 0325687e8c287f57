# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes. `axis` is an axis, a tuple of axes, or None for all. `keepdims` keeps reduced dimensions
with size 1."""

from __future__ import annotations

import builtins
from typing import Any

from tartan import _dtypes
from tartan._call import as_float, axes_of, axis_of, tensor
from tartan._creation import full, ones
from tartan._manipulation import concat, ravel, reshape
from tartan._primitives import averaged, cumulated, extreme_position, kept_shape, reduced, size_of, to
from tartan._rows import ROWS
from tartan._tensor import Tensor, constant, tile1

Axis = "int | tuple[int, ...] | None"


def _summed_type(dtype, given):
    """Returns the dtype of a sum; integers narrower than the default dtype are promoted to it."""
    if given is not None:
        return _dtypes.as_dtype(given)
    if dtype == "bool" or dtype in _dtypes.SIGNED and _dtypes.BITS[dtype] < 32:
        return _dtypes.int32
    return _dtypes.uint32 if dtype in _dtypes.UNSIGNED and _dtypes.BITS[dtype] < 32 else dtype


def _accumulated(x, dtype):
    """Converts 16-bit floats to float32 for accumulation."""
    return to(x, _dtypes.float32 if dtype in ("float16", "bfloat16") else dtype)


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the sum; 0 for no elements. Integers narrower than 32 bits and bools are summed as int32 or uint32."""
    x = tensor(x)
    dtype = _summed_type(x.dtype, dtype)
    return to(reduced(_accumulated(x, dtype), "+", axes_of(axis, x.ndim), keepdims), dtype)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Multiplies the elements; 1 for no elements. Result dtypes are as for sum."""
    x = tensor(x)
    dtype, axes = _summed_type(x.dtype, dtype), axes_of(axis, x.ndim)
    if size_of(x.shape[d] for d in axes) == 0:
        return ones(kept_shape(x.shape, axes, keepdims), dtype=dtype)
    return to(reduced(_accumulated(x, dtype), "*", axes, keepdims), dtype)


def _count(x, axes):
    return size_of(x.shape[d] for d in axes)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns the mean as a float; NaN for no elements."""
    x = as_float(x)
    return averaged(x, axes_of(axis, x.ndim), keepdims)


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Returns the variance: the sum of squared deviations from the mean, divided by the number of elements minus
    `correction`."""
    x = as_float(x)
    axes = axes_of(axis, x.ndim)
    wide = _accumulated(x, x.dtype)
    squares = tile1("function (X, M) -> (Y) { D = X - M; Y = D * D; }", wide, mean(wide, axis=axes, keepdims=True))
    if not correction:
        return to(averaged(squares, axes, keepdims), x.dtype)
    left = constant(builtins.max(_count(x, axes) - correction, 0), wide.dtype)
    total = reduced(squares, "+", axes, keepdims)
    return to(tile1("function (X, N) -> (Y) { Y = X / N; }", total, left), x.dtype)


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Returns the standard deviation, the square root of `var`."""
    return ROWS["sqrt"](var(x, axis=axis, correction=correction, keepdims=keepdims))


def _extreme(x, aggregation, axis, keepdims, name):
    x = tensor(x)
    axes = axes_of(axis, x.ndim)
    if _count(x, axes) == 0 and size_of(kept_shape(x.shape, axes, False)):
        raise ValueError(f"{name} needs elements, but {list(x.shape)} has none along {axes}")
    if x.dtype == "bool":
        return to(reduced(to(x, _dtypes.uint8), aggregation, axes, keepdims), _dtypes.bool_)
    return reduced(x, aggregation, axes, keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns the maximum; NaN if any element is NaN. ValueError for no elements."""
    return _extreme(x, ">", axis, keepdims, "max")


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns the minimum; NaN if any element is NaN. ValueError for no elements."""
    return _extreme(x, "<", axis, keepdims, "min")


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns True if any element is nonzero; False for no elements."""
    x = to(to(tensor(x), _dtypes.bool_), _dtypes.uint8)
    return to(reduced(x, ">", axes_of(axis, x.ndim), keepdims), _dtypes.bool_)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns True if all elements are nonzero; True for no elements."""
    invert = ROWS["logical_not"]
    return invert(any(invert(to(tensor(x), _dtypes.bool_)), axis=axis, keepdims=keepdims))


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns the number of nonzero elements as int64."""
    x = to(to(tensor(x), _dtypes.bool_), _dtypes.int64)
    return reduced(x, "+", axes_of(axis, x.ndim), keepdims)


def logsumexp(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Returns log(sum(exp(x))) without overflow."""
    x = as_float(x)
    axes = axes_of(axis, x.ndim)
    most = tile1("function (X) -> (Y) { Y = stop_gradient(isinf(X) ? 0.0 : X); }",
                 max(x, axis=axes, keepdims=True))
    total = reduced(tile1("function (X, M) -> (Y) { Y = exp(X - M); }", x, most), "+", axes, True)
    result = tile1("function (S, M) -> (Y) { Y = log(S) + M; }", total, most)
    return reshape(to(result, x.dtype), kept_shape(x.shape, axes, keepdims))


def _position(x, descending, axis, keepdims, name):
    x = tensor(x)
    shape = x.shape
    if axis is None:
        x, axes, at = ravel(x), tuple(range(len(shape))), 0
    else:
        at = axis_of(axis, x.ndim)
        axes = (at,)
    if _count(x, (at,)) == 0 and size_of(kept_shape(x.shape, (at,), False)):
        raise ValueError(f"{name} needs elements, but {list(shape)} has none")
    if x.dtype == "bool":
        x = to(x, _dtypes.uint8)
    result = extreme_position(x, at, descending)
    return reshape(result, kept_shape(shape, axes, keepdims))


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Returns the first position of the maximum as int64; without an axis, in row-major order of all elements."""
    return _position(x, True, axis, keepdims, "argmax")


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Returns the first position of the minimum as int64; without an axis, in row-major order of all elements."""
    return _position(x, False, axis, keepdims, "argmin")


def _cumulative(x, name, axis, dtype, include_initial):
    x = tensor(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"an axis must be given for the shape {list(x.shape)}")
        axis = 0
    if x.ndim == 0:
        raise ValueError(f"{name} does not take a tensor without dimensions")
    axis, dtype = axis_of(axis, x.ndim), _summed_type(x.dtype, dtype)
    result = to(cumulated(_accumulated(x, dtype), name, axis), dtype)
    if include_initial:
        first = full([1 if d == axis else n for d, n in enumerate(x.shape)], int(name == "cumprod"), dtype=dtype)
        result = concat([first, result], axis=axis)
    return result


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: bool = False) -> Tensor:
    """Cumulative sum along an axis; `include_initial` prepends 0. Result dtypes are as for sum."""
    return _cumulative(x, "cumsum", axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: bool = False) -> Tensor:
    """Cumulative multiplication along an axis; `include_initial` prepends 1. Result dtypes are as for sum."""
    return _cumulative(x, "cumprod", axis, dtype, include_initial)


cumsum, cumprod = cumulative_sum, cumulative_prod


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__]
