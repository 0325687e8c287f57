# SPDX-License-Identifier: Apache-2.0
"""Forms that ONNX's evaluator lacks or computes wrongly, or that the standard leaves open: ties,
ends of windows, inferred padding. NaN is excluded, because onnxruntime's result depends on its
position. For --against onnxruntime; frontend/onnx/README.md has the rule, and docs/operators.md
the decisions where engines differ."""

import numpy as np

from .boxes import corners
from .draw import (
    Case,
    array,
    axis_of,
    between,
    dim,
    dims,
    flip,
    given,
    ints,
    maybe,
    pick,
    shape,
    trimmed,
)

WIDER = {}  # (domain, operator) -> function of a generator, replaces the recipe in RECIPES


def wider(*names):
    def register(function):
        for name in names:
            WIDER["", name] = lambda rng, name=name: function(rng, name)
        return function

    return register


SCALES = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.2, 1.25, 1.5, 2, 2.5, 3)


@wider("Resize")
def resize(rng, _):
    sizes = [dim(rng, False), 1, between(rng, 1, 20), between(rng, 1, 20)]
    x = array(rng, sizes, np.float32, 2, 3)
    mode = pick(rng, ("nearest", "nearest", "linear", "cubic"))
    scales = np.array([1, 1, pick(rng, SCALES), pick(rng, SCALES)], np.float32)
    if min(int(np.float32(s) * f) for s, f in zip(sizes, scales)) < 1:
        scales = np.maximum(scales, 1)
    if mode != "cubic" and flip(rng):
        return Case([x, scales], {"mode": mode}, opset=10)
    # onnxruntime counts whole elements of the result if align_corners is set, see
    # docs/operators.md.
    coordinates = ("half_pixel", "asymmetric", "pytorch_half_pixel")
    attributes = {"mode": mode, "coordinate_transformation_mode": pick(rng, coordinates)}
    if mode == "nearest":
        attributes["nearest_mode"] = pick(rng, ("round_prefer_floor", "floor", "ceil"))
    if flip(rng):
        return Case([x, np.zeros(0, np.float32), scales], attributes, opset=pick(rng, (11, 13, 19)))
    attributes["coordinate_transformation_mode"] = pick(rng, coordinates + ("align_corners",))
    new = ints(sizes[:2] + [between(rng, 1, 30), between(rng, 1, 30)])
    return Case([x, np.zeros(0, np.float32), None, new], attributes, opset=pick(rng, (13, 19)))


@wider("GridSample")
def grid_sample(rng, _):
    n, c, spatial = dim(rng, False), dim(rng, False), between(rng, 2, 3)
    sizes = [between(rng, 1, 6) for _ in range(spatial)]
    mode = pick(rng, ("linear", "nearest", "cubic") if spatial == 2 else ("linear", "nearest"))
    points = [n] + dims(rng, spatial) + [spatial]
    grid = array(rng, points, low=-4, high=4)
    return [array(rng, [n, c] + sizes), grid], given(
        mode=mode,
        padding_mode=pick(rng, ("zeros", "border", "reflection")),
        align_corners=maybe(rng, flip(rng)),
    ), 1


@wider("RoiAlign")
def roi_align(rng, _):
    n, c, h, w = dims(rng, 4)
    count = dim(rng)
    rois = corners(rng, count, w + 1, h + 1)
    # Outside the picture, and with exchanged corners.
    rois += rng.uniform(-2, 2, rois.shape).astype(np.float32)
    operands = [array(rng, [n, c, h, w]), rois, array(rng, [count], np.int64, 0, n - 1)]
    attributes = given(
        output_height=maybe(rng, between(rng, 1, 4)),
        output_width=maybe(rng, between(rng, 1, 4)),
        sampling_ratio=maybe(rng, between(rng, 0, 3)),
        spatial_scale=maybe(rng, pick(rng, (0.25, 0.5, 1.0))),
        mode=maybe(rng, pick(rng, ("avg", "max"))),
        coordinate_transformation_mode=maybe(rng, pick(rng, ("half_pixel", "output_half_pixel"))),
    )
    if flip(rng):
        return Case(operands, attributes, opset=16)
    attributes.pop("coordinate_transformation_mode", None)
    return Case(operands, attributes, opset=10)


@wider("NonMaxSuppression")
def non_max_suppression(rng, _):
    batch, classes, count = dims(rng, 3)
    boxes = np.stack([corners(rng, count, 4, 4).round() for _ in range(batch)])
    scores = (rng.integers(0, 5, [batch, classes, count]) / 4).astype(np.float32)  # with ties
    most = ints([between(rng, 0, count + 1)])
    overlap = maybe(rng, np.array([pick(rng, (0, 0.25, 0.5, 1))], np.float32))
    least = maybe(rng, np.array([pick(rng, (0, 0.25, 0.5))], np.float32))
    attributes = given(center_point_box=maybe(rng, flip(rng)))
    return trimmed(boxes, scores, most, overlap, least), attributes, 1


