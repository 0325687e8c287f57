# SPDX-License-Identifier: Apache-2.0
"""Batching rules of tartan.vmap: how operations apply to tensors with a hidden mapped axis.

Tile functions get the axis as an additional index (_mapped_tile.py). Gather/scatter functions and ONNX operators have rules.
Everything else is computed per element and stacked."""

import functools
import itertools
import weakref

import numpy as np

from tartan import _core, _dtypes, _gradients, _mapped_tile, _tensor
from tartan._creation import arange, asarray, ones_like, zeros, zeros_like
from tartan._elementwise import where
from tartan._indexing import getitem
from tartan._manipulation import broadcast_to, concat, moveaxis, permute_dims, reshape, stack
from tartan._primitives import to
from tartan._tensor import MappedError, Tensor

_count = itertools.count()


class Level:
    """One active vmap call, with the size of its mapped axis. Later levels are nested in earlier ones."""

    __slots__ = ("size", "number")

    def __init__(self, size):
        self.size = size
        self.number = next(_count)

    def raised(self, x):
        return raised(x, self)


class Batched(Tensor):
    """A tensor with a hidden mapped axis. `inner` stores it as the first axis."""

    __slots__ = ("inner", "level")

    def __init__(self, inner, level):
        self.inner = inner
        self.level = level

    @property
    def _value(self):
        raise MappedError(
            f"the value of a tensor was requested that tartan.vmap maps over {self.level.size} elements, each with its own value: "
            "use operations of tartan on it, and tartan.where instead of if")

    _is_mapped = True
    _host = None

    @property
    def _depth(self):
        return self.inner._depth

    @property
    def shape(self):
        return self.inner.shape[1:]

    @property
    def dtype(self):
        return self.inner.dtype

    @property
    def is_traced(self):
        """Returns True: there is no single value that the mapped function could read."""
        return True

    def _another(self):
        return Batched(self.inner, self.level)

    def host(self):
        return self._value

    def __repr__(self):
        return f"<tartan.Tensor {self.dtype}{list(self.shape)}, mapped over {self.level.size}>"

    def _rebind(self, made):
        made = raised(made, self.level)
        if not is_at(made, self.level):
            return super()._rebind(made)
        if _tensor.state.recording:
            _tensor.state.assigned.append(weakref.ref(self))
        self.inner = made.inner

    # The rules of this module, for operations that find a mapped operand.

    @staticmethod
    def _tile(*args):
        return tile(*args)

    @staticmethod
    def _operator(*args):
        return operator(*args)

    @staticmethod
    def _gradients(*args):
        return gradients(*args)

    @staticmethod
    def _with_rule(*args):
        return with_rule(*args)


def is_at(x, level):
    return isinstance(x, Batched) and x.level is level


def top(tensors):
    """Returns the innermost level of all tensors, or None if no tensor is mapped."""
    levels = [x.level for x in tensors if isinstance(x, Batched)]
    return max(levels, key=lambda level: level.number, default=None)


def levels_of(tensors):
    """Returns the levels of all tensors, outermost first."""
    found = {}
    for x in tensors:
        while isinstance(x, Batched):
            found[x.level.number] = x.level
            x = x.inner
    return [found[number] for number in sorted(found)]


def raised(x, level):
    """Returns the tensor mapped at `level`; repeats it if it was not mapped there."""
    if isinstance(x, Batched):
        if x.level is level:
            return x
        if x.level.number > level.number:
            return Batched(raised(x.inner, level), x.level)
    return Batched(broadcast_to(x, (level.size, *x.shape)), level)


def inner_of(x, level):
    """Returns the tensor with the axis of `level` in front, repeated along it if it was not mapped there."""
    return raised(x, level).inner


def bare(x):
    """Returns the tensor with all mapped axes as visible leading axes."""
    while isinstance(x, Batched):
        x = x.inner
    return x


def dressed(x, levels):
    """Inverse of `bare`."""
    for level in levels:
        x = Batched(x, level)
    return x


# --- Tile functions.

def _parsed(tile, name):
    return _core.parse_tile(tile, name) if isinstance(tile, str) else tile


