# SPDX-License-Identifier: Apache-2.0
"""Jacobians, directional derivatives and custom derivatives with the names, arguments and results of JAX."""

from __future__ import annotations

import functools
from typing import Any, Callable

from tartan import _dtypes, _tree
from tartan import _manipulation as _m
from tartan._call import tensor
from tartan._creation import eye, zeros_like
from tartan._gradients import _fresh, _value_of, gradients, recording, with_rule
from tartan._tensor import Tensor, another, state, tile1
from tartan._types import _R
from tartan._vmap import vmap


def _leaves(tree):
    leaves = []
    return _tree.flatten(tree, leaves), leaves


def _is_float(x):
    return isinstance(x, Tensor) and _dtypes.is_float(x.dtype)


def stop_gradient(x: Any, /) -> Any:
    """Returns the same values with zero derivatives; x is a tensor or a tree of tensors."""
    form, leaves = _leaves(x)
    stopped = []
    for leaf in leaves:
        value = leaf if leaf is None else tensor(leaf)
        if _is_float(value):
            held = tile1("function (X) -> (Y) { Y = stop_gradient(X); }", value)
            value = held if held.dtype == value.dtype else held.astype(value.dtype)
        stopped.append(value)
    return _tree.unflatten(form, iter(stopped))


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function with custom derivatives; also usable as a decorator. `f(*args)` returns a pair: its result
    (a tensor or tree), and a function that maps the cotangent of the result (a tree of the same structure) to
    cotangents of the arguments. These are a single one, or a tuple with one per tensor argument, of its shape;
    None means 0.

        @tartan.custom_gradient
        def log1pexp(x):
            e = tartan.exp(x)
            return tartan.log1p(e), lambda g: g * (1 - 1 / (1 + e))

    ValueError if the number or a shape of the derivatives differs from the tensors. Keyword arguments have no
    derivatives."""

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        form, leaves = _leaves(args)
        leaves = [tensor(x) if not isinstance(x, (Tensor, str, type(None))) and hasattr(x, "shape") else x for x in leaves]
        result, derive = f(*_tree.unflatten(form, iter(leaves)), **kwargs)
        inputs = [x for x in leaves if isinstance(x, Tensor)]
        out_form, outputs = _leaves(result)
        places = [k for k, y in enumerate(outputs) if _is_float(y)]
        if not inputs or not places:
            return result

        def derivatives(*given):
            whole = [zeros_like(y) if isinstance(y, Tensor) else None for y in outputs]
            for place, g in zip(places, given):
                whole[place] = g
            found = derive(_tree.unflatten(out_form, iter(whole)))
            _, found = _leaves(found)
            return _checked(found, inputs, getattr(f, "__name__", "a function"))

        shown = iter(with_rule([outputs[k] for k in places], inputs, derivatives))
        made = [next(shown) if k in places else y for k, y in enumerate(outputs)]
        return _tree.unflatten(out_form, iter(made))

    return wrapped


def _checked(derivatives, inputs, name):
    """Returns derivatives as tensors of the inputs' dtypes. ValueError if number or shapes differ."""
    if len(derivatives) != len(inputs):
        raise ValueError(f"custom_gradient: {name} returns {len(derivatives)} derivatives for {len(inputs)} tensors")
    checked = []
    for d, x in zip(derivatives, inputs):
        if d is None or not _is_float(x):
            checked.append(None)
            continue
        d = tensor(d, x.dtype)
        if d.shape != x.shape:
            raise ValueError(f"custom_gradient: {name} returns a derivative {list(d.shape)} by a tensor {list(x.shape)}")
        checked.append(d)
    return checked


def _called(f, args):
    """Calls f(*args) within a recording. Returns the structure and leaves of its result and the argument leaves it
    depends on."""
    form, leaves = _leaves(tuple(args))
    fresh = [_fresh(_value_of(leaf)) for leaf in leaves]
    wrt = [another(x) for x in fresh]  # separate objects, because elements of an argument may be assigned to
    result = f(*_tree.unflatten(form, iter(fresh)))
    out_form, outputs = _leaves(result)
    return form, wrt, out_form, [tensor(y) for y in outputs]


def _pulled(outputs, seeds, wrt):
    """Returns the derivatives by `wrt` of the sum of outputs times seeds; zeros for integers."""
    places = [k for k, x in enumerate(wrt) if _is_float(x)]
    derivatives = [zeros_like(x) for x in wrt]
    for y, seed in zip(outputs, seeds):
        if not _is_float(y):
            continue
        for place, d in zip(places, gradients(y, [wrt[k] for k in places], seed)):
            derivatives[place] = derivatives[place] + d
    return derivatives


