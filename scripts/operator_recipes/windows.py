# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools and other window operators. "The evaluator" is onnx.reference, whose faults
the recipes avoid."""

import numpy as np

from .draw import FLOATS, Case, array, dim, given, maybe, pick, recipe, shape


def window(rng, spatial, sizes, kernel, most_pad=True):
    """Strides, dilations and pads for which the kernel fits."""
    attributes = {}
    dilations = [int(rng.integers(1, 3)) if (k - 1) * 2 < s else 1 for k, s in zip(kernel, sizes)]
    if rng.random() < 0.6:
        attributes["strides"] = [int(v) for v in rng.integers(1, 4, spatial)]
    if max(dilations) > 1:
        attributes["dilations"] = dilations
    choice = rng.random()
    if choice < 0.5:
        attributes["pads"] = [int(rng.integers(0, k)) if most_pad else 0 for k in kernel * 2]
    elif choice < 0.75:
        attributes["auto_pad"] = pick(rng, ("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes.pop("dilations", None)
    return attributes


@recipe("Conv")
def conv(rng, _):
    spatial = int(rng.integers(1, 4))
    group = int(rng.choice([1, 1, 2, 3]))
    n, c, o = dim(rng, False), group * int(rng.integers(1, 4)), group * int(rng.integers(1, 4))
    sizes = [int(v) for v in rng.integers(3, 8, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = window(rng, spatial, sizes, kernel)
    attributes["group"] = group
    attributes["kernel_shape"] = kernel
    x = array(rng, [n, c] + sizes, np.float32)
    w = array(rng, [o, c // group] + kernel, np.float32)
    return [x, w] + ([array(rng, [o], np.float32)] if rng.random() < 0.5 else []), attributes, 1


@recipe("ConvTranspose")
def conv_transpose(rng, _):
    spatial = int(rng.integers(1, 3))
    group = int(rng.choice([1, 1, 2]))
    n, c, o = dim(rng, False), group * int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if group > 1:  # the evaluator supports only this
        c, o = group, 1
    sizes = [int(v) for v in rng.integers(2, 6, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = {"group": group, "kernel_shape": kernel}
    if rng.random() < 0.6:
        attributes["strides"] = [int(v) for v in rng.integers(1, 4, spatial)]
    if rng.random() < 0.4:
        attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    x = array(rng, [n, c] + sizes, np.float32)
    w = array(rng, [c, o] + kernel, np.float32)
    # The evaluator uses the first group's bias for every group.
    bias = [array(rng, [o], np.float32)] if group == 1 and rng.random() < 0.5 else []
    return [x, w] + bias, attributes, 1


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(rng, name):
    spatial = int(rng.integers(1, 4))
    sizes = [int(v) for v in rng.integers(3, 8, spatial)]
    kernel = [int(v) for v in rng.integers(1, 4, spatial)]
    attributes = window(rng, spatial, sizes, kernel)
    attributes["kernel_shape"] = kernel
    # The evaluator is wrong if the last window extends past the end and is dilated or at an edge
    # from auto_pad, or if strides leave gaps there.
    plain = "dilations" not in attributes and "auto_pad" not in attributes
    # Its LpPool divides by the number of existing elements and multiplies by the window size.
    if plain and "strides" in attributes and name != "LpPool":
        attributes.update(given(ceil_mode=maybe(rng, int(rng.integers(2)))))
    if "auto_pad" in attributes and "strides" in attributes:
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
    if name == "AveragePool":
        attributes.update(given(count_include_pad=maybe(rng, int(rng.integers(2)))))
    if name == "LpPool":
        attributes.update(given(p=maybe(rng, int(rng.integers(1, 4)))))
    return [array(rng, [dim(rng, False), dim(rng, False)] + sizes, np.float32)], attributes, 1


@recipe("GlobalAveragePool", "GlobalMaxPool")
def global_pool(rng, name):
    # The evaluator's maximum has a wrong shape for ranks other than 4.
    most = 4 if name == "GlobalMaxPool" else 5
    return (
        [array(rng, shape(rng, 4 if most == 4 else 3, most, zero=False), pick(rng, FLOATS))],
        {},
        1,
    )


@recipe("LRN")
def lrn(rng, _):
    dims = shape(rng, 4, 4, zero=False)
    dims[0] = dims[1]  # the evaluator uses the batch size as the number of channels
    return (
        [array(rng, dims)],
        given(
            size=int(rng.choice([1, 3, 5])),
            alpha=maybe(rng, 0.01),
            beta=maybe(rng, 0.5),
            bias=maybe(rng, 2.0),
        ),
        1,
    )


@recipe("GlobalLpPool")
def global_lp_pool(rng, _):
    p = maybe(rng, int(rng.integers(1, 4)))
    return Case(
        [array(rng, shape(rng, 3, 5, zero=False))], given(p=p), opset=11, oracle="onnxruntime"
    )
