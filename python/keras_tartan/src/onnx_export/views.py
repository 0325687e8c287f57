# SPDX-License-Identifier: Apache-2.0
"""Writes Tile contractions that copy, such as `Y[i, j : N, M] = =(X[2*j + 1, i])`, and concatenations made of
several copies."""

from keras_tartan.src.onnx_export.elementwise import Value
from keras_tartan.src.onnx_export.sizes import is_fixed

_FIRST = -(2**31)  # before the first element, for slices with negative steps


class NoView(Exception):
    """The contraction is not a copy; the message has the reason."""


def linear(expression):
    """Returns an expression as (constant, {variable: factor})."""
    if isinstance(expression.number, int):
        return expression.number, {}
    if expression.name is not None:
        return 0, {expression.name: 1}
    if expression.function in ("add", "sub") and len(expression.arguments) == 2:
        (a, left), (b, right) = (linear(e) for e in expression.arguments)
        sign = 1 if expression.function == "add" else -1
        factors = dict(left)
        for name, factor in right.items():
            factors[name] = factors.get(name, 0) + sign * factor
        return a + sign * b, factors
    if expression.function == "mul":
        (a, left), (b, right) = (linear(e) for e in expression.arguments)
        if not left:
            return a * b, {name: a * factor for name, factor in right.items()}
        if not right:
            return a * b, {name: b * factor for name, factor in left.items()}
    if expression.function == "neg":
        a, factors = linear(expression.arguments[0])
        return -a, {name: -factor for name, factor in factors.items()}
    raise NoView("its indices are not linear")


class _Axis:
    """A dimension of the operand: `start + step * variable` in every run; a single position has no variable."""

    def __init__(self, expressions, dims):
        found = [linear(e) for e in expressions]
        names = [tuple(sorted(factors)) for _, factors in found]
        if not is_fixed(names) or len(names[0]) > 1:
            raise NoView("several variables occur in one index")
        self.variable = names[0][0] if names[0] else None
        self.starts = [start for start, _ in found]
        steps = [factors.get(self.variable, 0) for _, factors in found]
        if not is_fixed(steps):
            raise NoView("its steps follow the sizes of the inputs")
        self.step, self.dims = steps[0], dims

    def cut(self, counts):
        """Returns starts and ends of a slice with `counts` elements, None for all."""
        for start, count, dim in zip(self.starts, counts, self.dims):
            last = start + self.step * (count - 1)
            if count and not (0 <= start < dim and 0 <= last < dim):
                raise NoView("it reads beyond the operand")
        if self.step == 1 and not any(self.starts) and list(counts) == list(self.dims):
            return None
        ends = [start + (self.step or 1) * count for start, count in zip(self.starts, counts)]
        return self.starts, [end if end >= 0 else _FIRST for end in ends]


def write(parts, written, dims, value, step, graph):
    """Writes a copy, given as `parts` (one per run) with sizes `written`, of an operand with sizes `dims`."""
    axes = [_Axis([p.reads[0][1][k] for p in parts], dims[k]) for k in range(len(dims))]
    out = [i.name for i in parts[0].indices]
    if None in out or len(set(out)) < len(out) or any(len(sizes) != len(out) for sizes in written):
        raise NoView("its output indices are not single variables")
    sizes = {name: [sizes[k] for sizes in written] for k, name in enumerate(out)}
    used = [a.variable for a in axes if a.variable is not None]
    if len(set(used)) < len(used) or not set(used) <= set(out):
        raise NoView("a variable occurs in several indices")
    name = _cut(axes, sizes, value.name, step, graph)
    dropped = [k for k, axis in enumerate(axes) if axis.variable is None]
    if dropped:
        name = graph.emit("Squeeze", [name, graph.ints(dropped)], step.where)
    order = [used.index(v) for v in out if v in used]
    if order != sorted(order):
        name = graph.emit("Transpose", [name], step.where, perm=order)
    added = [k for k, v in enumerate(out) if v not in used]
    if added:
        name = graph.emit("Unsqueeze", [name, graph.ints(added)], step.where)
        if any(sizes[out[k]] != [1] * len(parts) for k in added):
            name = graph.emit("Expand", [name, graph.sizes([sizes[v] for v in out], step)], step.where)
    return Value(name, value.dtype)


def number(expression):
    constant, factors = linear(expression)
    if factors:
        raise NoView("its sizes are not numbers")
    return constant


def _cut(axes, sizes, name, step, graph):
    cuts = [axis.cut(sizes[axis.variable] if axis.variable else [1] * len(axis.starts)) for axis in axes]
    places = [k for k, cut in enumerate(cuts) if cut is not None]
    if not places:
        return name
    starts, ends = (graph.sizes([cuts[k][side] for k in places], step) for side in (0, 1))
    steps = graph.ints([axes[k].step or 1 for k in places])
    return graph.emit("Slice", [name, starts, ends, graph.ints(places), steps], step.where)


def joined(functions, step, graph, scope):
    """Returns the value of a text that concatenates its operands along an axis, or None. Each statement but the
    first has the preceding result as its default."""
    statements = functions[0].statements
    parts = [s.contraction for s in statements]
    if len(parts) < 2 or not all(p is not None and p.aggregation == "=" for p in parts):
        return None
    if any(p.default != (statements[k - 1].target if k else None) for k, p in enumerate(parts)):
        return None
    axis, offset = None, 0
    entries = [step.inputs[functions[0].inputs.index(p.reads[0][0])] for p in parts]
    for k, part in enumerate(parts):
        for place, (written, read) in enumerate(zip(part.indices, part.reads[0][1])):
            constant, factors = linear(read)
            if factors != linear(written)[1] or len(factors) != 1:
                return None
            if constant:
                if axis not in (None, place) or constant != -offset:
                    return None
                axis = place
        if k == 0:
            axis = _joined_axis(parts)
        offset += entries[k].shape[axis]
    names = [scope[p.reads[0][0]] for p in parts]
    return Value(graph.emit("Concat", [v.name for v in names], step.where, axis=axis), names[0].dtype)


def _joined_axis(parts):
    """Returns the axis along which the second operand is placed after the first."""
    return next((k for k, read in enumerate(parts[1].reads[0][1]) if linear(read)[0]), 0)
