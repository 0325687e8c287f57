# SPDX-License-Identifier: Apache-2.0
"""Matrix and vector multiplication, all as contractions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tartan import _dtypes
from tartan._call import alike, axis_of, broadcast_shapes, pair, tensor
from tartan._manipulation import moveaxis, reshape, stack, unstack
from tartan._primitives import gathered, is_exported, reshaped, to, written
from tartan._reductions import sum as summed
from tartan._rows import ROWS
from tartan._tensor import Tensor, constant_array, operator, tile1

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _terms(subscripts, ranks):
    """Returns the index letters of each operand and of the result; expands `...` to separate letters, and orders
    implicit results."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum '{subscripts}' has {len(terms)} operands, not {len(ranks)}")
    free = [c for c in _LETTERS[::-1] if c not in text]
    lead = max((rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks) if "..." in term), default=0)
    dots = free[:lead]
    if not arrow:
        letters = sorted(c for c in set(inputs) if c.isalpha() and inputs.count(c) == 1)
        output = ("..." if "..." in inputs else "") + "".join(letters)
    expanded = []
    for term, rank in zip(terms, ranks):
        count = rank - len(term.replace("...", ""))
        if count < 0 or "..." not in term and count:
            raise ValueError(f"einsum '{subscripts}': '{term}' does not name {rank} dimensions")
        expanded.append(list(term.replace("...", "".join(dots[lead - count:]))))
    result = list(output.replace("...", "".join(dots)))
    for c in result:
        if result.count(c) > 1 or not any(c in term for term in expanded):
            raise ValueError(f"einsum '{subscripts}': '{c}' of the result must be an index of an operand, and occur once")
    return expanded, result


def _sizes(terms, operands, subscripts):
    sizes = {}
    for term, x in zip(terms, operands):
        for c, n in zip(term, x.shape):
            if sizes.setdefault(c, n) != n:
                if 1 not in (sizes[c], n):
                    raise ValueError(f"einsum '{subscripts}': index '{c}' is {sizes[c]} and {n}")
                sizes[c] = max(n, sizes[c]) if 0 not in (n, sizes[c]) else 0
    return sizes


def _contracted(terms, operands, out, sizes):
    """Returns one contraction of one or two tensors."""
    def read(name, term, x):
        entries = ["0" if n == 1 != sizes[c] else f"i_{c}" for c, n in zip(term, x.shape)]
        return f"{name}[{', '.join(entries)}]"

    result = f"[{', '.join(f'i_{c}' for c in out)} : {', '.join(str(sizes[c]) for c in out)}]" if out else "[]"
    reads = " * ".join(read(f"X{k}", term, x) for k, (term, x) in enumerate(zip(terms, operands)))
    names = ", ".join(f"X{k}" for k in range(len(operands)))
    return tile1(f"function ({names}) -> (Y) {{ Y{result} = +({reads}); }}", *operands)


def einsum(subscripts: str, /, *operands: Any) -> Tensor:
    """Sums of multiplied elements in Einstein notation, as numpy.einsum: 'ij,jk->ik'. More than two operands are
    contracted from left to right. ValueError for subscripts that do not fit the operands."""
    tensors = alike(operands)
    terms, out = _terms(subscripts, [x.ndim for x in tensors])
    dtype = tensors[0].dtype
    if len(tensors) > 2 and dtype in ("float16", "bfloat16"):  # no roundings in between
        tensors = [to(x, _dtypes.float32) for x in tensors]
    sizes = _sizes(terms, tensors, subscripts)
    while len(tensors) > 2:
        later = {c for term in terms[2:] for c in term} | set(out)
        middle = [c for c in dict.fromkeys(terms[0] + terms[1]) if c in later]
        tensors[:2] = [_contracted(terms[:2], tensors[:2], middle, sizes)]
        terms[:2] = [middle]
    return to(_contracted(terms, tensors, out, sizes), dtype)


def _checked_numbers(a, b, name):
    a, b = pair(a, b)
    if not a.ndim or not b.ndim:
        raise ValueError(f"{name} takes tensors with dimensions, not {list(a.shape)} and {list(b.shape)}")
    return a, b


