# SPDX-License-Identifier: Apache-2.0
"""Indexing: x[...], assignment to elements, and x.at."""

from __future__ import annotations

import operator as _python
from typing import Any

import numpy as np

from tartan import _dtypes, _elementwise
from tartan._call import broadcast_shapes, integer, tensor
from tartan._manipulation import broadcast_to, concat, permute_dims, ravel, reshape
from tartan._primitives import gathered, gathered_rows, header, line, sliced, to, written
from tartan._tensor import Tensor, constant_array, from_numpy, state, tile1
from tartan._variable import Variable

_ALL = slice(None)


def index_constant(array):
    """Returns index positions as a constant in a captured function. In eager mode they are an operand, so that the
    program also serves other positions."""
    array = np.asarray(array, "int64")
    return constant_array(array) if state.trace is not None else from_numpy(array)


def _entry(part):
    """Normalizes an entry of an index: None, Ellipsis, a slice, an int, a NumPy array of positions, or a tensor of
    them."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return slice(*(None if v is None else integer(v, "a bound of a slice")
                       for v in (part.start, part.stop, part.step)))
    if isinstance(part, (bool, np.bool_)):
        return np.asarray(part)
    if isinstance(part, (list, tuple)):
        part = np.asarray(part) if len(part) else np.zeros(0, "int64")
        if part.dtype.hasobject:
            raise IndexError("lists in an index must have numbers only")
    if isinstance(part, Variable) or not isinstance(part, (Tensor, np.ndarray)) and hasattr(part, "value"):
        part = tensor(part)
    if isinstance(part, Tensor):
        part = part._as_operand()
        if part.dtype in _dtypes.FLOATS:
            raise IndexError(f"an index must have integers or bools, not {part.dtype}")
        if part.is_traced or part.dtype != "bool" and part.ndim and part._host is None:
            return part  # values not computed yet
        return part.numpy() if part.ndim or part.dtype == "bool" else int(part)
    if isinstance(part, np.ndarray) and (part.ndim or part.dtype == bool):
        if part.dtype.kind not in "iub":
            raise IndexError(f"an index must have integers or bools, not {part.dtype}")
        return part
    try:
        return _python.index(part)
    except TypeError:
        raise IndexError(f"{part!r} is not an index: use numbers, slices, ..., None, masks or tensors of integers") \
            from None


def _parsed(index, shape):
    """Returns one entry per dimension; masks become positions, `...` becomes slices. A list with slices, None or `...` is
    an index of several entries, as with torch."""
    if isinstance(index, list) and any(part is None or part is Ellipsis or isinstance(part, slice) for part in index):
        index = tuple(index)
    entries = []
    for part in index if isinstance(index, tuple) else (index,):
        part = _entry(part)
        if isinstance(part, (np.ndarray, Tensor)) and part.dtype == "bool":
            if isinstance(part, Tensor):
                part = part.numpy()  # raises ConcretizationError if there are no values
            entries.append(("mask", part))
        else:
            entries.append(part)
    used = sum(p[1].ndim if isinstance(p, tuple) else p is not None and p is not Ellipsis for p in entries)
    if used > len(shape):
        raise IndexError(f"{used} dimensions are indexed, but {list(shape)} has {len(shape)}")
    dots = [k for k, p in enumerate(entries) if p is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have a single ellipsis (...) only")
    at = dots[0] if dots else len(entries)
    entries[at:at + 1] = [_ALL] * (len(shape) - used)
    result, axis = [], 0
    for part in entries:
        if isinstance(part, tuple):
            mask = part[1]
            if mask.shape != shape[axis:axis + mask.ndim]:
                raise IndexError(f"a mask of {list(mask.shape)} does not fit {list(shape[axis:axis + mask.ndim])}")
            result += [np.asarray(p) for p in np.nonzero(mask)] if mask.ndim else [("scalar", bool(mask))]
            axis += mask.ndim
        else:
            result.append(part)
            axis += part is not None
    return result


def check_bounds(values, size, axis):
    """Raises an IndexError if known positions are out of bounds, unless they follow an unknown size."""
    if values.size and (values.min() < -size or values.max() >= size) and not state.has_open_sizes:
        raise IndexError(f"positions from {values.min()} to {values.max()} are out of bounds for axis {axis} with "
                         f"size {size}")


def _within(positions, size, axis):
    """Returns known positions after a bounds check."""
    if isinstance(positions, Tensor):
        if positions.is_traced:
            return positions
        values = positions.numpy()
    else:
        values = positions
    check_bounds(values, size, axis)
    if isinstance(positions, Tensor):
        return positions
    return index_constant(np.where(values < 0, values + size, values))


class _Plan:
    """An index in two steps: a view by slices and numbers, followed by a gather along some of its axes."""

    def __init__(self, index, shape):
        self.starts, self.steps, self.sizes = [], [], []  # step 0 for a number
        self.viewed = []  # shape after slices, numbers and None
        self.gathered = []  # (axis of the view, positions)
        self.is_adjacent = True
        axis, last = 0, None
        for place, part in enumerate(_parsed(index, shape)):
            if part is None:
                self.viewed.append(1)
                continue
            if isinstance(part, tuple):  # a single bool selects a dimension of size 1 or 0
                self._gather(place, last, np.zeros(int(part[1]), "int64"), 1)
                last = place
                continue
            size = shape[axis]
            if isinstance(part, slice):
                start, stop, step = part.indices(size)
                self._take(start, step, len(range(start, stop, step)))
                self.viewed.append(self.sizes[-1])
            elif isinstance(part, (np.ndarray, Tensor)):
                self._take(0, 1, size)
                self._gather(place, last, _within(part, size, axis), size)
                last = place
            else:
                if not -size <= part < size:
                    raise IndexError(f"index {part} is out of bounds for axis {axis} with size {size}")
                self._take(part % size, 0, 1)
            axis += 1

    def _take(self, start, step, size):
        self.starts.append(start)
        self.steps.append(step)
        self.sizes.append(size)

    def _gather(self, place, last, positions, size):
        if last is not None and place != last + 1:
            self.is_adjacent = False
        self.gathered.append((len(self.viewed), positions if isinstance(positions, Tensor)
                              else index_constant(positions)))
        self.viewed.append(size)

    def is_everything(self, shape):
        return all(s == 0 for s in self.starts) and all(s == 1 for s in self.steps) and tuple(self.sizes) == shape


def _in_bounds(numbers, shape):
    """Returns leading numbers of an index as non-negative ones."""
    for axis, (number, size) in enumerate(zip(numbers, shape)):
        if not -size <= number < size:
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {size}")
    return [number % size for number, size in zip(numbers, shape)]


def getitem(x: Tensor, index: Any) -> Tensor:
    """Returns x[index]."""
    x = tensor(x)
    numbers = index if type(index) is tuple else (index,)
    if state.trace is None and 0 < len(numbers) <= x.ndim and all(type(n) is int for n in numbers):
        return gathered_rows(x, index_constant(_in_bounds(numbers, x.shape)))
    plan = _Plan(index, x.shape)
    if not plan.is_everything(x.shape):
        x = _sliced(x, plan)
    x = reshape(x, tuple(plan.viewed))
    return _gathered(x, plan) if plan.gathered else x


def _sliced(x, plan):
    axes = [d for d, step in enumerate(plan.steps) if step == 0]
    if state.trace is None and axes == list(range(len(axes))) and axes and all(
            (a, s, n) == (0, 1, x.shape[d]) for d, (a, s, n) in enumerate(zip(plan.starts, plan.steps, plan.sizes))
            if d not in axes):
        # Leading numbers, common in loops, are operands, so that one program serves all of them.
        at = index_constant(np.array(plan.starts[:len(axes)]))
        return gathered_rows(x, at)
    return sliced(x, plan.starts, plan.steps, plan.sizes)


def _gathered(x, plan):
    axes = [axis for axis, _ in plan.gathered]
    positions = [p for _, p in plan.gathered]
    if len(axes) == 1:
        return gathered(x, positions[0], axes[0])
    shape = broadcast_shapes(*(p.shape for p in positions))
    rest = [d for d in range(x.ndim) if d not in axes]
    x = permute_dims(x, axes + rest)
    rows = [reshape(broadcast_to(to(p, _dtypes.int64), shape), (*shape, 1)) for p in positions]
    result = gathered_rows(x, concat(rows, -1))
    if not plan.is_adjacent or axes[0] == 0:
        return result
    # Adjacent gathered axes: the result's dimensions replace them in place.
    n, before = len(shape), axes[0]
    return permute_dims(result, [*range(n, n + before), *range(n), *range(n + before, result.ndim)])


# --- Functional and in-place updates.

_MODES = {"set": 0, "add": 1, "multiply": 2, "min": 3, "max": 4}


def updated(x: Tensor, index: Any, value: Any, how: str) -> Tensor:
    """Returns x with `value` at the index, cast to the dtype of x and broadcast to x[index]. If positions repeat,
    "set" stores one of the values; the other modes combine all of them."""
    x = tensor(x)
    value = tensor(value, x.dtype)
    mask = _whole_mask(index, x.shape)
    if mask is not None and how == "set" and value.ndim == 0:
        return tile1("function (M, V, X) -> (Y) { Y = M ? V : X; }", mask, value, x)
    plan = _Plan(index, x.shape)
    if plan.gathered:
        return _scattered(x, index, value, how)
    value = _fitted(value, tuple(plan.viewed))
    kept = [d for d, step in enumerate(plan.steps) if step]
    value = reshape(value, tuple(plan.sizes[d] for d in kept))
    if how != "set":
        function = getattr(_elementwise, {"min": "minimum", "max": "maximum"}.get(how, how))
        value = function(reshape(getitem(x, index), value.shape), value)
    if not x.ndim:
        return value
    if plan.is_everything(x.shape):
        return reshape(value, x.shape)
    place = written([line(a, s, f"i{d}") for d, (a, s) in enumerate(zip(plan.starts, plan.steps))], x.shape)
    read = ", ".join(f"i{d}" for d in kept)
    head = f"V[{', '.join(f'M{d}' for d in kept)}]" if kept else "V"
    return tile1(f"function ({head}, {header('X', x.ndim)}) -> (Y) {{ Y{place} = =(V[{read}]) default X; }}",
                 value, x)


def _whole_mask(index, shape):
    """Returns a mask over all elements, which needs no known values, or None."""
    if isinstance(index, np.ndarray) and index.dtype == bool:
        index = from_numpy(index)
    if isinstance(index, Tensor) and index.dtype == "bool" and index.shape == shape:
        return index
    return None


def _fitted(value, shape):
    """Broadcasts a value to a shape; drops leading dimensions of size 1 as NumPy does."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    return broadcast_to(value, shape)


