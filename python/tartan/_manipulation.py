# SPDX-License-Identifier: Apache-2.0
"""Shape manipulation: the same elements in other shapes and orders."""

import numpy as np

from tartan import _core, _dtypes
from tartan._call import alike, axes_of, axis_of, broadcast_shapes, integer, shape_of, stack, tensor
from tartan._primitives import (expanded, is_exported, joined, permuted, reshaped, selected, size_of, sliced,
                                tiled)
from tartan._tensor import constant, constant_array, tile1
from tartan._tensor import tile as tile_text


def reshape(x, /, shape, copy=None):
    """Returns the elements in row-major order with a new shape; one size may be -1. ValueError if the sizes do not
    match."""
    x = tensor(x)
    shape, size = shape_of(shape), x.size
    if -1 in shape:
        rest = size_of(d for d in shape if d != -1)
        if shape.count(-1) > 1 or rest == 0 or size % rest:
            raise ValueError(f"cannot reshape {list(x.shape)} into {list(shape)}")
        shape = tuple(size // rest if d == -1 else d for d in shape)
    if shape == x.shape:
        return x
    if size_of(shape) != size or min(shape, default=0) < 0:
        raise ValueError(f"cannot reshape {list(x.shape)} into {list(shape)}")
    return reshaped(x, shape)


def ravel(x, /):
    """Returns the elements as a vector in row-major order."""
    x = tensor(x)
    return reshape(x, (x.size,))


def permute_dims(x, /, axes):
    """Permutes dimensions: dimension d of the result is dimension axes[d] of x."""
    x = tensor(x)
    perm = tuple(axis_of(a, x.ndim) for a in axes)
    if sorted(perm) != list(range(x.ndim)):
        raise ValueError(f"axes {tuple(axes)} do not permute the dimensions of {list(x.shape)}")
    return permuted(x, perm)


def transpose(x, /, axes=None):
    """Permutes dimensions; reverses them without `axes`."""
    x = tensor(x)
    return permute_dims(x, range(x.ndim)[::-1] if axes is None else axes)


def matrix_transpose(x, /):
    """Swaps the last two dimensions."""
    return swapaxes(x, -1, -2)


def swapaxes(x, axis1, axis2):
    """Swaps two dimensions."""
    x = tensor(x)
    perm = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    perm[a], perm[b] = b, a
    return permute_dims(x, perm)


def moveaxis(x, source, destination, /):
    """Moves dimensions to other positions; the others keep their order."""
    x = tensor(x)
    listed = [(a,) if not isinstance(a, (tuple, list)) else a for a in (source, destination)]
    source, destination = ([axis_of(a, x.ndim) for a in axes] for axes in listed)
    if len(source) != len(destination) or len(set(source)) < len(source) or len(set(destination)) < len(source):
        raise ValueError(f"axes {source} and {destination} differ in number")
    perm = [a for a in range(x.ndim) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        perm.insert(to, axis)
    return permute_dims(x, perm)


def broadcast_to(x, /, shape):
    """Broadcasts x to a shape. ValueError if it does not fit."""
    x, shape = tensor(x), shape_of(shape)
    if x.shape == shape:
        return x
    if len(shape) < x.ndim or broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"{list(x.shape)} does not broadcast to {list(shape)}")
    return expanded(x, shape)


def broadcast_arrays(*arrays):
    """Broadcasts all arrays to their common shape."""
    arrays = [tensor(x) for x in arrays]
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def expand_dims(x, /, axis=0):
    """Inserts dimensions of size 1 at the given positions of the result."""
    x = tensor(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = axes_of(tuple(axes), x.ndim + len(axes))
    sizes = iter(x.shape)
    return reshape(x, tuple(1 if d in axes else next(sizes) for d in range(x.ndim + len(axes))))


def squeeze(x, /, axis=None):
    """Removes dimensions of size 1: the given ones, or all."""
    x = tensor(x)
    axes = tuple(d for d, n in enumerate(x.shape) if n == 1) if axis is None else axes_of(axis, x.ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"axis {a} of {list(x.shape)} is not 1")
    return reshape(x, tuple(n for d, n in enumerate(x.shape) if d not in axes))


def concat(arrays, /, axis=0):
    """Concatenates arrays along an axis, or flattened if it is None, in their promoted dtype."""
    arrays = alike(arrays)
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    first = arrays[0]
    rank = first.ndim
    axis = axis_of(axis, rank)
    for x in arrays[1:]:
        if x.ndim != rank or any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != axis):
            raise ValueError(f"{list(first.shape)} and {list(x.shape)} cannot be concatenated along axis {axis}")
    return joined(arrays, axis)


concatenate = concat


def part(x, axis, start, stop):
    """Returns x[start:stop] along an axis."""
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[axis], sizes[axis] = start, stop - start
    return sliced(x, starts, [1] * x.ndim, sizes)


def flip(x, /, axis=None):
    """Reverses the order of elements along the given axes (default: all)."""
    x = tensor(x)
    axes = axes_of(axis, x.ndim)
    starts = [n - 1 if d in axes and n else 0 for d, n in enumerate(x.shape)]
    return sliced(x, starts, [-1 if d in axes else 1 for d in range(x.ndim)], x.shape)


def roll(x, /, shift, axis=None):
    """Shifts elements cyclically along axes; without an axis, in row-major order."""
    x = tensor(x)
    if axis is None:
        return reshape(roll(ravel(x), sum(shift) if isinstance(shift, (tuple, list)) else shift, 0), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for a, by in zip(axes if len(axes) > 1 else axes * len(shifts), shifts):
        a = axis_of(a, x.ndim)
        by = integer(by, "a shift") % max(1, x.shape[a])
        if by:
            n = x.shape[a]
            x = concat([part(x, a, n - by, n), part(x, a, 0, n - by)], a)
    return x


def split(x, indices_or_sections, axis=0):
    """Splits x along an axis into a number of equal parts, or before each of the indices. ValueError if the parts
    are unequal."""
    x = tensor(x)
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if n % indices_or_sections:
            raise ValueError(f"axis {axis} of {list(x.shape)} cannot be split into {indices_or_sections} equal parts")
        cuts = range(0, n + 1, n // indices_or_sections) if n else [0] * (indices_or_sections + 1)
    else:
        inner = [integer(c) for c in indices_or_sections]
        cuts = [0, *(max(0, min(n, c + n if c < 0 else c)) for c in inner), n]
    return [part(x, axis, a, max(a, b)) for a, b in zip(cuts, cuts[1:])]


def array_split(x, indices_or_sections, axis=0):
    """Splits like `split`, but the first parts may be one element longer."""
    x = tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, longer = divmod(x.shape[axis_of(axis, x.ndim)], indices_or_sections)
    return split(x, [size * k + min(k, longer) for k in range(1, indices_or_sections)], axis)


def unstack(x, /, axis=0):
    """Returns a tuple of the slices along an axis."""
    x = tensor(x)
    axis = axis_of(axis, x.ndim)
    return tuple(squeeze(part(x, axis, k, k + 1), axis) for k in range(x.shape[axis]))


def tile(x, /, *rest, **options):
    """`tile(x, repetitions)` repeats x along each dimension, as numpy.tile. `tile(text)` is different: it returns a
    differentiable function of tensors written in the Tile language. The function returns a tensor, or a list of
    tensors if the text has several outputs. `tile(text, *tensors)` applies it at once and always returns a list.

        product = tartan.tile("function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }")
        c = product(a, b)

    ValueError for an invalid text (immediately) and for operands that do not fit it. `name=` is the name of the text
    in error messages."""
    if isinstance(x, str):
        return tile_text(x, *rest, refuses_infeasible=True, **options) if rest else _function_of(x, **options)
    (repetitions,) = rest or options.values()
    x, counts = tensor(x), shape_of(repetitions)
    counts = (1,) * (x.ndim - len(counts)) + counts
    return tiled(reshaped(x, (1,) * (len(counts) - x.ndim) + x.shape), counts)


def _function_of(text, name=""):
    _core.parse_tile(text, name)  # reports its errors now

    def apply(*tensors):
        outputs = tile_text(text, *(tensor(x) for x in tensors), name=name, refuses_infeasible=True)
        return outputs[0] if len(outputs) == 1 else outputs

    apply.__name__ = name or "tile"
    apply.__doc__ = text
    return apply


def tril(x, /, k=0):
    """Returns matrices with zeros above diagonal k."""
    return _triangle(x, "<=", k)


def triu(x, /, k=0):
    """Returns matrices with zeros below diagonal k."""
    return _triangle(x, ">=", k)


def _triangle(x, relation, k):
    x = tensor(x)
    if x.ndim < 2:
        raise ValueError(f"expected a matrix, not the shape {list(x.shape)}")
    if is_exported():
        rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
        mask = columns - rows <= k if relation == "<=" else columns - rows >= k
        return selected(constant_array(mask), x, constant(0, x.dtype))
    zero = "0" if x.dtype in _dtypes.SIGNED + _dtypes.UNSIGNED + _dtypes.FLOATS else "(X != X)"
    return tile1(f"function (X) -> (Y) {{ Y = index(X, {x.ndim - 1}) - index(X, {x.ndim - 2}) {relation} {k} "
                 f"? X : {zero}; }}", x)


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__ and name != "part"] + ["stack"]
