# SPDX-License-Identifier: Apache-2.0
"""keras.ops.image."""

import numpy as np
from keras.src import backend
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, floated, ints, is_exported, is_float, like, op, reshaped
from keras_tartan.src._warp import (affine_transform, compute_homography_matrix, elastic_transform, gaussian_blur,
                                    map_coordinates, perspective_transform, sobel_edges)
from keras_tartan.src._values import cast, from_array


def _planes(images, data_format):
    images = T(images)
    _check(images)
    if not is_float(images):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={images.dtype}")
    axis = -1 if backend.standardize_data_format(data_format) == "channels_last" else -3
    return images, axis, [knp.squeeze(part, axis) for part in knp.split(images, 3, axis)]


def rgb_to_hsv(images, data_format=None):
    images, axis, (r, g, b) = _planes(images, data_format)
    value = knp.maximum(knp.maximum(r, g), b)
    spread = knp.subtract(value, knp.minimum(knp.minimum(r, g), b))
    flat, dark = knp.equal(spread, 0), knp.equal(value, 0)
    one = like(1, value)
    width = knp.multiply(knp.where(flat, one, spread), 6.0)
    saturation = knp.where(dark, like(0, value), knp.divide(spread, knp.where(dark, one, value)))
    hue = knp.where(knp.equal(value, g), knp.add(knp.divide(knp.subtract(b, r), width), 2.0 / 6.0),
                    knp.add(knp.divide(knp.subtract(r, g), width), 4.0 / 6.0))
    hue = knp.where(knp.equal(value, r), knp.divide(knp.subtract(g, b), width), hue)
    hue = knp.where(flat, like(0, hue), hue)
    hue = knp.where(knp.less(hue, 0), knp.add(hue, 1.0), hue)
    return cast(knp.stack([hue, saturation, value], axis), images.dtype)


def hsv_to_rgb(images, data_format=None):
    images, axis, (hue, saturation, value) = _planes(images, data_format)
    turn = knp.multiply(knp.mod(hue, 1.0), 6.0)

    def plane(share):
        share = knp.clip(share, 0.0, 1.0)
        return knp.multiply(value, knp.add(knp.subtract(1.0, saturation), knp.multiply(saturation, share)))

    red = plane(knp.subtract(knp.absolute(knp.subtract(turn, 3.0)), 1.0))
    green = plane(knp.subtract(2.0, knp.absolute(knp.subtract(turn, 2.0))))
    blue = plane(knp.subtract(2.0, knp.absolute(knp.subtract(turn, 4.0))))
    return cast(knp.stack([red, green, blue], axis), images.dtype)


_METHODS = {"linear": "bilinear", "bilinear": "bilinear", "trilinear": "bilinear", "triangle": "bilinear",
            "cubic": "bicubic", "bicubic": "bicubic", "tricubic": "bicubic", "lanczos3": "lanczos3",
            "lanczos5": "lanczos5"}


def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    if method not in _METHODS:
        raise ValueError(f"Invalid value for argument `method`. Expected of one {set(_METHODS)}. Received: method={method}")
    x = floated(images)
    dtype = "float64" if x.dtype == "float64" else "float32"
    scale, translation = T(scale, dtype), T(translation, dtype)
    for i, axis in enumerate(spatial_dims):
        before, size = x.shape[axis], output_shape[axis]
        stretch = knp.maximum(1.0, knp.reciprocal(scale[i])) if antialias else like(1, scale)
        centre = knp.divide(knp.arange(size, dtype=dtype) + 0.5 - translation[i], scale[i]) - 0.5
        distance = knp.expand_dims(centre, 1) - knp.expand_dims(knp.arange(before, dtype=dtype), 0)
        weights = _kernel(_METHODS[method], knp.absolute(knp.divide(distance, stretch)), knp)
        total = knp.sum(weights, 1, True)
        is_used = knp.greater(knp.absolute(total), 1000 * float(np.finfo("float32").eps))
        is_inside = knp.logical_and(knp.greater_equal(centre, -0.5), knp.less_equal(centre, before - 0.5))
        weights = knp.divide(weights, knp.where(is_used, total, like(1, total)))
        weights = knp.where(knp.logical_and(is_used, knp.expand_dims(is_inside, 1)), weights, like(0, weights))
        weights = cast(knp.transpose(weights), x.dtype)
        x = knp.moveaxis(op("MatMul", knp.moveaxis(x, axis, -1), weights), -1, axis)
    return x


def _kernel(name, d, xp):
    """Returns the weights of a method at distances d >= 0; `xp` is numpy, or keras.ops.numpy for tensors."""
    if name == "bilinear":
        return xp.maximum(1.0 - d, 0.0)
    if name == "bicubic":
        near, far = ((1.5 * d - 2.5) * d) * d + 1.0, ((-0.5 * d + 2.5) * d - 4.0) * d + 2.0
        return xp.where(d < 1.0, near, xp.where(d < 2.0, far, 0.0))
    radius = {"lanczos3": 3.0, "lanczos5": 5.0}[name]
    return xp.where(d < radius, xp.sinc(d) * xp.sinc(d / radius), 0.0)

