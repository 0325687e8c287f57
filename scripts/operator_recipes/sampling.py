# SPDX-License-Identifier: Apache-2.0
"""Samples of pictures at computed positions."""

import numpy as np

from .draw import Case, array, between, dim, dims, given, ints, maybe, pick, recipe, trimmed


@recipe("GridSample")
def grid_sample(rng, _):
    n, c = dim(rng, False), dim(rng, False)
    x = array(rng, [n, c] + [int(v) for v in rng.integers(2, 7, 2)])
    grid = array(rng, [n, dim(rng, False), dim(rng, False), 2], low=-1.3, high=1.3)
    attributes = given(
        mode=maybe(rng, pick(rng, ("linear", "nearest", "cubic"))),
        padding_mode=maybe(rng, pick(rng, ("zeros", "border", "reflection"))),
        align_corners=maybe(rng, int(rng.integers(2))),
    )
    # For cubic interpolation the evaluator moves the coordinate into the axis, while PyTorch and
    # onnxruntime move its taps.
    moves = attributes.get("mode") == "cubic" and attributes.get("padding_mode", "zeros") != "zeros"
    if moves:
        return Case([x, grid], attributes, opset=22, oracle="onnxruntime")
    return [x, grid], attributes, 1


@recipe("AffineGrid")
def affine_grid(rng, _):
    n, spatial = dim(rng, False), int(rng.integers(2, 4))
    sizes = [n, 3] + [int(v) for v in rng.integers(2, 6, spatial)]
    return (
        [array(rng, [n, spatial, spatial + 1]), ints(sizes)],
        given(align_corners=maybe(rng, int(rng.integers(2)))),
        1,
    )


@recipe("Resize")
def resize(rng, _):
    rank = int(rng.integers(1, 5))
    dims = [int(v) for v in rng.integers(1, 7, rank)]
    mode = pick(rng, ("nearest", "linear", "cubic"))
    spatial = [d for d in range(rank) if d >= rank - 2 or mode == "nearest"]
    scales = np.ones(rank, np.float32)
    for d in spatial:
        scales[d] = rng.choice([0.5, 0.75, 1, 1.5, 2, 2.6, 3])
    transformations = ["half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"]
    if all(int(d * s) > 1 for d, s in zip(dims, scales)):  # the evaluator lacks the 0 for size 1
        transformations.append("pytorch_half_pixel")
    attributes = {"mode": mode, "coordinate_transformation_mode": pick(rng, transformations)}
    if mode == "nearest":
        # Symmetric positions are integers up to the last bit, which floor and ceil would expose.
        symmetric = attributes["coordinate_transformation_mode"] == "half_pixel_symmetric"
        modes = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        attributes["nearest_mode"] = pick(rng, modes[:2] if symmetric else modes)
    else:
        attributes.update(given(antialias=maybe(rng, 1, 0.3)))
    if mode == "cubic":
        attributes.update(
            given(cubic_coeff_a=maybe(rng, -0.5), exclude_outside=maybe(rng, int(rng.integers(2))))
        )
    x = array(rng, dims, np.float32, 2, 3)  # avoids sums near 0, whose relative errors are large
    if rng.random() < 0.5:
        return [x, None, scales], attributes, 1
    sizes = ints([max(int(d * s), 1) for d, s in zip(dims, scales)])
    return [x, None, None, sizes], attributes, 1


@recipe("Upsample")
def upsample(rng, _):
    mode = pick(rng, ("nearest", "linear"))
    x = array(rng, dims(rng, 4), np.float32, 2, 3)
    scales = [1.0, 1.0, float(pick(rng, (1, 1.5, 2, 3))), float(pick(rng, (1, 1.5, 2, 3)))]
    if mode == "linear":
        scales = [np.float32(between(rng, 1, 3)) if s != 1 else 1.0 for s in scales]
    if rng.random() < 0.3:
        return Case(
            [x], {"mode": mode, "scales": [float(s) for s in scales]}, opset=7, oracle="onnxruntime"
        )
    return Case([x, np.array(scales, np.float32)], {"mode": mode}, opset=9, oracle="onnxruntime")


@recipe("MaxUnpool")
def max_unpool(rng, _):
    """Elements selected by a pool without overlap, written back to their positions."""
    kernel = [between(rng, 1, 3), between(rng, 1, 3)]
    n, c, h, w = dims(rng, 4)
    x = array(rng, [n, c, h, w])
    whole = [n, c, h * kernel[0], w * kernel[1]]
    rows = np.arange(h)[:, None] * kernel[0] + rng.integers(0, kernel[0], [n, c, h, w])
    columns = np.arange(w) * kernel[1] + rng.integers(0, kernel[1], [n, c, h, w])
    plane = np.arange(n * c).reshape(n, c, 1, 1)
    picked = (plane * whole[2] + rows) * whole[3] + columns
    attributes = {"kernel_shape": kernel, "strides": kernel}
    return trimmed(x, picked.astype(np.int64), maybe(rng, ints(whole), 0.4)), attributes, 1
