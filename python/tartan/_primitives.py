# SPDX-License-Identifier: Apache-2.0
"""Operations on tensors with checked arguments: dtypes that fit, known axes and sizes. Functions of tartan and of
keras_tartan check and convert their arguments, each by its own rules, and call these operations. Results have the class
of the operands. While a model is exported to ONNX, an operation is applied as its ONNX operator."""

import functools

import numpy as np

from tartan import _dtypes
from tartan._onnx_types import NUMBERS
from tartan._tensor import constant, constant_array, operator, state, tile1

# --- Parts of Tile texts.


@functools.lru_cache(None)
def names(letter, rank):
    """Returns names of dimensions or indices, such as 'N0, N1'."""
    return ", ".join(f"{letter}{d}" for d in range(rank))


def header(name, rank, letter="N"):
    """Returns an operand with names for its sizes, such as 'X[N0, N1]'."""
    return f"{name}[{names(letter, rank)}]"


def written(indices, dims):
    """Returns an output's indices and sizes, such as '[i0, i1 : N0, N1]'."""
    return f"[{', '.join(map(str, indices))} : {', '.join(map(str, dims))}]" if indices else "[]"


def size_of(shape):
    size = 1
    for dim in shape:
        size *= dim
    return size


def is_exported():
    """Returns True while a model is exported to ONNX."""
    return state.notes is not None


def _ints(values):
    return constant_array(np.array(values, "int64"))


# --- Element types.

CASTS = {f"float{n}": f"as_float(%s, {n})" for n in (16, 32, 64)}
CASTS |= {f"{sign}int{n}": f"as_{sign}int(%s, {n})" for sign in ("", "u") for n in (8, 16, 32, 64)}
CASTS |= {"bfloat16": "as_bfloat(%s)", "bool": "as_bool(%s)"}
_CAST_TEXTS = {name: "function (X) -> (Y) { Y = " + text % "X" + "; }" for name, text in CASTS.items()}


def to(x, dtype):
    """Converts a tensor to another dtype."""
    if x.dtype == dtype:
        return x
    if is_exported():
        return operator("Cast", [x], to=NUMBERS[dtype])
    return tile1(_CAST_TEXTS[dtype], x)


# --- Shapes.


def reshaped(x, shape):
    """Returns the elements in row-major order with a shape of the same size."""
    if tuple(shape) == x.shape:
        return x
    if is_exported():
        return operator("Reshape", [x, _ints(shape)], allowzero=1)
    return tile1(f"function (X) -> (Y) {{ Y = reshape({', '.join(['X', *map(str, shape)])}); }}", x)


@functools.lru_cache(None)
def _permutation(perm):
    indices = ["" for _ in perm]
    for d, source in enumerate(perm):
        indices[source] = f"i{d}"
    out = written([f"i{d}" for d in range(len(perm))], [f"N{p}" for p in perm])
    return f"function ({header('X', len(perm))}) -> (Y) {{ Y{out} = =(X[{', '.join(indices)}]); }}"


def permuted(x, perm):
    """Permutes dimensions: dimension d of the result is dimension perm[d] of x."""
    perm = tuple(perm)
    if perm == tuple(range(x.ndim)):
        return x
    if is_exported():
        return operator("Transpose", [x], perm=list(perm))
    return tile1(_permutation(perm), x)


