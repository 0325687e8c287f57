# SPDX-License-Identifier: Apache-2.0
"""Normalizations."""

from .draw import Case, array, axis_of, dim, given, maybe, recipe, shape


@recipe("BatchNormalization")
def batch_normalization(rng, _):
    dims = shape(rng, 2, 5)
    per = [array(rng, [dims[1]]) for _ in range(3)] + [array(rng, [dims[1]], low=0.1)]
    return [array(rng, dims)] + per, given(epsilon=maybe(rng, 0.01)), 1


@recipe("InstanceNormalization")
def instance_normalization(rng, _):
    dims = shape(rng, 3, 5, zero=False)
    return (
        [array(rng, dims), array(rng, [dims[1]]), array(rng, [dims[1]])],
        given(epsilon=maybe(rng, 0.01)),
        1,
    )


@recipe("GroupNormalization")
def group_normalization(rng, _):
    groups = int(rng.integers(1, 4))
    channels = groups * int(rng.integers(1, 4))
    dims = [dim(rng, False), channels] + shape(rng, 1, 3, zero=False)
    return (
        [array(rng, dims), array(rng, [channels]), array(rng, [channels])],
        {"num_groups": groups, "epsilon": 0.01},
        1,
    )


@recipe("LayerNormalization", "RMSNormalization")
def layer_normalization(rng, name):
    dims = shape(rng, 1, 4, zero=False)
    axis = axis_of(rng, len(dims))
    operands = [array(rng, dims), array(rng, dims[axis:])]
    if name == "LayerNormalization" and rng.random() < 0.6:
        operands.append(array(rng, dims[axis:]))
    return operands, {"axis": axis, "epsilon": 0.01}, 1


@recipe("MeanVarianceNormalization")
def mean_variance(rng, _):
    return [array(rng, shape(rng, 4, 4, zero=False))], given(axes=maybe(rng, [0, 2, 3])), 1


@recipe("SimplifiedLayerNormalization")
def simplified(rng, _):
    """An operator that onnxruntime writes into its default domain although the standard lacks
    it."""
    sizes = shape(rng, 2, 4, zero=False)
    return Case(
        [array(rng, sizes), array(rng, sizes[-1:])],
        {"axis": -1, "epsilon": 0.01},
        opset=17,
        oracle="onnxruntime",
    )
