# SPDX-License-Identifier: Apache-2.0
"""Random numbers from a seed. The evaluator and Tartan give NumPy's numbers; without a seed they
are undefined."""

import numpy as np
from onnx import TensorProto

from .draw import array, between, given, maybe, pick, real, recipe, shape, trimmed

KINDS = (TensorProto.FLOAT, TensorProto.DOUBLE)


def spread(rng, name):
    if "Normal" in name:
        return given(mean=maybe(rng, real(rng, -2, 2)), scale=maybe(rng, real(rng, 0.5, 2)))
    return given(low=maybe(rng, real(rng, -3, 0)), high=maybe(rng, real(rng, 1, 3)))


@recipe("RandomNormal", "RandomUniform")
def random(rng, name):
    return (
        [],
        given(
            shape=shape(rng, 1),
            dtype=maybe(rng, int(pick(rng, KINDS))),
            seed=float(between(rng, 0, 999)),
            **spread(rng, name)
        ),
        1,
    )


@recipe("RandomNormalLike", "RandomUniformLike")
def random_like(rng, name):
    x = array(rng, shape(rng, 1), pick(rng, (np.float32, np.float64)))
    return (
        [x],
        given(
            dtype=maybe(rng, int(pick(rng, KINDS))),
            seed=float(between(rng, 0, 999)),
            **spread(rng, name)
        ),
        1,
    )


@recipe("Dropout")
def dropout(rng, _):
    x = array(rng, shape(rng), pick(rng, (np.float32, np.float64)))
    ratio = maybe(rng, np.array(pick(rng, (0.0, 0.1, 0.5, 0.75)), x.dtype), 0.8)
    training = maybe(rng, np.array(rng.random() < 0.5), 0.7)
    return trimmed(x, ratio, training), {"seed": between(rng, 0, 999)}, pick(rng, (1, 2))
