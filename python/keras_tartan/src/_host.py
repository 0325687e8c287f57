# SPDX-License-Identifier: Apache-2.0
"""Functions that the host computes from values."""

import numpy as np
from keras.src import tree
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras_tartan.src._kit import floated, ours
from keras_tartan.src._values import NeedsValues, from_array, placeholder, untraced


def _identity_like(x):
    """Returns matrices with the shape of x on which every factorization exists."""
    rows = x.shape[-2:] if len(x.shape) > 1 else (x.shape[-1], 1)
    values = np.eye(*rows) if len(x.shape) > 1 else np.eye(*rows)[:, 0]
    return from_array(np.broadcast_to(values, x.shape), x.dtype)


def on_host(function, *operands, **options):
    """Applies a function of tartan.linalg. While only shapes are wanted, it is applied to identity matrices."""
    operands = [floated(x) for x in operands]
    if not any(x.is_traced for x in operands):
        return ours(function(*operands, **options))
    if not in_symbolic_scope():
        raise NeedsValues(f"linalg.{function.__name__} in a step that is captured is not implemented in the tartan backend: "
                          "compile with run_eagerly=True")
    with untraced():
        shown = function(*[_identity_like(x) for x in operands], **options)
    return tree.map_structure(lambda x: placeholder(x.shape, x.dtype), ours(shown))
