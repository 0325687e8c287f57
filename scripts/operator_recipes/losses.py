# SPDX-License-Identifier: Apache-2.0
"""Losses."""

from .draw import array, dim, given, ints, maybe, pick, recipe, shape


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(rng, name):
    n, c = dim(rng, False), int(rng.integers(1, 6))
    rest = shape(rng, 0, 2, zero=False)
    x = array(rng, [n, c] + rest)
    target = rng.integers(0, c, [n] + rest)
    operands = [x, ints(target)] + ([array(rng, [c], low=0.1)] if rng.random() < 0.5 else [])
    return (
        operands,
        given(
            reduction=maybe(rng, pick(rng, ("none", "sum", "mean"))),
            ignore_index=maybe(rng, int(rng.integers(c)), 0.3),
        ),
        1,
    )
