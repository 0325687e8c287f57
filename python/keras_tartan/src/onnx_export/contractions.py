# SPDX-License-Identifier: Apache-2.0
"""Writes Tile contractions that correspond to ONNX operators: each index is a single variable over a whole
dimension."""

import math

from keras_tartan.src.onnx_export import views
from keras_tartan.src.onnx_export.elementwise import Value

_REDUCTIONS = {"+": "ReduceSum", "*": "ReduceProd", ">": "ReduceMax", "<": "ReduceMin"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write(parts, function, step, graph, scope):
    """Writes a contraction, given as `parts` (one per run), and returns its value."""
    contraction = parts[0]
    if contraction.default is not None:
        raise step.refused("contractions with a default are not supported")
    if contraction.combination not in ("", "*"):
        raise step.refused(f"a contraction that combines by '{contraction.combination}' is not written")
    if contraction.aggregation == "=" and len(contraction.reads) == 1 and not contraction.bounds:
        return _copied(parts, function, step, graph, scope)
    reads = [_Read(name, indices, function, step) for name, indices in contraction.reads]
    out = [_variable(i) for i in contraction.indices]
    if None in out or len(set(out)) != len(out) or not all(r.is_plain for r in reads):
        raise step.refused("contractions whose indices are not single variables are not supported")
    if any(r.rank is None for r in reads):
        raise step.refused("contractions of values that the same text computes are not supported")
    _check(contraction, reads, out, _named_sizes(function, step), step)
    if len(reads) == 1:
        return _of_one(contraction, reads[0], out, step, graph, scope)
    if contraction.aggregation != "+":
        raise step.refused(f"contractions that aggregate products by '{contraction.aggregation}' are not supported")
    return _product(reads, out, step, graph, scope)


def _copied(parts, function, step, graph, scope):
    name = parts[0].reads[0][0]
    if name not in function.inputs:
        raise step.refused("copies of values that the same text computes are not supported")
    entry = step.inputs[function.inputs.index(name)]
    named = _named_sizes(function, step)
    try:
        sizes = [[named[s.name][run] if s.name in named else views.number(s) for s in part.sizes]
                 for run, part in enumerate(parts)]
        return views.write(parts, sizes, [entry.dim(axis) for axis in range(entry.rank)], scope[name], step, graph)
    except views.NoView as error:
        raise step.refused(f"the copy is not supported: {error}") from None


def _variable(index):
    return index.name if index.name is not None and index.name[0].islower() else None


class _Read:
    def __init__(self, name, indices, function, step):
        self.name = name
        self.variables = [_variable(i) for i in indices]
        entry = step.inputs[function.inputs.index(name)] if name in function.inputs else None
        self.rank = None if entry is None else entry.rank
        self.sizes = [] if entry is None else [entry.dim(axis) for axis in range(entry.rank)]
        is_zero = [i.number == 0 for i in indices]
        self.is_plain = all(v is not None or zero for v, zero in zip(self.variables, is_zero))
        self.zeros = [axis for axis, zero in enumerate(is_zero) if zero]


def _named_sizes(function, step):
    """Returns the sizes that have names in the text."""
    result = {}
    for entry, dims in zip(step.inputs, function.dims):
        for axis, dim in enumerate(dims or ()):
            if not dim.isdigit():
                result[dim] = entry.dim(axis)
    return result


def _is_size(expression, size, named):
    """Returns True if an expression equals a size in the first run, to which the text belongs."""
    return expression.number == size[0] or expression.name is not None and named.get(expression.name) == size


def _check(contraction, reads, out, named, step):
    """Checks that variables cover whole dimensions, so that sizes and bounds in the text have no effect."""
    sizes = {}
    for read in reads:
        for variable, size in zip(read.variables, read.sizes):
            if variable is not None and sizes.setdefault(variable, size) != size:
                raise step.refused("contractions over parts of dimensions are not supported")
    for index, size in zip(out, contraction.sizes):
        if index not in sizes or not _is_size(size, sizes[index], named):
            raise step.refused("contractions into other sizes are not supported")
    for index, bound in contraction.bounds:
        if _variable(index) not in sizes or not _is_size(bound, sizes[_variable(index)], named):
            raise step.refused("contractions with bounds are not supported")


def _squeezed(read, step, graph, scope):
    """Removes dimensions of size 1 with index 0 from an operand. Also returns its variables."""
    value = scope[read.name]
    if any(read.sizes[axis] != [1] * len(read.sizes[axis]) for axis in read.zeros):
        raise step.refused("contractions over parts of dimensions are not supported")
    name = value.name
    if read.zeros:
        name = graph.emit("Squeeze", [name, graph.ints(read.zeros)], step.where)
    return name, value.dtype, [v for v in read.variables if v is not None]


def _of_one(contraction, read, out, step, graph, scope):
    name, dtype, variables = _squeezed(read, step, graph, scope)
    if len(set(variables)) != len(variables):
        raise step.refused("contractions along a diagonal are not supported")
    gone = [axis for axis, v in enumerate(variables) if v not in out]
    if contraction.aggregation not in _REDUCTIONS:
        raise step.refused(f"contractions by '{contraction.aggregation}' are not supported")
    if gone:
        if dtype in ("float16", "bfloat16"):
            name, dtype = graph.cast(name, "float32", step.where), "float32"
        op = _REDUCTIONS[contraction.aggregation]
        if op == "ReduceSum" or graph.opset >= 18:
            name = graph.emit(op, [name, graph.ints(gone)], step.where, keepdims=0)
        else:
            name = graph.emit(op, [name], step.where, keepdims=0, axes=gone)
    kept = [v for v in variables if v in out]
    order = [kept.index(v) for v in out]
    if order != list(range(len(order))):
        name = graph.emit("Transpose", [name], step.where, perm=order)
    return Value(name, dtype)


def _product(reads, out, step, graph, scope):
    operands = [_squeezed(read, step, graph, scope) for read in reads]
    letters = {v: _LETTERS[i] for i, v in enumerate(dict.fromkeys(v for _, _, vs in operands for v in vs))}
    equation = ",".join("".join(letters[v] for v in vs) for _, _, vs in operands)
    dtype = operands[0][1]
    names = []
    for name, own, _ in operands:
        wide = "float32" if dtype in ("float16", "bfloat16") else dtype
        names.append(name if own == wide else graph.cast(name, wide, step.where))
    dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
    matrices = _as_matrices(names, [vs for _, _, vs in operands], out, reads, step, graph)
    if matrices is not None:
        return Value(matrices, dtype)
    equation += "->" + "".join(letters[v] for v in out)
    return Value(graph.emit("Einsum", names, step.where, equation=equation), dtype)


def _as_matrices(names, variables, out, reads, step, graph):
    """Writes a contraction of the last dimensions of one operand with the first of another as a matmul; None for
    other contractions."""
    left, right = variables
    inner = [v for v in left if v not in out]
    if not inner or left[-len(inner):] != inner or right[:len(inner)] != inner or \
            out != left[:-len(inner)] + right[len(inner):] or reads[0].zeros or reads[1].zeros:
        return None
    sizes = dict(zip(reads[0].variables, reads[0].sizes)) | dict(zip(reads[1].variables, reads[1].sizes))
    a, b = names
    rest = [sizes[v] for v in right[len(inner):]]
    depth = _multiplied([sizes[v] for v in inner])
    if len(inner) > 1:
        a = graph.reshape(a, [sizes[v] for v in left[:-len(inner)]] + [depth], step)
    if len(right) != 2:
        b = graph.reshape(b, [depth, _multiplied(rest)] if rest else [depth], step)
    result = graph.emit("MatMul", [a, b], step.where)
    return graph.reshape(result, [sizes[v] for v in out], step) if len(rest) > 1 else result


def _multiplied(rows):
    """Multiplies sizes, for every run."""
    return [math.prod(values) for values in zip(*rows)]