def vjp(f: Callable[..., _R], *primals: Any) -> tuple[_R, Callable[[Any], Any]]:
    """Returns f(*primals), and a function that maps the cotangent of the result (a tree of the same structure) to a
    tuple of cotangents of the primals. ValueError if the cotangent's structure or a shape differs from the
    result."""
    with recording():
        form, wrt, out_form, outputs = _called(f, primals)
        rules = list(state.rules or ())  # rules, which end with the recording

    def pull(cotangents):
        given_form, seeds = _leaves(cotangents)
        seeds = [tensor(s, y.dtype) for s, y in zip(seeds, outputs)]
        if given_form != out_form or any(s.shape != y.shape for s, y in zip(seeds, outputs)):
            raise ValueError(f"vjp: the derivatives are {_described(seeds)} for results {_described(outputs)}")
        with recording():
            state.rules = rules + [rule for rule in state.rules or () if rule not in rules]
            return _tree.unflatten(form, iter(_pulled(outputs, seeds, wrt)))

    return _tree.unflatten(out_form, iter(outputs)), pull


def _described(tensors):
    return ", ".join(f"{x.dtype}{list(x.shape)}" for x in tensors) or "nothing"


def jvp(f: Callable[..., _R], primals: Any, tangents: Any) -> tuple[_R, _R]:
    """Returns f(*primals) and its derivative along `tangents`, which have the structure and shapes of the primals.
    The derivative of integers is 0. ValueError if the tangents do not fit.

    Computed by differentiating the vector-Jacobian function, which is linear in the cotangent."""
    primals, tangents = tuple(primals), tuple(tangents)
    with recording():
        form, wrt, out_form, outputs = _called(f, primals)
        tangent_form, directions = _leaves(tangents)
        directions = [tensor(t) for t in directions]
        if tangent_form != form or any(t.shape != x.shape for t, x in zip(directions, wrt)):
            raise ValueError(f"jvp: the tangents are {_described(directions)} for primals {_described(wrt)}")
        seeds = [_fresh(zeros_like(y)) for y in outputs]
        along = _pulled(outputs, seeds, wrt)
        results = [zeros_like(y) for y in outputs]
        places = [k for k, y in enumerate(outputs) if _is_float(y)]
        for d, t, x in zip(along, directions, wrt):
            if not _is_float(x):
                continue
            found = gradients(d, [seeds[k] for k in places], tensor(t, x.dtype))
            for place, part in zip(places, found):
                results[place] = results[place] + part
    return _tree.unflatten(out_form, iter(outputs)), _tree.unflatten(out_form, iter(results))


def jacobian(f: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """Returns a function that computes the derivatives of all results of `f` by all elements of the arguments at
    `argnums` (a number or a tuple). For a result [M] and an argument [N] this is a tensor [M, N]; in general, the
    result's shape followed by the argument's shape. Results and arguments may be trees; a tree of results has a
    tree like the argument at every leaf. ValueError for results that are not floats.

        hessian = tartan.jacobian(tartan.grad(f))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        chosen = [args[n] for n in numbers]

        def of_chosen(*values):
            given = list(args)
            for n, value in zip(numbers, values):
                given[n] = value
            return f(*given, **kwargs)

        with recording():
            form, wrt, out_form, outputs = _called(of_chosen, chosen)
            rows = []
            for y in outputs:
                if not _is_float(y):
                    raise ValueError(f"jacobian: a result is {y.dtype}{list(y.shape)}; only floats have derivatives")
                parts = _tree.unflatten(form, iter(_rows(y, wrt)))
                rows.append(parts[0] if isinstance(argnums, int) else parts)
        return _tree.unflatten(out_form, iter(rows))

    return wrapped


def _rows(y, wrt):
    """Returns the derivatives of each element of y, with the shape of y in front."""
    if y.size == 0:
        return [_m.broadcast_to(zeros_like(x), (*y.shape, *x.shape)) for x in wrt]
    basis = _m.reshape(eye(y.size, dtype=y.dtype), (y.size, *y.shape))
    found = vmap(lambda seed: _pulled([y], [seed], wrt))(basis)
    return [_m.reshape(d, (*y.shape, *x.shape)) for d, x in zip(found, wrt)]
