# SPDX-License-Identifier: Apache-2.0
"""Boxes and regions of pictures."""

import numpy as np

from .draw import (
    Case,
    array,
    between,
    dim,
    dims,
    flip,
    given,
    ints,
    maybe,
    pick,
    real,
    recipe,
    trimmed,
)


def corners(rng, count, width, height):
    """Boxes x1, y1, x2, y2 with distinct corners."""
    first = np.stack([rng.uniform(0, width - 1, count), rng.uniform(0, height - 1, count)], -1)
    size = np.stack([rng.uniform(0.5, width, count), rng.uniform(0.5, height, count)], -1)
    return np.concatenate([first, first + size], -1).astype(np.float32)


@recipe("NonMaxSuppression")
def non_max_suppression(rng, _):
    batch, classes, count = dims(rng, 3)
    boxes = np.stack([corners(rng, count, 6, 6) for _ in range(batch)])
    attributes = given(center_point_box=maybe(rng, flip(rng)))
    order = rng.permutation(batch * classes * count)  # no ties, whose order is undefined
    scores = (order.reshape(batch, classes, count) / (order.size + 1)).astype(np.float32)
    most = maybe(rng, ints([between(rng, 0, count + 1)]), 0.85)
    overlap = maybe(rng, np.array([real(rng, 0, 1)], np.float32))
    least = maybe(rng, np.array([real(rng, 0, 0.8)], np.float32))
    return trimmed(boxes, scores, most, overlap, least), attributes, 1


@recipe("RoiAlign")
def roi_align(rng, _):
    dtype = pick(rng, (np.float32, np.float64))
    n, c, h, w = dims(rng, 4)
    count = dim(rng)
    rois = corners(rng, count, w + 1, h + 1).astype(dtype)
    attributes = given(
        output_height=maybe(rng, between(rng, 1, 4)),
        output_width=maybe(rng, between(rng, 1, 4)),
        sampling_ratio=maybe(rng, between(rng, 0, 3)),
        spatial_scale=maybe(rng, real(rng, 0.3, 1.5)),
        mode=maybe(rng, pick(rng, ("avg", "max"))),
        coordinate_transformation_mode=maybe(rng, pick(rng, ("half_pixel", "output_half_pixel"))),
    )
    return (
        [array(rng, [n, c, h, w], dtype), rois, array(rng, [count], np.int64, 0, n - 1)],
        attributes,
        1,
    )


@recipe("MaxRoiPool")
def max_roi_pool(rng, _):
    n, c, h, w = dims(rng, 4)
    count = dim(rng, False)
    # Corners are rounded, so their fractions stay away from 0.5.
    boxes = np.round(corners(rng, count, w, h)) + rng.uniform(-0.3, 0.3, [count, 4])
    rois = np.concatenate([rng.integers(0, n, [count, 1]), np.abs(boxes)], -1).astype(np.float32)
    return Case(
        [array(rng, [n, c, h, w]), rois],
        {"pooled_shape": [between(rng, 1, 3), between(rng, 1, 3)]},
        opset=11,
        oracle="onnxruntime",
    )


@recipe("DeformConv")
def deform_conv(rng, _):
    dtype = pick(rng, (np.float32, np.float32, np.float64))
    group, offset_group = between(rng, 1, 2), between(rng, 1, 2)
    n = dim(rng, False)
    c, o = group * offset_group * between(rng, 1, 2), group * between(rng, 1, 2)
    sizes = [between(rng, 3, 6), between(rng, 3, 6)]
    kernel = [between(rng, 1, 3), between(rng, 1, 3)]
    strides = [between(rng, 1, 2), between(rng, 1, 2)]
    pads = [between(rng, 0, 1) for _ in range(4)]
    out = [
        (s + pads[i] + pads[i + 2] - k) // t + 1
        for i, (s, k, t) in enumerate(zip(sizes, kernel, strides))
    ]
    taps = kernel[0] * kernel[1]
    offset = array(rng, [n, offset_group * taps * 2] + out, dtype, -1.5, 1.5)
    bias = maybe(rng, array(rng, [o], dtype))
    mask = maybe(rng, array(rng, [n, offset_group * taps] + out, dtype, 0, 1))
    x, w = array(rng, [n, c] + sizes, dtype), array(rng, [o, c // group] + kernel, dtype)
    return (
        trimmed(x, w, offset, bias, mask),
        {
            "group": group,
            "offset_group": offset_group,
            "kernel_shape": kernel,
            "strides": strides,
            "pads": pads,
        },
        1,
    )
