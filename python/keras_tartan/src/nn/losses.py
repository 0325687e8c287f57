# SPDX-License-Identifier: Apache-2.0
"""Class encodings and losses."""

import numpy as np
from keras.src import backend
from keras_tartan.src import numpy as knp
from keras_tartan.src._derivatives import stop_gradient
from keras_tartan.src._kit import T, common, floated, formula, like, one, op, ours, reshaped
from keras_tartan.src._values import cast, from_array
from keras_tartan.src.nn.activations import log_softmax
from tartan import _selection


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    hot = ours(_selection.one_hot(T(x, "int64"), num_classes, dtype=dtype or backend.floatx()))
    return knp.moveaxis(hot, -1, axis)


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    x = T(x)
    over = 1 if len(x.shape) > 1 else 0
    return knp.max(one_hot(x, num_classes, axis, dtype), over)


def _check_target(target, output, axis=None):
    if len(target.shape) < 1 and axis is not None:
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if len(target.shape) != len(output.shape) or any(a != b for a, b in zip(target.shape, output.shape)):
        raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")


def _clipped(output):
    epsilon = backend.epsilon()
    return knp.clip(output, like(epsilon, output), like(1.0 - epsilon, output))


def _log_probabilities(output, from_logits, axis):
    if from_logits:
        return log_softmax(output, axis)
    output = op("Div", output, knp.sum(output, axis, True))
    return knp.log(_clipped(output))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = T(target), floated(output)
    _check_target(target, output, axis)
    target = cast(target, output.dtype)
    return knp.negative(knp.sum(op("Mul", target, _log_probabilities(output, from_logits, axis)), axis))


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """Returns NaN for targets that are no class: the values of a captured step cannot raise an error."""
    target, output = T(target, "int64"), floated(output)
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = knp.squeeze(target, -1)
    if len(output.shape) < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    axis = one(axis, len(output.shape))
    rest = tuple(d for a, d in enumerate(output.shape) if a != axis)
    if target.shape != rest:
        raise ValueError("Arguments `target` and `output` must have the same shape up until the last dimension: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if from_logits:
        # log(TOTAL) outside the choice: a derivative of log_softmax would store the choice for all classes.
        logs = knp.subtract(output, stop_gradient(knp.max(output, axis, True)))
        total = knp.log(knp.sum(knp.exp(logs), axis))
    else:
        logs, total = _log_probabilities(output, False, axis), like(0, output)
    picked = op("Equal", knp.expand_dims(target, axis),
                reshaped(from_array(np.arange(output.shape[axis], dtype="int64")),
                         [-1 if a == axis else 1 for a in range(len(output.shape))]))
    losses = knp.subtract(total, knp.sum(op("Where", picked, logs, like(0, logs)), axis))
    is_class = knp.logical_and(knp.greater_equal(target, 0), knp.less(target, output.shape[axis]))
    return op("Where", is_class, losses, like(np.nan, losses))


def binary_crossentropy(target, output, from_logits=False):
    target, output = T(target), floated(output)
    _check_target(target, output)
    target = cast(target, output.dtype)
    if from_logits:
        return formula("O = max(X, 0.0) - X * Y + log1p(exp(-abs(X)));", output, target)
    return formula("O = -(Y * log(X) + (1.0 - Y) * log(1.0 - X));", _clipped(output), target)


def psnr(x1, x2, max_val):
    x1, x2 = T(x1), T(x2)
    if x1.shape != x2.shape:
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    x1, x2 = common(x1, x2, extra=(float,))
    error = knp.mean(knp.square(op("Sub", x1, x2)))
    return knp.subtract(knp.multiply(20.0, knp.log10(T(max_val, x1.dtype))), knp.multiply(10.0, knp.log10(error)))
