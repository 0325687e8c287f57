# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, set functions, and elements at positions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tartan import _dtypes, _elementwise
from tartan._call import axis_of, broadcast_shapes, integer, is_scalar, pair, tensor
from tartan._creation import full
from tartan._indexing import check_bounds, index_constant
from tartan._manipulation import broadcast_to, concat, part, ravel, reshape
from tartan._primitives import first_of, gathered, gathered_elements, ordered, to
from tartan._rows import ROWS
from tartan._tensor import Tensor, tile1


def _along(x, axis):
    x = tensor(x)
    if x.ndim == 0:
        raise ValueError("a tensor without dimensions has no axis")
    return x, axis_of(axis, x.ndim)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Returns the elements sorted along an axis; NaN is larger than all numbers."""
    x, axis = _along(x, axis)
    return to(ordered(x, "sort", axis, descending), x.dtype)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Returns the int64 positions that sort the elements along an axis; equal elements keep their order."""
    x, axis = _along(x, axis)
    return ordered(x, "argsort", axis, descending)


def top_k(x: Any, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """Returns the k largest (smallest) elements along an axis in order, and their positions."""
    x, axis = _along(x, axis)
    k = integer(k)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"top_k of {k} along axis {axis} of {list(x.shape)}")
    if k == 0:
        return part(x, axis, 0, 0), part(argsort(x, axis=axis), axis, 0, 0)
    values, positions = first_of(to(x, _dtypes.uint8) if x.dtype == "bool" else x, k, axis, largest)
    return to(values, x.dtype), positions


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """Returns the elements at integer positions of any shape along an axis; negative positions count from the end.
    IndexError if a known position is out of bounds; computed positions are clamped."""
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"an axis must be given for the shape {list(x.shape)}")
        axis = 0
    axis = axis_of(axis, x.ndim)
    _checked(indices, x.shape[axis], axis)
    return gathered(x, indices, axis)


