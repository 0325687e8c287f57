# SPDX-License-Identifier: Apache-2.0
"""Scans along an axis."""

import builtins

from keras.src import tree
from keras_tartan.src import numpy as knp
from keras_tartan.src._values import convert_to_tensor
from tartan._control import looped


def _slices(tensors, i):
    return tree.map_structure(lambda x: x[i], tensors)


def _length(tensors):
    sizes = {x.shape[0] for x in tree.flatten(tensors)}
    if len(sizes) != 1:
        shapes = ", ".join(str(list(x.shape)) for x in tree.flatten(tensors))
        raise ValueError(f"tensors of the shapes {shapes} have no common first dimension")
    return sizes.pop()


def vectorized_map(function, elements):
    elements = tree.map_structure(convert_to_tensor, elements)
    length = _length(elements)
    results = [function(_slices(elements, i)) for i in range(length)]
    return tree.map_structure(lambda *parts: knp.stack(parts), *results)


def map(f, xs):
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def _step(f, carry, row):
    carry, result = f(carry, row)
    if result is None:
        result = tree.map_structure(lambda x: knp.zeros_like(x), carry)
    return carry, result


def _looped(f, carry, xs, steps, reverse):
    """Returns what `scan` does, or None if its steps must be captured one by one."""
    found = []

    def step(inner, rows):
        row = None if xs is None else tree.pack_sequence_as(xs, rows)
        after, result = _step(f, tree.pack_sequence_as(carry, inner), row)
        if len(tree.flatten(after)) != len(inner):
            raise ValueError(f"scan: `f` returned a carry of {len(tree.flatten(after))} tensors for one of {len(inner)}")
        found[:] = [result]
        return [[convert_to_tensor(x) for x in tree.flatten(part)] for part in (after, result)]

    made = looped(step, tree.flatten(carry), [] if xs is None else tree.flatten(xs), steps, reverse)
    if made is None:
        return None
    return tree.pack_sequence_as(carry, made[0]), tree.pack_sequence_as(found[0], made[1])


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    xs = tree.map_structure(convert_to_tensor, xs) if xs is not None else None
    carry = tree.map_structure(convert_to_tensor, init)
    steps = int(length) if length is not None else _length(xs)
    made = _looped(f, carry, xs, steps, reverse)
    if made is not None:
        return made
    results = []
    for i in builtins.reversed(range(steps)) if reverse else range(steps):
        carry, result = _step(f, carry, None if xs is None else _slices(xs, i))
        results.append(result)
    if reverse:
        results.reverse()
    if not results:
        return carry, None
    return carry, tree.map_structure(lambda *parts: knp.stack(parts), *results)


def associative_scan(f, elems, reverse=False, axis=0):
    """Combines spans of doubling length; calls `f` log2(length) times."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [convert_to_tensor(x) for x in tree.flatten(elems)]
    length = flat[0].shape[axis]
    if any(x.shape[axis] != length for x in flat):
        raise ValueError("Array inputs to associative_scan must have the same first dimension. "
                         f"(saw: {[x.shape for x in flat]})")
    if reverse:
        flat = [knp.flip(x, axis) for x in flat]

    def part(x, begin, end):
        at = [builtins.slice(None)] * len(x.shape)
        at[axis] = builtins.slice(begin, end)
        return x[tuple(at)]

    distance = 1
    while distance < length:
        left = [part(x, 0, length - distance) for x in flat]
        right = [part(x, distance, length) for x in flat]
        joined = f(tree.pack_sequence_as(elems, left), tree.pack_sequence_as(elems, right))
        flat = [knp.concatenate([part(x, 0, distance), new], axis=axis)
                for x, new in zip(flat, tree.flatten(joined))]
        distance *= 2
    if reverse:
        flat = [knp.flip(x, axis) for x in flat]
    return tree.pack_sequence_as(elems, flat)
