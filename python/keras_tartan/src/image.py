# SPDX-License-Identifier: Apache-2.0
"""keras.ops.image."""

import numpy as np
from keras.src import backend
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, floated, formula, ints, is_float, like, op, reshaped, transposed
from keras_tartan.src.core import cast, from_array


def _missing(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"image.{name} is not implemented in the tartan backend")

    return function


rgb_to_hsv = _missing("rgb_to_hsv")
hsv_to_rgb = _missing("hsv_to_rgb")
affine_transform = _missing("affine_transform")
perspective_transform = _missing("perspective_transform")
compute_homography_matrix = _missing("compute_homography_matrix")
map_coordinates = _missing("map_coordinates")
gaussian_blur = _missing("gaussian_blur")
elastic_transform = _missing("elastic_transform")
scale_and_translate = _missing("scale_and_translate")
sobel_edges = _missing("sobel_edges")


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
    weights = from_array(np.array([0.2989, 0.587, 0.114], "float32"))
    shown = cast(images, "float32")
    if axis == -3:
        weights = reshaped(weights, (3, 1, 1))
    return cast(knp.sum(knp.multiply(shown, weights), axis, True), images.dtype)


def _along(x, axis, size, interpolation, antialias):
    """One axis resized by a matrix of weights, or by positions."""
    before = x.shape[axis]
    if before == size:
        return x
    if interpolation == "nearest":
        at = np.minimum(np.floor((np.arange(size) + 0.5) * before / size), before - 1).astype("int64")
        return op("Gather", x, from_array(at), axis=axis)
    weights = _weights(before, size, interpolation, antialias)
    moved = knp.moveaxis(x, axis, -1)
    return knp.moveaxis(op("MatMul", moved, from_array(weights.T.copy(), x.dtype)), -1, axis)


def _kernel(name, d):
    d = np.abs(d)
    if name == "bilinear":
        return np.maximum(0, 1 - d)
    if name == "bicubic":
        near = ((1.5 * d - 2.5) * d) * d + 1
        far = ((-0.5 * d + 2.5) * d - 4) * d + 2
        return np.where(d < 1, near, np.where(d < 2, far, 0))
    radius = {"lanczos3": 3.0, "lanczos5": 5.0}[name]
    return np.where(d < radius, np.sinc(d) * np.sinc(d / radius), 0)


def _weights(before, size, name, antialias):
    scale = size / before
    stretch = max(1.0, 1.0 / scale) if antialias else 1.0
    centre = (np.arange(size) + 0.5) / scale - 0.5
    weights = _kernel(name, (centre[:, None] - np.arange(before)[None, :]) / stretch)
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
    x = _along(_along(x, h, height, interpolation, antialias), w, width, interpolation, antialias)
    if not is_float(images) and interpolation != "nearest":
        x = knp.round(x)
        if dtype == "uint8":
            x = knp.clip(x, 0.0, 255.0)
    return cast(x, dtype)
