# SPDX-License-Identifier: Apache-2.0
"""Conditions and loops with the names and semantics of JAX. A known condition selects one branch. In captured
functions and under tartan.vmap, both branches are computed and their results selected."""

from __future__ import annotations

from typing import Any, Callable

from tartan import _core, _tree
from tartan import _elementwise as _e
from tartan import _manipulation as _m
from tartan._call import tensor
from tartan._creation import zeros_like
from tartan._tensor import state
from tartan._types import _R

_MOST_STEPS = 1000  # maximum number of steps of a loop whose steps are all computed


def _tensors(tree):
    """Returns the structure of a tree and its leaves as tensors."""
    leaves = []
    form = _tree.flatten(tree, leaves)
    return form, [x if x is None else tensor(x) for x in leaves]


def _described(leaves):
    return ", ".join("None" if x is None else f"{x.dtype}{list(x.shape)}" for x in leaves) or "nothing"


def _fitting(first, second, what):
    """Returns the leaves of two trees. TypeError if structures, shapes or dtypes differ."""
    (form, a), (other, b) = _tensors(first), _tensors(second)
    alike = form == other and all((x is None) == (y is None) for x, y in zip(a, b))
    if not alike or any(x is not None and (x.shape, x.dtype) != (y.shape, y.dtype) for x, y in zip(a, b)):
        raise TypeError(f"{what}: {_described(a)} and {_described(b)}" + ("" if form == other else ", which are different trees"))
    return form, a, b


def _predicate(value, name):
    value = tensor(value)
    if value.ndim:
        raise TypeError(f"{name}: the condition must be one bool, not {value.dtype}{list(value.shape)}")
    return value


class _Branch:
    """The result of one branch and the variables that the branch assigned to."""

    def __init__(self, function, operands):
        trace = state.trace
        before = dict(trace.writes) if trace is not None else {}
        try:
            self.result = function(*operands)
            self.writes = dict(trace.writes) if trace is not None else {}
        finally:
            if trace is not None:
                trace.writes.clear()
                trace.writes.update(before)


def _choose_writes(condition, taken, other):
    trace = state.trace
    for variable in dict.fromkeys([*taken.writes, *other.writes]):
        before = trace.read(variable)
        a, b = taken.writes.get(variable, before), other.writes.get(variable, before)
        trace.write(variable, a if a is b else variable._kind._of(_e.where(condition, a, b)))


def cond(pred: Any, true_fun: Callable[..., _R], false_fun: Callable[..., _R], *operands: Any) -> _R:
    """Returns true_fun(*operands) if `pred` holds, else false_fun(*operands).

    `pred` is a bool of shape (). If its value is known, only one branch runs. In a captured function, or if `pred`
    is mapped, both branches run. Their results must be trees of the same structure with leaves of the same shapes
    and dtypes. Variables assigned by either branch get the selected value. A NaN or infinity in the branch that is
    not taken makes derivatives NaN. TypeError if the results differ in structure, or if `pred` has dimensions."""
    pred = _predicate(pred, "cond")
    if not pred.is_traced:
        return true_fun(*operands) if bool(pred) else false_fun(*operands)
    taken, other = _Branch(true_fun, operands), _Branch(false_fun, operands)
    form, a, b = _fitting(taken.result, other.result, "cond: both branches must return the same shapes and types, not")
    if state.trace is not None:
        _choose_writes(pred, taken, other)
    return _tree.unflatten(form, iter([x if x is None else _e.where(pred, x, y) for x, y in zip(a, b)]))


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any,
               maximum_iterations: int | None = None) -> Any:
    """Returns init_val after repeated application of body_fun while cond_fun(value), a bool of shape (), holds, at
    most `maximum_iterations` times. `init_val` is a tensor or a tree of tensors; the body must keep its shapes
    and dtypes.

    The condition's value is computed before each step. If it has none, as in captured functions, all
    `maximum_iterations` steps (at most 1000) are computed, and values stop changing once the condition fails.
    TypeError if the body changes the structure, shapes or dtypes. NotImplementedError in a captured function without
    a limit."""
    form, leaves = _tensors(init_val)
    value, done = _tree.unflatten(form, iter(leaves)), 0
    while maximum_iterations is None or done < maximum_iterations:
        going = _predicate(cond_fun(value), "while_loop")
        if going.is_traced:
            return _masked(cond_fun, body_fun, value, going, maximum_iterations, done)
        if not bool(going):
            break
        value = _stepped(body_fun, value)
        done += 1
    return value


def _stepped(body, value):
    form, _, after = _fitting(value, body(value), "while_loop: the body must return the shapes and types of its arguments, not")
    return _tree.unflatten(form, iter(after))


def _masked(condition, body, value, going, limit, done):
    if limit is None or limit - done > _MOST_STEPS:
        raise NotImplementedError(
            "while_loop whose condition is not known while a function is captured or mapped needs maximum_iterations of "
            f"at most {_MOST_STEPS}, not {limit}")
    for _ in range(done, limit):
        before = _tensors(value)[1]
        form, after = _tensors(_stepped(body, value))
        value = _tree.unflatten(form, iter([x if x is None else _e.where(going, y, x) for x, y in zip(before, after)]))
        going = _e.logical_and(going, _predicate(condition(value), "while_loop"))
    return value