def expanded(x, shape):
    """Broadcasts x to a shape that it fits."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    if is_exported():
        return operator("Expand", [x, _ints(shape)])
    return tile1(_expansion(x.shape, shape), x)


@functools.lru_cache(1024)
def _expansion(dims, shape):
    lead = len(shape) - len(dims)
    indices = ["0" if d == 1 and shape[lead + k] != 1 else f"i{lead + k}" for k, d in enumerate(dims)]
    out = written([f"i{d}" for d in range(len(shape))], shape)
    return f"function (X) -> (Y) {{ Y{out} = =(X[{', '.join(indices)}]); }}"


def joined(arrays, axis):
    """Concatenates tensors of one dtype whose sizes differ along the axis only."""
    if is_exported():
        return operator("Concat", arrays, axis=axis)
    kept = [x for x in arrays if x.shape[axis]] or [arrays[0]]
    while len(kept) > 1:
        kept = [_joined(kept[k:k + 32], axis) for k in range(0, len(kept), 32)]
    return kept[0]


def _joined(arrays, axis):
    if len(arrays) == 1:
        return arrays[0]
    dims = list(arrays[0].shape)
    sizes = tuple(x.shape[axis] for x in arrays)
    dims[axis] = sum(sizes)
    return tile1(_concatenation(tuple(dims), axis, sizes), *arrays)


@functools.lru_cache(1024)
def _concatenation(dims, axis, sizes):
    statements, offset = [], 0
    indices = [f"i{d}" for d in range(len(dims))]
    out = written(indices, dims)
    for k, size in enumerate(sizes):
        read = ", ".join(f"i{d} - {offset}" if d == axis and offset else i for d, i in enumerate(indices))
        statements.append(f"O{k}{out} = =(X{k}[{read}]){f' default O{k - 1}' if k else ''};")
        offset += size
    return f"function ({names('X', len(sizes))}) -> (O{len(sizes) - 1}) {{ {' '.join(statements)} }}"


def stacked(arrays, axis):
    """Joins tensors of one dtype and shape along a new axis."""
    shape = arrays[0].shape
    return joined([reshaped(x, (*shape[:axis], 1, *shape[axis:])) for x in arrays], axis)


def sliced(x, starts, steps, sizes):
    """Returns x[starts + steps * i] for i < sizes, with one entry per dimension. A step of 0 drops the dimension."""
    kept = [d for d, step in enumerate(steps) if step]
    if len(kept) == x.ndim and not any(starts) and all(s == 1 for s in steps) and tuple(sizes) == x.shape:
        return x
    if is_exported():
        return _exported_slice(x, starts, steps, sizes, kept)
    read = ", ".join(line(a, s, f"i{d}") for d, (a, s) in enumerate(zip(starts, steps)))
    out = written([f"i{d}" for d in kept], [sizes[d] for d in kept])
    return tile1(f"function (X) -> (Y) {{ Y{out} = =(X[{read}]); }}", x)


def line(start, step, letter):
    """Returns the positions `start + step * letter` as an index of a Tile text."""
    if step == 0:
        return str(start)
    return f"{start} + {step}*{letter}" if step > 0 else f"{start} - {-step}*{letter}"



def _exported_slice(x, starts, steps, sizes, kept):
    axes = [d for d, n in enumerate(x.shape) if (starts[d], steps[d], sizes[d]) != (0, 1, n)]
    ends = [starts[d] + (steps[d] or 1) * sizes[d] for d in axes]
    ends = [end if end >= 0 else -x.shape[d] - 1 for d, end in zip(axes, ends)]
    x = operator("Slice", [x, _ints([starts[d] for d in axes]), _ints(ends), _ints(axes), _ints([steps[d] or 1 for d in axes])])
    return reshaped(x, [sizes[d] for d in kept])


def tiled(x, counts):
    """Repeats x along each of its dimensions."""
    if is_exported():
        return operator("Tile", [x, _ints(counts)])
    narrow = [n for d in x.shape for n in (1, d)]
    wide = [n for c, d in zip(counts, x.shape) for n in (c, d)]
    return reshaped(expanded(reshaped(x, narrow), wide), [c * d for c, d in zip(counts, x.shape)])


# --- Elements at positions.


def gathered(x, indices, axis):
    """Returns the elements at positions of any shape along an axis."""
    if is_exported():
        return operator("Gather", [x, indices], axis=axis)
    return tile1(f"function (X, I) -> (Y) {{ Y = gather(X, I, {axis}); }}", x, indices)


def gathered_elements(x, indices, axis):
    """Returns y[i, j] = x[indices[i, j], j] for axis 0, and analogously for other axes."""
    if is_exported():
        return operator("GatherElements", [x, indices], axis=axis)
    return tile1(f"function (X, I) -> (Y) {{ Y = gather_elements(X, I, {axis}); }}", x, indices)


def gathered_rows(x, indices):
    """Returns the parts of x at positions given by the last dimension of the indices."""
    if is_exported():
        return operator("GatherND", [x, indices])
    return tile1("function (X, I) -> (Y) { Y = gather_nd(X, I); }", x, indices)


def ordered(x, name, axis, descending=False, count=0):
    """Sorts ("sort") or returns the positions that sort ("argsort", the first `count` of them). Bools are sorted as
    numbers."""
    x = to(x, _dtypes.uint8) if x.dtype == "bool" else x
    wanted = f", {count}" if count else ""
    return tile1(f"function (X) -> (Y) {{ Y = {name}(X, {axis}, {int(descending)}{wanted}); }}", x)


def first_of(x, k, axis, descending):
    """Returns the first k > 0 elements of the sorted ones along an axis, and their positions."""
    if is_exported():
        return operator("TopK", [x, _ints([k])], 2, axis=axis, largest=int(descending))
    positions = ordered(x, "argsort", axis, descending, k)
    return gathered_elements(x, positions, axis), positions


def cumulated(x, name, axis):
    """Returns the cumulative sum ("cumsum") or multiplication ("cumprod") along an axis."""
    return tile1(f"function (X) -> (Y) {{ Y = {name}(X, {axis}); }}", x)


# --- Reductions.

_REDUCTIONS = {"+": "ReduceSum", "*": "ReduceProd", ">": "ReduceMax", "<": "ReduceMin"}


@functools.lru_cache(None)
def _reduction(aggregation, rank, axes):
    kept = [d for d in range(rank) if d not in axes]
    out = written([f"i{d}" for d in kept], [f"N{d}" for d in kept])
    return f"function ({header('X', rank)}) -> (Y) {{ Y{out} = {aggregation}(X[{names('i', rank)}]); }}"


def kept_shape(shape, axes, keepdims):
    """Returns the shape of a reduction's result."""
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)


