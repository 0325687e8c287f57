# SPDX-License-Identifier: Apache-2.0
"""Experimental operators of the first operator sets."""

import numpy as np

from .draw import Case, array, between, dim, flip, given, maybe, pick, real, reals, recipe, shape


def old(operands, attributes):
    """A case in an early operator set, with onnxruntime's results."""
    return Case(operands, attributes, opset=7, oracle="onnxruntime")


@recipe("Affine", "ParametricSoftplus", "ScaledTanh")
def alpha_beta(rng, _):
    attributes = {"alpha": real(rng, 0.5, 2), "beta": real(rng, 0.5, 2)}
    return old([array(rng, shape(rng, 1, 4, zero=False))], attributes)


@recipe("Scale")
def scale(rng, _):
    attributes = given(scale=maybe(rng, real(rng, 0.5, 2)))
    return old([array(rng, shape(rng, 1, 4, zero=False))], attributes)


@recipe("ImageScaler")
def image_scaler(rng, _):
    channels = dim(rng, False)
    x = array(rng, [dim(rng, False), channels, dim(rng, False), dim(rng, False)])
    return old([x], {"scale": real(rng, 0.5, 2), "bias": reals(rng, channels)})


@recipe("Crop")
def crop(rng, _):
    border = [between(rng, 0, 2) for _ in range(4)]
    sizes = [between(rng, 5, 8) for _ in range(2)]
    x = array(rng, [dim(rng, False), dim(rng, False)] + sizes)
    if flip(rng):
        return old([x], {"border": border, "scale": [between(rng, 1, 3), between(rng, 1, 3)]})
    return old([x], {"border": border})


@recipe("DynamicSlice")
def dynamic_slice(rng, _):
    sizes = shape(rng, 1, 4, zero=False)
    axes = sorted({int(rng.integers(len(sizes))) for _ in range(2)})
    starts = [between(rng, -2, 1) for _ in axes]
    ends = [between(rng, 1, 9) for _ in axes]
    kind = pick(rng, (np.int32, np.int64))
    return old([array(rng, sizes)] + [np.array(v, kind) for v in (starts, ends, axes)], {})