def _check(images):
    if len(images.shape) not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received "
                         f"input with shape: images.shape={images.shape}")


def rgb_to_grayscale(images, data_format=None):
    images = T(images)
    data_format = backend.standardize_data_format(data_format)
    _check(images)
    axis = -3 if data_format == "channels_first" else -1
    if images.shape[axis] == 1:
        return images
    if images.shape[axis] != 3:
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
                         f"images.shape={images.shape}")
    weights = from_array(np.array([0.2989, 0.587, 0.114], "float32"))
    shown = cast(images, "float32")
    if axis == -3:
        weights = reshaped(weights, (3, 1, 1))
    return cast(knp.sum(knp.multiply(shown, weights), axis, True), images.dtype)


def _along(x, axis, size, interpolation, antialias):
    """Resizes one axis by a weight matrix or by a gather."""
    before = x.shape[axis]
    if before == size:
        return x
    if interpolation == "nearest":
        at = np.minimum(np.floor((np.arange(size) + 0.5) * before / size), before - 1).astype("int64")
        return op("Gather", x, from_array(at), axis=axis)
    weights = _weights(before, size, interpolation, antialias)
    moved = knp.moveaxis(x, axis, -1)
    return knp.moveaxis(op("MatMul", moved, from_array(weights.T.copy(), x.dtype)), -1, axis)


def _weights(before, size, name, antialias):
    scale = size / before
    stretch = max(1.0, 1.0 / scale) if antialias else 1.0
    centre = (np.arange(size) + 0.5) / scale - 0.5
    weights = _kernel(name, np.abs(centre[:, None] - np.arange(before)[None, :]) / stretch, np)
    total = weights.sum(1, keepdims=True)
    return np.where(np.abs(total) > 1e-6, weights / np.where(total == 0, 1, total), 0)


def resize(images, size, interpolation="bilinear", antialias=False, crop_to_aspect_ratio=False,
           pad_to_aspect_ratio=False, fill_mode="constant", fill_value=0.0, data_format=None):
    data_format = backend.standardize_data_format(data_format)
    if interpolation not in ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area"):
        raise ValueError(f"Invalid value for argument `interpolation`. Received: interpolation={interpolation}")
    if interpolation == "area":
        raise NotImplementedError("image.resize with interpolation='area' is not implemented in the tartan backend")
    if fill_mode != "constant":
        raise ValueError("Invalid value for argument `fill_mode`. Only `'constant'` is supported. "
                         f"Received: fill_mode={fill_mode}")
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if not len(size) == 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")
    images = T(images)
    _check(images)
    height, width = tuple(int(s) for s in size)
    h, w = (-2, -1) if data_format == "channels_first" else (-3, -2)
    h, w = h % len(images.shape), w % len(images.shape)
    rows, columns = images.shape[h], images.shape[w]
    if crop_to_aspect_ratio:
        ch = max(int(float(columns * height) / width), 1)
        cw = max(int(float(rows * width) / height), 1)
        ch, cw = min(rows, ch), min(columns, cw)
        at = [slice(None)] * len(images.shape)
        at[h] = slice(int(float(rows - ch) / 2), int(float(rows - ch) / 2) + ch)
        at[w] = slice(int(float(columns - cw) / 2), int(float(columns - cw) / 2) + cw)
        images = images[tuple(at)]
    elif pad_to_aspect_ratio:
        ph = max(rows, int(float(columns * height) / width))
        pw = max(columns, int(float(rows * width) / height))
        widths = [(0, 0)] * len(images.shape)
        top, left = int(float(ph - rows) / 2), int(float(pw - columns) / 2)
        widths[h], widths[w] = (top, ph - rows - top), (left, pw - columns - left)
        images = knp.pad(images, widths, constant_values=fill_value)
    dtype = images.dtype
    x = images if interpolation == "nearest" else cast(images, "float32" if dtype != "float64" else dtype)
    if is_exported() and interpolation in ("bilinear", "bicubic") and not antialias:
        sizes = [{h: height, w: width}.get(a, d) for a, d in enumerate(x.shape)]
        options = {"mode": "linear"} if interpolation == "bilinear" else {"mode": "cubic", "cubic_coeff_a": -0.5,
                                                                           "exclude_outside": 1}
        x = op("Resize", x, None, None, ints(*sizes), coordinate_transformation_mode="half_pixel", **options)
    else:
        x = _along(_along(x, h, height, interpolation, antialias), w, width, interpolation, antialias)
    if not is_float(images) and interpolation != "nearest":
        x = knp.round(x)
        if dtype == "uint8":
            x = knp.clip(x, 0.0, 255.0)
    return cast(x, dtype)