def _checked(indices, size, axis):
    if indices.dtype == "bool" or indices.dtype in _dtypes.FLOATS:
        raise TypeError(f"positions must be integers, not {indices.dtype}")
    if type(indices) is Tensor and indices._host is not None:
        check_bounds(indices.numpy(), size, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    """Returns y[i, j] = x[indices[i, j], j] for axis 0, and analogously for other axes; the other sizes broadcast."""
    x, axis = _along(x, axis)
    indices = tensor(indices)
    if indices.ndim != x.ndim:
        raise ValueError(f"positions {list(indices.shape)} and tensor {list(x.shape)} differ in their number of dimensions")
    _checked(indices, x.shape[axis], axis)
    others = broadcast_shapes(*(tuple(1 if d == axis else n for d, n in enumerate(t.shape)) for t in (x, indices)))
    shapes = [tuple(t.shape[axis] if d == axis else n for d, n in enumerate(others)) for t in (x, indices)]
    x, indices = broadcast_to(x, shapes[0]), broadcast_to(indices, shapes[1])
    return gathered_elements(x, indices, axis)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Repeats each element along an axis (flattened without one). `repeats` is a number, or one number per element,
    whose values must be known."""
    x = tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    counts = np.asarray(repeats if is_scalar(repeats) else tensor(repeats).numpy())
    return take(x, index_constant(np.repeat(np.arange(x.shape[axis]), counts)), axis=axis)


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """Adds elements before and after each axis. `pad_width` is a number, a pair, or a pair per axis. Modes:
    "constant", and the copying modes of numpy.pad (edge, reflect, symmetric, wrap)."""
    x = tensor(x)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    for axis, (before, after) in enumerate(widths):
        size = x.shape[axis]
        if not before and not after:
            continue
        if mode == "constant":
            fills = [full([n if d == axis else m for d, m in enumerate(x.shape)], constant_values, dtype=x.dtype)
                     for n in (before, after)]
            x = concat([fills[0], x, fills[1]], axis=axis)
        elif mode in ("edge", "reflect", "symmetric", "wrap"):
            x = take(x, index_constant(np.pad(np.arange(size), (before, after), mode)), axis=axis)
        else:
            raise ValueError(f"unknown mode {mode!r} of pad")
    return x


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """Returns differences of adjacent elements along an axis, n times."""
    x, axis = _along(x, axis)
    parts = [tensor(t) for t in (prepend, x, append) if t is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        size = x.shape[axis]
        if size == 0:
            break
        ends = part(x, axis, 1, size), part(x, axis, 0, size - 1)
        x = _elementwise.not_equal(*ends) if x.dtype == "bool" else _elementwise.subtract(*ends)
    return x


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Returns the int64 positions at which the elements of x2 would be inserted into the sorted vector x1: before
    equal elements, or after them for side='right'. Compares all pairs of elements."""
    x1, x2 = pair(x1, x2)
    if x1.ndim != 1 or side not in ("left", "right"):
        raise ValueError(f"searchsorted takes a vector and a side, not {list(x1.shape)} and {side!r}")
    if sorter is not None:
        x1 = take(x1, sorter)
    flat = reshape(x2, (x2.size, 1))
    order = "<" if side == "left" else "<="
    nan = ""
    if x1.dtype in _dtypes.FLOATS:
        nan = " || isnan(B) && !isnan(A)" if side == "left" else " || isnan(B)"
    below = tile1(f"function (A, B) -> (Y) {{ Y = as_int(A {order} B{nan}, 64); }}", x1, flat)
    return reshape(tile1("function (X[N, M]) -> (Y) { Y[n : N] = +(X[n, m]); }", below), x2.shape)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """Returns the positions of nonzero elements, one vector per dimension. Requires known values."""
    x = tensor(x)
    if x.ndim == 0:
        raise ValueError("nonzero does not take a tensor without dimensions")
    return tuple(tensor(p) for p in np.nonzero(x.numpy()))


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Returns a bool per element of x1: whether it occurs in x2."""
    x1, x2 = pair(x1, x2)
    relation = tile1("function (A, B) -> (Y) { Y = as_uint(A == B, 8); }", reshape(x1, (x1.size, 1)), ravel(x2))
    found = tile1("function (X[N, M]) -> (Y) { Y[n : N] = >(X[n, m]); }", relation)
    found = tile1(f"function (X) -> (Y) {{ Y = X {'==' if invert else '!='} 0; }}", found)
    return reshape(found, x1.shape)


# --- Set functions. Their result sizes depend on values, which are computed. The elements are gathered from x and
# thus have derivatives.

class UniqueAll(NamedTuple):
    """Distinct values, their first positions, inverse positions and counts; see unique_all."""
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct values and their counts."""
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct values, and the position of each element's value."""
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any, /) -> UniqueAll:
    """Returns the distinct elements in order, their first positions, the position of each element's value, and the
    counts. Each NaN is distinct."""
    x = tensor(x)
    return unique_of(x.numpy(), lambda first: take(ravel(x), index_constant(first)))


def unique_of(array, taken):
    """Returns the distinct elements of a NumPy array; `taken` gathers elements at positions of the flat tensor."""
    _, first, inverse, counts = np.unique(array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    return UniqueAll(taken(first), tensor(first.astype("int64")), tensor(inverse.reshape(array.shape).astype("int64")),
                     tensor(counts.astype("int64")))


def unique_counts(x: Any, /) -> UniqueCounts:
    """Returns the distinct elements in order, and their counts."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Returns the distinct elements in order, and for each element the position of its value."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """Returns the distinct elements in order."""
    return unique_all(x).values


def one_hot(x: Any, num_classes: int, /, *, dtype: Any = None) -> Tensor:
    """Returns 1 at the position given by each integer along a new last axis, and 0 elsewhere."""
    x, dtype = tensor(x), _dtypes.as_dtype(dtype)
    classes = index_constant(np.arange(integer(num_classes)))
    return to(ROWS["equal"](reshape(to(x, _dtypes.int64), (*x.shape, 1)), classes), dtype)


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__ and name != "unique_of"]