def reduced(x, aggregation, axes, keepdims=False):
    """Reduces over axes by "+", "*", ">" (maximum) or "<" (minimum)."""
    if not axes:
        return x
    if is_exported():
        return operator(_REDUCTIONS[aggregation], [x, _ints(axes)], keepdims=int(keepdims))
    result = tile1(_reduction(aggregation, x.ndim, tuple(axes)), x)
    return reshaped(result, kept_shape(x.shape, axes, keepdims)) if keepdims else result


def averaged(x, axes, keepdims=False):
    """Returns the mean of floats over axes. 16-bit floats are summed as float32."""
    wide = to(x, _dtypes.float32) if x.dtype in ("float16", "bfloat16") else x
    if is_exported() and axes:
        return to(operator("ReduceMean", [wide, _ints(axes)], keepdims=int(keepdims)), x.dtype)
    total = reduced(wide, "+", axes, keepdims)
    count = constant(size_of(x.shape[d] for d in axes), wide.dtype)
    return to(tile1("function (X, N) -> (Y) { Y = X / N; }", total, count), x.dtype)


def extreme_position(x, axis, is_max):
    """Returns the first position of the maximum (minimum) along an axis, or of the first NaN."""
    if is_exported():
        return operator("ArgMax" if is_max else "ArgMin", [x], axis=axis, keepdims=0)
    extreme = reduced(x, ">" if is_max else "<", (axis,), True)
    nan = " || isnan(X)" if x.dtype in _dtypes.FLOATS else ""
    at = tile1(f"function (X, E) -> (Y) {{ Y = X == E{nan} ? as_int(index(X, {axis}), 64) : {x.shape[axis]}; }}", x, extreme)
    return reduced(at, "<", (axis,))


def selected(condition, x, y):
    """Returns x where the condition, a tensor of bools, is true, and y elsewhere; shapes broadcast."""
    if is_exported():
        return operator("Where", [condition, x, y])
    return tile1("function (P, A, B) -> (C) { C = P ? A : B; }", condition, x, y, function="where")
