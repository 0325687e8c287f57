# SPDX-License-Identifier: Apache-2.0
"""Reverse-mode derivatives of functions of tensors."""

import contextlib
import functools

import numpy as np

from tartan import _core, _dtypes, _tree
from tartan._creation import asarray, astype
from tartan._tensor import Tensor, another, constant_array, state, tile1
from tartan._variable import Variable


@contextlib.contextmanager
def recording():
    """Context in which tensors remember their computation even if their values are computed, as `gradients`
    requires."""
    if not state.recording:
        state.assigned = []
    state.recording += 1
    try:
        yield
    finally:
        state.recording -= 1
        if not state.recording and state.trace is None:
            state.rules = None


def gradients(loss, wrt, seed=None):
    """Returns the derivatives of `loss` by each tensor in the list `wrt`, as lazy tensors of the same shapes and
    dtypes; zeros for tensors that it does not depend on. `seed` has the shape of `loss`, which is multiplied by
    it and summed; without a seed, the loss must have one element. ValueError for tensors that are not floats and
    for tensors whose elements were assigned to since the recording began. NotImplementedError if an operation has
    no derivative."""
    if state.assigned and any(ref() is x for ref in state.assigned for x in wrt):
        raise ValueError("elements of a tensor were assigned after the recording began, so the variable of the derivative is ambiguous. "
                         "Instead of x, give c = tartan.copy(x), made before or after the assignment")
    if not isinstance(loss, Tensor) or not _dtypes.is_float(loss.dtype):
        raise ValueError(f"a loss must be a float tensor, not {getattr(loss, 'dtype', type(loss).__name__)}")
    if seed is None and loss.size != 1:
        raise ValueError(f"a loss must have one element, not the shape {list(loss.shape)}: reduce it, or give a seed")
    for x in (loss, seed, *wrt):
        if x is not None and x._is_mapped:
            return x._gradients(loss, wrt, seed)
    if seed is None:
        seed = _ones_like(loss)
    seeds = [(loss._value, seed._value)]
    for rule in reversed(state.rules or ()):
        seeds += rule.derived(seeds)
    values = _core.gradient(seeds, [t._value for t in wrt])
    return [t._kind(value, loss._depth + 1) for t, value in zip(wrt, values)]


# Maximum number of custom rules kept outside a recording, for derivatives that may be requested later.
_MOST_RULES = 200


class _Rule:
    """Outputs with a Python function that computes derivatives by the inputs."""

    def __init__(self, outputs, inputs, derive):
        self.kinds = [t._kind for t in outputs]
        self.outputs = [t._value for t in outputs]
        self.inputs = [t._value for t in inputs]
        self.derive = derive

    def derived(self, seeds):
        """Returns further pairs of a tensor and its seed; empty if the losses do not depend on the outputs."""
        if not any(depends for depends, _, _ in _core.gradient_paths([tensor for tensor, _ in seeds], self.outputs)):
            return []
        values = _core.gradient(seeds, self.outputs)
        derivatives = self.derive(*[kind(value) for kind, value in zip(self.kinds, values)])
        return [(x, d._value) for x, d in zip(self.inputs, derivatives) if d is not None and _dtypes.is_float(x.dtype)]


def with_rule(outputs, inputs, derive):
    """Returns the outputs with custom derivatives. `derive` takes one cotangent per output and returns a cotangent,
    or None, for each input."""
    for x in (*outputs, *inputs):
        if x._is_mapped:
            return x._with_rule(outputs, inputs, derive)
    shown = [tile1("function (X) -> (Y) { Y = stop_gradient(X); }", x) for x in outputs]
    shown = [astype(y, x.dtype, copy=False) for x, y in zip(outputs, shown)]
    if state.rules is None:
        state.rules = []
    state.rules.append(_Rule(shown, inputs, derive))
    if not state.recording and state.trace is None:
        del state.rules[:-_MOST_RULES]
    return shown


def _ones_like(loss):
    return constant_array(np.ones(loss.shape, _dtypes.numpy_dtype(loss.dtype)))


def _fresh(tensor):
    """Returns the same values as an independent variable for derivatives. Under tartan.vmap it is mapped, because
    each element has its own derivatives."""
    for level in state.levels:
        tensor = level.raised(tensor)
    return tile1("function (X) -> (Y) { Y = X; }", tensor)


def value_and_grad(f, argnums=0, has_aux=False):
    """Returns a function that computes f(*args) and its derivatives by the arguments at `argnums` (a number or a
    tuple), which are tensors or trees of tensors. `f` returns a loss with one element; with `has_aux`, a pair of
    the loss and auxiliary data."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        with recording():
            args = list(args)
            forms, wrt = [], []
            for number in numbers:
                leaves = []
                forms.append((_tree.flatten(args[number], leaves), len(leaves)))
                fresh = [_fresh(_value_of(leaf)) for leaf in leaves]
                args[number] = _tree.unflatten(forms[-1][0], iter(fresh))
                # Separate objects, because elements of an argument may be assigned to.
                wrt += [another(x) for x in fresh]
            result = f(*args, **kwargs)
            loss = result[0] if has_aux else result
            derivatives = iter(gradients(loss, wrt))
            trees = [_tree.unflatten(form, derivatives) for form, _ in forms]
        return result, trees[0] if isinstance(argnums, int) else tuple(trees)

    return wrapped


def _value_of(leaf):
    if isinstance(leaf, Variable):
        return leaf.value
    if isinstance(leaf, Tensor):
        return leaf
    return asarray(leaf)


def grad(f, argnums=0, has_aux=False):
    """Like value_and_grad without the value. With `has_aux`, returns a pair of the derivatives and the auxiliary
    data."""
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        result, derivatives = both(*args, **kwargs)
        return (derivatives, result[1]) if has_aux else derivatives

    return wrapped
