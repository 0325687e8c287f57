# SPDX-License-Identifier: Apache-2.0
"""Activations."""

import numpy as np
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, axes_of, floated, formula, is_exported, is_float, like, one, op, reshaped, transposed
from keras_tartan.src._values import cast, from_array
from tartan._rows import ROWS


def _text(text, exported=None):
    """Returns a function of one tensor. `exported` is the text that the export to ONNX knows."""
    def function(x):
        return formula(exported if exported and is_exported() else text, floated(x))

    return function


def relu(x):
    x = T(x)
    return op("Relu", x) if x.dtype != "bool" else x


def _clamped(x, low, high):
    """Clips floats. The derivatives at the bounds are 0, as with torch and TensorFlow; clip passes them."""
    if is_exported() or not is_float(x):
        return knp.clip(x, low, high)
    return formula(f"O = X <= {low!r} ? {low!r} : (X >= {high!r} ? {high!r} : X);", x)


def relu6(x):
    x = T(x)
    return _clamped(x, 0.0, 6.0) if is_float(x) else knp.clip(x, 0, 6)


def sigmoid(x):
    return ROWS["sigmoid"](floated(x))


sparse_sigmoid = _text("O = X <= -1.0 ? 0.0 : (X >= 1.0 ? 1.0 : 0.5 * (X + 1.0));")
tanh_shrink = _text("O = X - tanh(X);")
softplus = _text("O = max(X, 0.0) + log1p(exp(-abs(X)));")
log_sigmoid = _text("O = -(max(-X, 0.0) + log1p(exp(-abs(X))));")
sparse_plus = _text("O = X <= -1.0 ? 0.0 : (X < 1.0 ? 0.25 * (X + 1.0) * (X + 1.0) : X);")
silu = _text("O = X * sigmoid(X);")
softsign = _text("O = X / (1.0 + abs(X));")
# Branches decide the derivatives where the pieces meet; minima and maxima would take the mean of two pieces.
hard_sigmoid = _text("O = X <= -3.0 ? 0.0 : (X >= 3.0 ? 1.0 : X / 6.0 + 0.5);", "O = min(max(X / 6.0 + 0.5, 0.0), 1.0);")
hard_silu = _text("O = X <= -3.0 ? 0.0 : (X >= 3.0 ? X : X * (X / 6.0 + 0.5));", "O = X * min(max(X / 6.0 + 0.5, 0.0), 1.0);")
selu = _text("O = 1.0507009873554805 * (X > 0 ? X : 1.6732632423543772 * expm1(X > 0 ? 0.0 : X));",
             "O = 1.0507009873554805 * (X > 0 ? X : 1.6732632423543772 * expm1(min(X, 0.0)));")


def tanh(x):
    return ROWS["tanh"](floated(x))


def soft_shrink(x, threshold=0.5):
    t = float(threshold)
    return _text(f"O = X > {t!r} ? X - {t!r} : (X < -{t!r} ? X + {t!r} : 0.0);")(x)


def hard_shrink(x, threshold=0.5):
    return _text(f"O = abs(X) > {float(threshold)!r} ? X : 0.0;")(x)


def squareplus(x, b=4):
    return _text(f"O = 0.5 * (X + sqrt(X * X + {float(b)!r}));")(x)


def leaky_relu(x, negative_slope=0.2):
    x = floated(x)
    if is_exported():
        return op("LeakyRelu", x, alpha=float(negative_slope))
    return knp.where(knp.greater_equal(x, 0), x, knp.multiply(x, T(negative_slope, x.dtype)))


def elu(x, alpha=1.0):
    x = floated(x)
    if is_exported():
        return op("Elu", x, alpha=float(alpha))
    alpha = T(alpha, x.dtype)
    return knp.where(knp.greater(x, 0), x, knp.multiply(alpha, knp.expm1(_not_positive(x))))


def _not_positive(x):
    return knp.where(knp.greater(x, 0), like(0, x), x)


def celu(x, alpha=1.0):
    x = floated(x)
    if is_exported():
        return op("Celu", x, alpha=float(alpha))
    alpha = T(alpha, x.dtype)
    return knp.where(knp.greater(x, 0), x, knp.multiply(alpha, knp.expm1(knp.divide(_not_positive(x), alpha))))


def gelu(x, approximate=True):
    if approximate:
        return _text("O = 0.5 * X * (1.0 + tanh(0.7978845608028654 * (X + 0.044715 * X * X * X)));")(x)
    return _text("O = 0.5 * X * (1.0 + erf(X * 0.7071067811865476));")(x)


def glu(x, axis=-1):
    x = floated(x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    a, b = knp.split(x, 2, axis)
    return knp.multiply(a, sigmoid(b))


def hard_tanh(x):
    return _clamped(T(x), -1.0, 1.0)


def threshold(x, threshold, default_value):
    x = T(x)
    return knp.where(knp.greater(x, T(threshold, x.dtype)), x, T(default_value, x.dtype))


def _over_axes(name, x, axis):
    x = floated(x)
    n = len(x.shape)
    if n == 0:
        return reshaped(op(name, reshaped(x, (1,)), axis=0), ())
    if isinstance(axis, int):
        return op(name, x, axis=axis)
    axes = axes_of(axis, n)
    rest = [a for a in range(n) if a not in axes]
    moved = transposed(x, rest + axes)
    flat = reshaped(moved, [moved.shape[i] for i in range(len(rest))] + [-1])
    result = reshaped(op(name, flat, axis=-1), moved.shape)
    return transposed(result, np.argsort(rest + axes).tolist())


def softmax(x, axis=-1):
    return _over_axes("Softmax", x, axis)


def log_softmax(x, axis=-1):
    return _over_axes("LogSoftmax", x, axis)


def sparsemax(x, axis=-1):
    x = floated(x)
    axis = one(axis, len(x.shape))
    ordered = knp.flip(knp.sort(x, axis), axis)
    sums = knp.cumsum(ordered, axis)
    dims = [-1 if a == axis else 1 for a in range(len(x.shape))]
    rank = reshaped(from_array(np.arange(1, x.shape[axis] + 1), x.dtype), dims)
    support = knp.greater(knp.add(knp.multiply(rank, ordered), 1.0), sums)
    count = knp.sum(cast(support, x.dtype), axis, True)
    total = knp.sum(knp.where(support, ordered, like(0, x)), axis, True)
    return knp.maximum(knp.subtract(x, knp.divide(knp.subtract(total, 1.0), count)), like(0, x))