@functools.lru_cache(4096)
def _with_axis(tile, name, mapped, shapes, size):
    try:
        return _mapped_tile.with_axis(_parsed(tile, name), mapped, shapes, size)
    except _mapped_tile.Unsupported:
        return None


def tile(function, inputs, name):
    """Applies a Tile function, a text or a tree, to tensors of which some are mapped."""
    level = top(inputs)
    mapped = tuple(is_at(x, level) for x in inputs)
    found = _with_axis(function, name, mapped, tuple(x.shape for x in inputs), level.size)
    if found is not None:
        outputs = _tensor.tile(found[0], *(x.inner if m else x for x, m in zip(inputs, mapped)), name=name)
        return [Batched(y, level) if m else y for y, m in zip(outputs, found[1])]
    call = _mapped_tile.single_call(_parsed(function, name), inputs)
    if call is not None and call[0] in _RULES:
        return [Batched(_RULES[call[0]](level, *call[1]), level)]
    return _looped(lambda *xs: _tensor.tile(function, *xs, name=name), inputs, level)


def _looped(call, inputs, level):
    """Applies `call` to each element separately and stacks the results."""
    def slices(k):
        return [getitem(x.inner, k) if is_at(x, level) else x for x in inputs]

    if not level.size:
        made = call(*(zeros(x.shape, dtype=x.dtype) if is_at(x, level) else x for x in inputs))
        return [Batched(zeros((0, *y.shape), dtype=y.dtype), level) for y in made]
    made = [call(*slices(k)) for k in range(level.size)]
    return [Batched(stack(parts), level) for parts in zip(*made)]


def _call_of(name, count):
    letters = "ABCDE"[:count]

    def call(*operands):
        tensors, numbers = operands[:count], operands[count:]
        listed = ", ".join([*letters, *map(str, numbers)])
        return _tensor.tile1(f"function ({', '.join(letters)}) -> (Y) {{ Y = {name}({listed}); }}", *tensors)

    return call


_gather_nd, _gather, _gather_elements = _call_of("gather_nd", 2), _call_of("gather", 2), _call_of("gather_elements", 2)
_scatter_nd, _scatter_elements = _call_of("scatter_nd", 3), _call_of("scatter_elements", 3)


def _gathered(level, x, at, axis=0):
    axis += x.ndim if axis < 0 else 0
    if not is_at(at, level):
        return _gather(x.inner, at, axis + 1)
    if not is_at(x, level):
        return moveaxis(_gather(x, at.inner, axis), axis, 0)
    found = _gather_nd(moveaxis(x.inner, axis + 1, 1), reshape(at.inner, (*at.inner.shape, 1)), 1)
    n = at.ndim
    order = [0, *range(1 + n, 1 + n + axis), *range(1, 1 + n), *range(1 + n + axis, found.ndim)]
    return permute_dims(found, order)


def _gathered_rows(level, x, at, batch_dims=0):
    if not is_at(x, level) and not batch_dims:
        return _gather_nd(x, at.inner)
    return _gather_nd(inner_of(x, level), inner_of(at, level), batch_dims + 1)


def _gathered_elements(level, x, at, axis=0):
    return _gather_elements(inner_of(x, level), inner_of(at, level), axis + (axis >= 0))


def _scattered_rows(level, x, at, values, mode=0):
    """Scatters with the position along the mapped axis as an additional index of every row."""
    at = to(inner_of(at, level), _dtypes.int64)
    lead = at.shape[:-1]
    places = reshape(arange(level.size, dtype=_dtypes.int64), (level.size, *[1] * (len(lead) - 1), 1))
    rows = concat([broadcast_to(places, (*lead, 1)), at], -1)
    return _scatter_nd(inner_of(x, level), rows, inner_of(values, level), mode)


def _scattered_elements(level, x, at, values, axis=0, mode=0):
    return _scatter_elements(*(inner_of(t, level) for t in (x, at, values)), axis + (axis >= 0), mode)


_RULES = {"gather": _gathered, "gather_nd": _gathered_rows, "gather_elements": _gathered_elements,
          "scatter_nd": _scattered_rows, "scatter_elements": _scattered_elements}

# --- ONNX operators.