def looped(step: Callable[[list, list], tuple[list, list]], carry: list, xs: list, steps: int, reverse: bool):
    """Runs `carry, ys = step(carry, rows)` over the first axis of the tensors xs as a loop of the captured program.
    Returns the last carry and the stacked ys, or None if the steps must be captured one by one: few steps, known or
    mapped tensors, or a step that assigns to variables, has derivative rules, or changes what it carries."""
    tensors = [*carry, *xs]
    if steps < _core.min_loop_iterations or state.levels or state.notes is not None:
        return None
    if state.recording and state.trace is None or not any(x.is_traced for x in tensors):
        return None
    trace, rules = state.trace, len(state.rules or ())
    writes = dict(trace.writes) if trace is not None else {}
    inner = [x._kind(_core.Value.placeholder("carry", str(x.dtype), list(x.shape))) for x in carry]
    rows = [x._kind(_core.Value.placeholder("row", str(x.dtype), list(x.shape[1:]))) for x in xs]
    after, ys = step(list(inner), list(rows))
    if trace is not None and trace.writes != writes:
        trace.writes.clear()
        trace.writes.update(writes)
        return None
    if len(state.rules or ()) != rules:
        del state.rules[rules:]
        return None
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(carry, after)):
        return None
    values = _core.loop(*([x._value for x in group] for group in (inner, rows, after, ys, tensors)), steps, reverse)
    made = [x._kind(value) for x, value in zip([*after, *ys], values)]
    return made[:len(carry)], made[len(carry):]


def scan(f: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1) -> tuple[Any, Any]:
    """Runs `carry, y = f(carry, x)` over the first axis of `xs`, a tensor or a tree of tensors with equal first
    sizes. With xs None, f runs `length` times with x None. `reverse` starts at the last element. Returns the last
    carry and the outputs y stacked along a new first axis in the order of xs; None stays None.

    In a captured function, 16 steps or more become a loop of the program: the step is captured and compiled once, and
    has derivatives. Fewer steps, and steps that assign to variables, are captured one by one. `unroll` has no effect. TypeError if the carry
    differs from `init` in structure, shape or dtype; ValueError if sizes differ, or if neither xs nor length is
    given."""
    del unroll
    form, leaves = _tensors(xs)
    sizes = {x.shape[0] for x in leaves if x is not None and x.ndim}
    if any(x is not None and not x.ndim for x in leaves) or len(sizes | ({length} - {None})) > 1:
        raise ValueError(f"scan: xs are {_described(leaves)}, length is {length}: all must have one size along the first axis")
    if not sizes and length is None:
        raise ValueError("scan: neither xs nor length gives the number of steps")
    steps = sizes.pop() if sizes else int(length)
    carry_form, carry = _tensors(init)
    carry = _tree.unflatten(carry_form, iter(carry))
    made = _scanned_in_loop(f, carry_form, carry, form, leaves, steps, reverse)
    if made is not None:
        return made
    results = [None] * steps
    for k in reversed(range(steps)) if reverse else range(steps):
        carry, results[k] = _scanned(f, carry, form, leaves, k)
    if not steps:  # a step with zeros determines the structure of the results
        empty = [x if x is None else zeros_like(_m.broadcast_to(x[:0].sum(axis=0, keepdims=True), (1, *x.shape[1:])), dtype=x.dtype)
                 for x in leaves]
        _, result = _scanned(f, carry, form, empty, 0)
        out_form, outputs = _tensors(result)
        return carry, _tree.unflatten(out_form, iter([y if y is None else _m.stack([y])[:0] for y in outputs]))
    listed = [_tensors(result) for result in results]
    out_form = listed[0][0]
    stacked = [None if parts[0] is None else _m.stack(parts) for parts in zip(*(outputs for _, outputs in listed))]
    return carry, _tree.unflatten(out_form, iter(stacked))


def _scanned_in_loop(f, carry_form, carry, form, leaves, steps, reverse):
    """Returns what scan does, or None if its steps must be captured one by one."""
    carried, found = _tensors(carry)[1], []

    def whole(parts, of):
        parts = iter(parts)
        return iter([None if x is None else next(parts) for x in of])

    def step(inner, rows):
        x = _tree.unflatten(form, whole(rows, leaves))
        after, result = f(_tree.unflatten(carry_form, whole(inner, carried)), x)
        _, _, after = _fitting(carry, after, "scan: a step must return a carry of the same shapes and types, not")
        found[:] = _tensors(result)
        return ([y for y in after if y is not None], [y for y in found[1] if y is not None])

    made = looped(step, [x for x in carried if x is not None], [x for x in leaves if x is not None], steps, reverse)
    if made is None:
        return None
    return (_tree.unflatten(carry_form, whole(made[0], carried)), _tree.unflatten(found[0], whole(made[1], found[1])))


def _scanned(f, carry, form, leaves, k):
    x = _tree.unflatten(form, iter([x if x is None else x[k] for x in leaves]))
    after, result = f(carry, x)
    carry_form, _, after = _fitting(carry, after, "scan: a step must return a carry of the same shapes and types, not")
    return _tree.unflatten(carry_form, iter(after)), result
