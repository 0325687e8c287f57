# SPDX-License-Identifier: Apache-2.0
"""Means, variances, and what is normalized by them."""

from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, axes_of, formula, op, reshaped
from keras_tartan.src._values import cast


def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with tartan.")
    x = T(x)
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    work = cast(x, wide)
    mean = knp.mean(work, axes, True)
    centred = op("Sub", work, mean)
    variance = knp.mean(op("Mul", centred, centred), axes, True)
    if not keepdims:
        shape = [d for a, d in enumerate(x.shape) if a not in axes_of(axes, len(x.shape))]
        mean, variance = reshaped(mean, shape), reshaped(variance, shape)
    if wide != x.dtype:
        largest = float(65504.0 if x.dtype == "float16" else 3.3895313892515355e38)
        mean, variance = [cast(knp.clip(v, -largest, largest), x.dtype) for v in (mean, variance)]
    return mean, variance


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = T(x)
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
