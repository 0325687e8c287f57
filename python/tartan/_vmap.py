# SPDX-License-Identifier: Apache-2.0
"""tartan.vmap: vectorizes functions of one element."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from tartan import _tree
from tartan._batching import Batched, Level, entered, is_at
from tartan._call import is_scalar, tensor
from tartan._manipulation import broadcast_to, moveaxis
from tartan._tensor import Tensor
from tartan._types import _R
from tartan._variable import Variable


def _is_array(x):
    return isinstance(x, (Tensor, Variable, np.ndarray, np.generic)) or is_scalar(x) or hasattr(x, "__dlpack__")


def _spread(axes, tree, what):
    """Returns an axis, or None, for every leaf of a tree. `axes` is a tree of the same structure or a prefix of it."""
    if axes is None or isinstance(axes, int) and not isinstance(axes, bool):
        leaves = []
        _tree.flatten(tree, leaves)
        return [axes] * len(leaves)
    if isinstance(axes, (tuple, list)):
        if not isinstance(tree, (tuple, list)):
            raise ValueError(f"tartan.vmap: {what} are {axes!r}, but the value is a {type(tree).__name__}")
        if len(axes) != len(tree):
            raise ValueError(f"tartan.vmap: {what} {axes!r} are {len(axes)} for {len(tree)} values")
        return [a for part, values in zip(axes, tree) for a in _spread(part, values, what)]
    if isinstance(axes, dict):
        if not isinstance(tree, dict) or set(axes) != set(tree):
            named = sorted(map(str, tree)) if isinstance(tree, dict) else type(tree).__name__
            raise ValueError(f"tartan.vmap: {what} are for {sorted(map(str, axes))}, but the values are {named}")
        return [a for key in tree for a in _spread(axes[key], tree[key], what)]
    raise TypeError(f"tartan.vmap: {what} must be integers, None, or tuples, lists and dictionaries of them, not {axes!r}")


def _axis(axis, rank, described):
    if not -rank <= axis < rank:
        raise ValueError(f"tartan.vmap: axis {axis} of {described} does not exist: it has {rank} dimensions")
    return axis % rank


def _described(x):
    return f"{x.dtype}{list(x.shape)}"


def _entered(leaves, axes):
    """Returns the leaves as the function sees them, and the level."""
    found = {}
    for number, (leaf, axis) in enumerate(zip(leaves, axes)):
        if axis is None or leaf is None:
            continue
        if not _is_array(leaf):
            raise ValueError(f"tartan.vmap: {leaf!r} is not a tensor and cannot be mapped: its axis must be None")
        x = tensor(leaf)
        found[number] = moveaxis(x, _axis(axis, x.ndim, _described(x)), 0), _described(x), axis
    if not found:
        raise ValueError("tartan.vmap: nothing is mapped; at least one tensor needs an axis that is not None")
    (first, shown, axis), *others = found.values()
    for x, described, other in others:
        if x.shape[0] != first.shape[0]:
            raise ValueError(f"tartan.vmap: mapped axes have different sizes: axis {axis} of {shown} has {first.shape[0]}, "
                             f"axis {other} of {described} has {x.shape[0]}")
    level = Level(first.shape[0])
    return [Batched(found[k][0], level) if k in found else leaf for k, leaf in enumerate(leaves)], level


def _left(leaf, axis, level):
    """Returns a result as seen outside the mapped function."""
    if is_at(leaf, level):
        if axis is None:
            raise ValueError(f"tartan.vmap: out_axes has None for a result {_described(leaf)} that depends on a mapped value")
        return moveaxis(leaf.inner, 0, _axis(axis, leaf.inner.ndim, "a result " + _described(leaf)))
    if axis is None or leaf is None:
        return leaf
    if not _is_array(leaf):
        raise TypeError(f"tartan.vmap: a mapped function must return tensors or trees of tensors, not {leaf!r}")
    x = tensor(leaf)
    return moveaxis(broadcast_to(x, (level.size, *x.shape)), 0, _axis(axis, x.ndim + 1, "a result " + _described(x)))


def vmap(f: Callable[..., _R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., _R]:
    """Vectorizes `f`, a function of one element. `f` is called once with tensors that lack the mapped axis, and its
    operations are applied to all elements at once.

    `in_axes` gives the mapped axis of each argument: an integer or None (not mapped) for all, or a tuple with an
    entry per positional argument, which may be a tree like the argument. Keyword arguments are mapped along axis 0.
    `out_axes` gives the axis in the results; None is for results that do not depend on mapped arguments.

        per_example = tartan.vmap(tartan.grad(loss), in_axes=(None, 0, 0))(weights, x, y)

    Values of mapped tensors are not available (`if`, `float`, masks as indices): MappedError. ValueError if sizes
    differ, an axis does not exist, or nothing is mapped."""

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        axes = in_axes
        if isinstance(axes, (tuple, list)) and len(axes) != len(args):
            raise ValueError(f"tartan.vmap: in_axes {axes!r} are {len(axes)} for {len(args)} arguments")
        leaves = []
        form = _tree.flatten((args, kwargs), leaves)
        inside, level = _entered(leaves, _spread(axes, args, "in_axes") + _spread(0, kwargs, "in_axes"))
        inner_args, inner_kwargs = _tree.unflatten(form, iter(inside))
        with entered(level):
            result = f(*inner_args, **inner_kwargs)
        results = []
        out_form = _tree.flatten(result, results)
        spread = _spread(out_axes, result, "out_axes")
        return _tree.unflatten(out_form, iter([_left(x, axis, level) for x, axis in zip(results, spread)]))

    return mapped
