# SPDX-License-Identifier: Apache-2.0
"""Trees: nested lists, tuples and dictionaries as flat lists of leaves. Complex tensors are trees of two tensors."""


def flatten(tree, leaves):
    """Appends the leaves of `tree` to a list, and returns the remaining structure, which is hashable."""
    if isinstance(tree, (list, tuple)):
        kind = type(tree)
        parts = tuple(flatten(part, leaves) for part in tree)
        return (kind, parts)
    if isinstance(tree, dict):
        keys = tuple(tree)
        return (type(tree), keys, tuple(flatten(tree[key], leaves) for key in keys))
    if hasattr(tree, "_tree_parts"):
        return (type(tree), tuple(flatten(part, leaves) for part in tree._tree_parts()))
    leaves.append(tree)
    return None


def unflatten(form, leaves):
    """Inverse of `flatten`; `leaves` is an iterator."""
    if form is None:
        return next(leaves)
    if len(form) == 3:
        kind, keys, parts = form
        items = ((key, unflatten(part, leaves)) for key, part in zip(keys, parts))
        return kind(items) if kind is not dict else dict(items)
    kind, parts = form
    values = [unflatten(part, leaves) for part in parts]
    if hasattr(kind, "_fields") or hasattr(kind, "_tree_parts"):  # a named tuple or a complex tensor
        return kind(*values)
    return kind(values)