def _scattered(x, index, value, how):
    places = getitem(index_constant(np.arange(x.size).reshape(x.shape)), index)
    value = ravel(_fitted(value, places.shape))
    text = f"function (X, I, V) -> (Y) {{ Y = scatter_nd(X, I, V, {_MODES[how]}); }}"
    if x.dtype == "bool":
        wide = tile1(text, to(ravel(x), _dtypes.int32), reshape(places, (places.size, 1)), to(value, _dtypes.int32))
        return reshape(to(wide, _dtypes.bool_), x.shape)
    return reshape(tile1(text, ravel(x), reshape(places, (places.size, 1)), value), x.shape)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Implements x[index] = value."""
    x._rebind(updated(x, index, value, "set"))


class At:
    """x.at: x.at[index] refers to elements of x."""

    __slots__ = ("_tensor",)

    def __init__(self, x):
        self._tensor = x

    def __getitem__(self, index: Any) -> "Place":
        return Place(self._tensor, index)


class Place:
    """Elements to be read or updated functionally; x itself does not change."""

    __slots__ = ("_tensor", "_index")

    def __init__(self, x, index):
        self._tensor, self._index = x, index

    def get(self) -> Tensor:
        """Returns x[index]."""
        return getitem(self._tensor, self._index)

    def set(self, value: Any) -> Tensor:
        """Returns x with the elements replaced by `value`."""
        return updated(self._tensor, self._index, value, "set")

    def add(self, value: Any) -> Tensor:
        """Returns x with `value` added. Repeated positions accumulate."""
        return updated(self._tensor, self._index, value, "add")

    def multiply(self, value: Any) -> Tensor:
        """Returns x with the elements multiplied by `value`."""
        return updated(self._tensor, self._index, value, "multiply")

    def divide(self, value: Any) -> Tensor:
        """Returns x with the elements divided by `value`; x must have floats."""
        return updated(self._tensor, self._index, 1 / tensor(value, self._tensor.dtype), "multiply")

    def min(self, value: Any) -> Tensor:
        """Returns x with the minimum of the elements and `value`."""
        return updated(self._tensor, self._index, value, "min")

    def max(self, value: Any) -> Tensor:
        """Returns x with the maximum of the elements and `value`."""
        return updated(self._tensor, self._index, value, "max")