_UNARY = frozenset("""
    Abs Acos Acosh Asin Asinh Atan Atanh BitCast BitwiseNot Cast Ceil Celu Clip Cos Cosh Det Elu Erf Exp Floor Gelu HardSigmoid
    HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus
    Softsign Sqrt Swish Tan Tanh ThresholdedRelu""".split())
_BROADCAST = frozenset("""
    Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or
    Pow Sub Sum Where Xor""".split())
_WITH_AXIS = {"Softmax": -1, "LogSoftmax": -1, "Hardmax": -1}


def operator(name, inputs, outputs, domain, opset, attributes):
    level = top(inputs)
    options = dict(domain=domain, opset=opset)
    flags = [is_at(x, level) for x in inputs]
    if not domain and flags[0] and not any(flags[1:]) and (name in _UNARY or name in _WITH_AXIS and (opset or 13) >= 13):
        if name in _WITH_AXIS:
            axis = attributes.get("axis", _WITH_AXIS[name])
            attributes = dict(attributes, axis=axis + (axis >= 0))
        return Batched(_tensor.operator(name, [inputs[0].inner, *inputs[1:]], **options, **attributes), level)
    if not domain and name in _BROADCAST and (opset or 13) >= 7:
        rank = max(x.ndim for x in inputs)
        aligned = [_aligned(x.inner, rank) if m else x for x, m in zip(inputs, flags)]
        return Batched(_tensor.operator(name, aligned, **options, **attributes), level)
    present = [x for x in inputs if x is not None]

    def call(*xs):
        given = iter(xs)
        made = _tensor.operator(name, [None if x is None else next(given) for x in inputs], outputs, **options, **attributes)
        return [made] if outputs == 1 else made

    results = _looped(call, present, level)
    return results[0] if outputs == 1 else results


def _aligned(inner, rank):
    return reshape(inner, (inner.shape[0], *[1] * (rank + 1 - inner.ndim), *inner.shape[1:]))


# --- Derivatives.

def gradients(loss, wrt, seed):
    """Implements tartan.gradients for mapped tensors. A mapped loss has one derivative per element."""
    level = top([loss, *wrt, *([seed] if seed is not None else [])])
    if not is_at(loss, level) and not is_at(seed, level):
        others = [x for x in wrt if not is_at(x, level)]
        found = iter(_gradients.gradients(loss, others, seed))
        return [zeros_like(x) if is_at(x, level) else next(found) for x in wrt]
    seed = inner_of(ones_like(loss) if seed is None else seed, level)
    loss = inner_of(loss, level)
    inside = iter(_gradients.gradients(loss, [x.inner for x in wrt if is_at(x, level)], seed))
    outside = iter(_one_by_one(loss, [x for x in wrt if not is_at(x, level)], seed, level))
    return [Batched(next(inside if is_at(x, level) else outside), level) for x in wrt]


def _one_by_one(loss, wrt, seed, level):
    """Computes derivatives by tensors that are not mapped, one element's loss at a time."""
    if not wrt:
        return []
    if not level.size:
        return [zeros((0, *x.shape), dtype=x.dtype) for x in wrt]
    found = []
    for k in range(level.size):
        chosen = reshape(asarray(np.arange(level.size) == k), (level.size, *[1] * (loss.ndim - 1)))
        found.append(_gradients.gradients(loss, wrt, where(chosen, seed, 0)))
    return [stack(parts) for parts in zip(*found)]


def with_rule(outputs, inputs, derive):
    """Implements _gradients.with_rule for mapped tensors; `derive` receives mapped tensors, too."""
    level = top([*outputs, *inputs])

    def inside(*derivatives):
        with entered(level):
            found = derive(*[Batched(d, level) for d in derivatives])
            return [None if d is None else inner_of(d, level) for d in found]

    shown = _gradients.with_rule([inner_of(y, level) for y in outputs], [inner_of(x, level) for x in inputs], inside)
    return [Batched(y, level) for y in shown]


class entered:
    """Context in which tensors may be mapped at a level."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        self.before = _tensor.state.levels
        if self.level not in self.before:
            _tensor.state.levels = (*self.before, self.level)

    def __exit__(self, *_):
        _tensor.state.levels = self.before
