# SPDX-License-Identifier: Apache-2.0
"""Moments and normalizations."""

import math

from keras.src.backend.config import epsilon as backend_epsilon
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, axes_of, formula, is_exported, is_float, op, reshaped, transposed
from keras_tartan.src._values import cast
from keras_tartan.src.math import rsqrt
from tartan._tensor import tile1


def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with tartan.")
    x = T(x)
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    work = cast(x, wide)
    mean = knp.mean(work, axes, True)
    variance = _variance(work, mean, axes)
    if not keepdims:
        shape = [d for a, d in enumerate(x.shape) if a not in axes_of(axes, len(x.shape))]
        mean, variance = reshaped(mean, shape), reshaped(variance, shape)
    if wide != x.dtype:
        largest = float(65504.0 if x.dtype == "float16" else 3.3895313892515355e38)
        mean, variance = [cast(knp.clip(v, -largest, largest), x.dtype) for v in (mean, variance)]
    return mean, variance


def _variance(x, mean, axes):
    """The mean of squared deviations. By the mean its derivative is 0, which its rule knows: else the backward pass
    would add up the deviations."""
    if is_exported():
        centred = op("Sub", x, mean)
        return knp.mean(op("Mul", centred, centred), axes, True)
    squares = tile1("function (X, M) -> (O) { D = X - M; O = D * D; }", x, mean)
    count = math.prod(x.shape[a] for a in axes_of(axes, len(x.shape)))
    return tile1(f"""
        function (V, X, M) -> (O) {{ O = custom_gradient(V, rule, X, M); }}
        function rule (X, M, Y, DY) -> (DX) {{ DX = (X - M) * (DY / {count / 2!r}); }}""", knp.mean(squares, axes, True), x, mean)


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = T(x)
    if is_exported() and len(x.shape) > 1 and is_float(x):
        return _as_operator(x, mean, variance, axis % len(x.shape), offset, scale, epsilon)
    shape = [1] * len(x.shape)
    shape[axis] = x.shape[axis]

    def spread(v):
        return reshaped(T(v), shape)

    factor = formula(f"O = recip(sqrt(X + {float(epsilon)!r}));" if "e" not in repr(float(epsilon)) else
                     f"O = recip(sqrt(X + {float(epsilon):.20f}));", spread(variance))
    if scale is not None:
        factor = knp.multiply(factor, spread(scale))
    shift = knp.multiply(knp.negative(spread(mean)), factor)
    if offset is not None:
        shift = knp.add(shift, spread(offset))
    return cast(knp.add(knp.multiply(x, factor), shift), x.dtype)


def _as_operator(x, mean, variance, axis, offset, scale, epsilon):
    """Applies ONNX BatchNormalization, which has channels in the second dimension."""
    n = len(x.shape)
    scale = knp.ones_like(mean) if scale is None else scale
    offset = knp.zeros_like(mean) if offset is None else offset
    order = [0, axis] + [a for a in range(1, n) if a != axis] if axis else [1, 0] + list(range(2, n))
    back = [order.index(a) for a in range(n)]
    parameters = [cast(v, x.dtype) for v in (scale, offset, mean, variance)]
    result = op("BatchNormalization", transposed(x, order), *parameters, epsilon=float(epsilon))
    return cast(transposed(result, back), x.dtype)


def exported_layer_normalization(x, gamma, beta, axes, epsilon):
    """Applies ONNX LayerNormalization over the last dimensions. Returns None if it does not apply, and outside
    export."""
    if not is_exported():
        return None
    n = len(x.shape)
    axes = sorted(a % n for a in axes)
    if axes != list(range(axes[0], n)):
        return None
    shape = tuple(x.shape[a] for a in axes)
    gamma = knp.ones(shape, x.dtype) if gamma is None else reshaped(gamma, shape)
    rest = [] if beta is None else [reshaped(beta, shape)]
    return op("LayerNormalization", x, gamma, *rest, axis=axes[0] - n, epsilon=float(epsilon))


def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None):
    """For Keras 3.16, which computes the dtypes and the axes before."""
    axes = axes_of(axis, len(x.shape))
    epsilon = backend_epsilon() if epsilon is None else epsilon
    outputs = exported_layer_normalization(x, gamma, beta, axes, epsilon)
    if outputs is not None:
        return outputs
    mean, variance = moments(x, axes, keepdims=True)
    shape = [size if a in axes else 1 for a, size in enumerate(x.shape)]
    factor = rsqrt(knp.add(variance, epsilon))
    if gamma is not None:
        factor = knp.multiply(factor, reshaped(T(gamma), shape))
    outputs = knp.multiply(knp.subtract(x, mean), factor)
    return outputs if beta is None else knp.add(outputs, reshaped(T(beta), shape))
