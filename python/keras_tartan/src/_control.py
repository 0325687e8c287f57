# SPDX-License-Identifier: Apache-2.0
"""Conditions and loops. If a condition is unknown in a captured function, both branches are computed."""

import builtins

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.stateless_scope import get_stateless_scope, in_stateless_scope
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras_tartan.src._values import NeedsValues, _is_traced, cast, convert_to_tensor
from tartan import _core, _dtypes
from keras_tartan.src._type import constant
from tartan._tensor import Tensor, operator, state

_MOST_ITERATIONS = 1000  # of a loop in a captured step
_MOST_OPERATIONS = 100_000  # of a loop in a captured step


def _where(condition, a, b):
    if a is b or not isinstance(a, (Tensor, KerasVariable, int, float, bool, np.ndarray)):
        return a
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    dtype = result_type(a.dtype, b.dtype)
    return operator("Where", [condition, cast(a, dtype), cast(b, dtype)])


class _Branch:
    """The variables that a branch assigns to, separate from other branches."""

    def __init__(self, function, operands):
        trace = state.trace
        scope = get_stateless_scope() if in_stateless_scope() else None
        writes = dict(trace.writes) if trace is not None else None
        mapping = dict(scope.state_mapping) if scope is not None else None
        try:
            self.result = function(*operands)
            self.writes = dict(trace.writes) if trace is not None else {}
            self.mapping = dict(scope.state_mapping) if scope is not None else {}
        finally:
            if trace is not None:
                trace.writes.clear()
                trace.writes.update(writes)
            if scope is not None:
                scope.state_mapping.clear()
                scope.state_mapping.update(mapping)


def _chosen(condition, taken, other):
    trace = state.trace
    scope = get_stateless_scope() if in_stateless_scope() else None
    if trace is not None:
        for variable in list(taken.writes) + [v for v in other.writes if v not in taken.writes]:
            if taken.writes.get(variable) is other.writes.get(variable) is trace.writes.get(variable):
                continue  # written before
            before = trace.read(variable)
            a, b = taken.writes.get(variable, before), other.writes.get(variable, before)
            if a is not b:
                trace.write(variable, _where(condition, a, b))
            elif variable in taken.writes:
                trace.writes[variable] = a
    if scope is not None:
        for key in list(taken.mapping) + [k for k in other.mapping if k not in taken.mapping]:
            pairs = [branch.mapping.get(key) for branch in (taken, other)]
            if None in pairs:
                continue  # a variable of one branch only; only shapes are needed here
            scope.state_mapping[key] = _where(condition, *pairs)
    return tree.map_structure(lambda a, b: _where(condition, a, b), taken.result, other.result)


def cond(pred, true_fn, false_fn):
    if isinstance(pred, KerasVariable):
        pred = pred.value
    if not _is_traced(pred):
        return true_fn() if pred else false_fn()
    if in_symbolic_scope():
        return true_fn()
    condition = cast(pred, "bool")
    return _chosen(condition, _Branch(true_fn, ()), _Branch(false_fn, ()))


def switch(index, branches, *operands):
    index = convert_to_tensor(index, "int32")
    last = len(branches) - 1
    if not _is_traced(index):
        return branches[min(builtins.max(int(index), 0), last)](*operands)
    if in_symbolic_scope() or last == 0:
        return branches[0](*operands)

    def rest(first):
        if first == last:
            return branches[last](*operands)
        condition = operator("LessOrEqual", [index, constant(first, _dtypes.int32)])
        return _chosen(condition, _Branch(branches[first], operands), _Branch(lambda: rest(first + 1), ()))

    return rest(0)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    is_sequence = isinstance(loop_vars, (tuple, list))
    values = tuple(loop_vars) if is_sequence else (loop_vars,)
    values = tree.map_structure(convert_to_tensor, values)
    if in_symbolic_scope():
        return values if is_sequence else values[0]
    done = 0
    while maximum_iterations is None or done < maximum_iterations:
        going = cond(*values)
        if _is_traced(going):
            values = _masked_loop(cond, body, values, going, maximum_iterations, done)
            break
        if not going:
            break
        values = _step(body, values)
        done += 1
    return values if is_sequence else values[0]


def _step(body, values):
    after = body(*values)
    after = tuple(after) if isinstance(after, (list, tuple)) else (after,)
    return tree.map_structure(convert_to_tensor, after)


def _masked_loop(cond, body, values, going, limit, done):
    """Runs the maximum number of steps; values stop changing once the condition fails."""
    if limit is None or limit - done > _MOST_ITERATIONS:
        raise NeedsValues(
            "while_loop whose condition depends on tensors, in a captured step, needs `maximum_iterations` of "
            f"at most {_MOST_ITERATIONS} in the tartan backend; or compile with run_eagerly=True")
    before = _core.applied()
    for left in range(limit - done, 0, -1):
        after = _step(body, values)
        values = tree.map_structure(lambda new, old: _where(going, new, cast(old, new.dtype)), after, values)
        going = operator("And", [going, cast(cond(*values), "bool")])
        if left == limit - done and (_core.applied() - before) * left > _MOST_OPERATIONS:
            raise NeedsValues(
                f"while_loop of up to {left} iterations, the first of which has {_core.applied() - before} operations, is too "
                "long for a captured step in the tartan backend; compile with run_eagerly=True")
    return values


def fori_loop(lower, upper, body_fun, init_val):
    value = init_val
    for i in range(int(lower), int(upper)):
        value = body_fun(i, value)
    return value