@wider("ConvTranspose")
def conv_transpose(rng, _):
    spatial, group = between(rng, 1, 3), pick(rng, (1, 1, 2, 3))
    n, c, o = dim(rng, False), group * between(rng, 1, 3), between(rng, 1, 3)
    sizes = [between(rng, 2, 6) for _ in range(spatial)]
    kernel = [between(rng, 1, 4) for _ in range(spatial)]
    strides = [between(rng, 1, 3) for _ in range(spatial)]
    dilations = [between(rng, 1, 2) for _ in range(spatial)]
    attributes = given(
        group=group,
        kernel_shape=kernel,
        strides=strides,
        dilations=maybe(rng, dilations, 0.3),
    )
    grown = attributes.get("dilations", [1] * spatial)
    extra = [between(rng, 0, max(s, d) - 1) for s, d in zip(strides, grown)]
    choice = rng.random()
    if choice < 0.4:
        attributes["auto_pad"] = pick(rng, ("SAME_UPPER", "SAME_LOWER", "VALID"))
        # If strides leave gaps, onnxruntime's result is smaller than the standard's.
        attributes["strides"] = [min(s, k) for s, k in zip(strides, kernel)]
    elif choice < 0.6:
        attributes["pads"] = [between(rng, 0, k - 1) for k in kernel * 2]
    if rng.random() < 0.4:
        attributes["output_padding"] = extra
    if choice >= 0.6 and flip(rng):
        whole = [(s - 1) * t + (k - 1) * d + 1 for s, t, k, d in zip(sizes, strides, kernel, grown)]
        attributes["output_shape"] = [max(1, w - between(rng, 0, 2)) for w in whole]
        attributes.update(given(auto_pad=maybe(rng, pick(rng, ("SAME_UPPER", "SAME_LOWER")))))
    bias = maybe(rng, array(rng, [o * group]))
    return trimmed(array(rng, [n, c] + sizes), array(rng, [c, o] + kernel), bias), attributes, 1


@wider("MaxPool", "AveragePool", "LpPool")
def pool(rng, name):
    spatial = between(rng, 1, 3)
    sizes = [between(rng, 3, 9) for _ in range(spatial)]
    kernel = [between(rng, 1, min(4, s)) for s in sizes]
    attributes = {"kernel_shape": kernel, "strides": [between(rng, 1, 4) for _ in range(spatial)]}
    dilations = [between(rng, 1, 2) if 2 * k - 1 <= s else 1 for k, s in zip(kernel, sizes)]
    attributes.update(given(dilations=maybe(rng, dilations), ceil_mode=maybe(rng, flip(rng), 0.7)))
    if rng.random() < 0.3:
        attributes["auto_pad"] = pick(rng, ("SAME_UPPER", "SAME_LOWER", "VALID"))
        # onnxruntime ignores dilations for SAME, rounds VALID up against the formula, and crops for
        # SAME_LOWER at the end only.
        attributes.pop("dilations" if attributes["auto_pad"] != "VALID" else "ceil_mode", None)
        if attributes["auto_pad"] == "SAME_LOWER":
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
    elif flip(rng):
        attributes["pads"] = [between(rng, 0, k - 1) for k in kernel * 2]
    if name == "AveragePool":
        attributes.update(given(count_include_pad=maybe(rng, flip(rng))))
    if name == "LpPool":
        attributes.update(given(p=maybe(rng, between(rng, 1, 3))))
    if name == "MaxPool":
        attributes.update(given(storage_order=maybe(rng, flip(rng), 0.3)))
    x = array(rng, dims(rng, 2) + sizes)
    if name == "MaxPool":
        x = x.round()  # ties
    return [x], attributes, pick(rng, (1, 2)) if name == "MaxPool" else 1


@wider("TopK")
def topk(rng, _):
    sizes = shape(rng, 1, 3, zero=False)
    axis = axis_of(rng, len(sizes))
    x = array(rng, sizes, pick(rng, (np.float32, np.float64, np.int64, np.int32)), -3, 3)
    x = x.round()
    k = ints([rng.integers(1, sizes[axis] + 1)])
    return [x, k], given(axis=axis, largest=maybe(rng, flip(rng))), 2


@wider("ArgMax", "ArgMin", "ReduceMax", "ReduceMin")
def extreme(rng, name):
    sizes = shape(rng, 1, 4, zero=False)
    x = array(rng, sizes, pick(rng, (np.float32, np.float64, np.int32)), -3, 3).round()
    if name.startswith("Reduce"):
        return [x, ints([axis_of(rng, len(sizes))])], {}, 1
    return [x], given(
        axis=axis_of(rng, len(sizes)), select_last_index=maybe(rng, flip(rng))
    ), 1


@wider("QuantizeLinear")
def quantize(rng, _):
    """Quotients halfway between two integers, and outside the range."""
    sizes = shape(rng, 1, 4, zero=False)
    kind = pick(rng, (np.uint8, np.int8, np.uint16, np.int16))
    x = array(rng, sizes, np.int32, -700, 700).astype(np.float32) / 2
    each = [] if flip(rng) else [sizes[-1]]
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], each).astype(np.float32)
    return [x, np.asarray(scale), array(rng, each, kind, 0, 20)], {"axis": -1}, 1


@wider("DynamicQuantizeLinear")
def dynamic_quantize(rng, _):
    low, high = (between(rng, -9, 9), between(rng, -9, 9)) if flip(rng) else (0, 0)
    x = array(rng, shape(rng, 1, 4, zero=False), np.float32, min(low, high), max(low, high))
    return [x.round() if flip(rng) else x], {}, 3