@functools.lru_cache(4096)
def _matmul_text(a, b):
    lead = broadcast_shapes(a[:-2], b[:-2])

    def read(name, shape, indices):
        skipped = len(lead) - len(shape[:-2])
        batch = ["0" if n == 1 != lead[skipped + d] else f"b{skipped + d}" for d, n in enumerate(shape[:-2])]
        return f"{name}[{', '.join([*batch, *indices[-len(shape):]])}]"

    right = read("B", b, ["k", "j"]) if len(b) > 1 else "B[k]"
    indices = [*(f"b{d}" for d in range(len(lead))), *["i"][:len(a) - 1], *["j"][:len(b) - 1]]
    out = written(indices, [*lead, *a[-2:-1], *b[1:][-1:]])
    return f"function (A, B) -> (C) {{ C{out} = +({read('A', a, ['i', 'k'])} * {right}); }}"


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Matrix multiplication over the last two dimensions, x1[..., M, K] @ x2[..., K, N]; leading dimensions
    broadcast. Vectors act as a row or a column. ValueError if the sizes differ."""
    a, b = _checked_numbers(x1, x2, "matmul")
    inner = a.shape[-1], b.shape[-2 if b.ndim > 1 else -1]
    if inner[0] != inner[1]:
        raise ValueError(f"matmul of {list(a.shape)} and {list(b.shape)}: {inner[0]} is not {inner[1]}")
    if a.ndim > 2 and b.ndim > 2:
        try:
            broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError as error:
            raise ValueError(f"matmul of {list(a.shape)} and {list(b.shape)}: {error}") from None
    if is_exported():
        return operator("MatMul", [a, b])
    return tile1(_matmul_text(a.shape, b.shape), a, b)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Contracts pairs of axes: the last n axes of x1 with the first n of x2, or two lists of axes."""
    a, b = pair(x1, x2)
    if isinstance(axes, int):
        first, second = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        first, second = ([axis_of(d, x.ndim) for d in (listed if isinstance(listed, (tuple, list)) else (listed,))]
                         for listed, x in zip(axes, (a, b)))
    if len(first) != len(second) or any(a.shape[p] != b.shape[q] for p, q in zip(first, second)):
        raise ValueError(f"tensordot of {list(a.shape)} and {list(b.shape)} over {first} and {second}")
    left, right = list(_LETTERS[:a.ndim]), list(_LETTERS[a.ndim:a.ndim + b.ndim])
    for p, q in zip(first, second):
        right[q] = left[p]
    out = [c for d, c in enumerate(left) if d not in first] + [c for d, c in enumerate(right) if d not in second]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Dot operation along one axis; the others broadcast."""
    a, b = _checked_numbers(x1, x2, "vecdot")
    if not -min(a.ndim, b.ndim) <= axis < 0:
        raise ValueError(f"vecdot over axis {axis} of {list(a.shape)} and {list(b.shape)}: the axis must be negative")
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot of {list(a.shape)} and {list(b.shape)} over axis {axis}")
    return einsum("...i,...i->...", moveaxis(a, axis, -1), moveaxis(b, axis, -1))


def outer(x1: Any, x2: Any, /) -> Tensor:
    """Multiplies each element of vector x1[M] by each element of x2[N]: [M, N]. ValueError for other shapes."""
    a, b = pair(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer takes vectors, not {list(a.shape)} and {list(b.shape)}")
    return ROWS["multiply"](reshape(a, (a.size, 1)), reshape(b, (1, b.size)))


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """Returns the diagonals of the matrices in the last two dimensions; a positive offset selects one above the main
    diagonal."""
    x = tensor(x)
    if x.ndim < 2:
        raise ValueError(f"expected a matrix, not the shape {list(x.shape)}")
    rows, columns = x.shape[-2:]
    size = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    if is_exported():
        at = (max(0, -offset) + np.arange(size)) * columns + max(0, offset) + np.arange(size)
        return gathered(reshaped(x, (*x.shape[:-2], rows * columns)), constant_array(at), x.ndim - 2)
    lead = [f"i{d}" for d in range(x.ndim - 2)]
    read = ", ".join([*lead, f"k + {max(0, -offset)}", f"k + {max(0, offset)}"])
    out, dims = ", ".join([*lead, "k"]), ", ".join(map(str, [*x.shape[:-2], size]))
    return tile1(f"function (X) -> (Y) {{ Y[{out} : {dims}] = =(X[{read}]); }}", x)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Returns the sum of a diagonal of each matrix. Result dtypes are as for sum."""
    return summed(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Cross multiplication of vectors of length 3 along an axis; the others broadcast."""
    a, b = pair(x1, x2)
    shape = broadcast_shapes(a.shape, b.shape)
    if not -min(a.ndim, b.ndim) <= axis < 0 and (axis < 0 or a.ndim != b.ndim) or a.shape[axis] != 3 or \
            b.shape[axis] != 3:
        raise ValueError(f"cross of {list(a.shape)} and {list(b.shape)} along axis {axis}, which is not 3")
    p, q = unstack(a, axis=axis), unstack(b, axis=axis)
    times, minus = ROWS["multiply"], ROWS["subtract"]
    return stack([minus(times(p[k - 2], q[k - 1]), times(p[k - 1], q[k - 2])) for k in range(3)],
                 axis=axis_of(axis, len(shape)))


def kron(x1: Any, x2: Any, /) -> Tensor:
    """Kronecker multiplication: every element of x1 multiplied by all of x2. Matrices [M, N] and [P, Q] give [M P, N Q]."""
    a, b = pair(x1, x2)
    rank = max(a.ndim, b.ndim)
    shapes = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    a, b = reshape(a, [d for n in shapes[0] for d in (n, 1)]), reshape(b, [d for n in shapes[1] for d in (1, n)])
    return reshape(ROWS["multiply"](a, b), [m * n for m, n in zip(*shapes)])


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__]
