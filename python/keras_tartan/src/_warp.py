# SPDX-License-Identifier: Apache-2.0
"""Interpolation of images at fractional positions."""

import itertools

import numpy as np
from keras.src import backend
from keras.src.backend.common import is_float_dtype
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, broadcast, like, op, reshaped, transposed
from keras_tartan.src._values import cast, convert_to_numpy, from_array

ORDERS = {"nearest": 0, "bilinear": 1}
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _inside(position, size, mode):
    """Maps integer positions into a dimension by the fill mode. Also returns which ones were inside."""
    valid = knp.logical_and(knp.greater_equal(position, 0), knp.less(position, size))
    if mode in ("constant", "nearest"):
        return knp.clip(position, 0, size - 1), valid if mode == "constant" else None
    if mode == "wrap":
        return knp.mod(position, size), None
    if mode == "mirror":  # reflects about the outermost elements
        if size == 1:
            return knp.zeros_like(position), None
        period = 2 * size - 2
        at = knp.mod(position, period)
        return knp.where(knp.greater_equal(at, size), knp.subtract(period, at), at), None
    at = knp.mod(position, 2 * size)  # reflects about the edges
    return knp.where(knp.greater_equal(at, size), knp.subtract(2 * size - 1, at), at), None


def sampled(x, coordinates, order, mode, fill_value):
    """Returns x[b, n0, n1, …, c] at coordinates[b, k, …]: [b, …, c]. `coordinates` has one row per n."""
    batch, sizes, channels = x.shape[0], x.shape[1:-1], x.shape[-1]
    flat = reshaped(x, (batch, -1, channels))
    shape = tuple(coordinates.shape[2:])
    places = [coordinates[:, k] for k in range(len(sizes))]
    if order == 0:
        lows = [cast(knp.round(p), "int32") for p in places]
        corners = [((0,) * len(sizes))]
    else:
        floors = [knp.floor(p) for p in places]
        lows = [cast(f, "int32") for f in floors]
        shares = [knp.subtract(p, f) for p, f in zip(places, floors)]
        corners = list(itertools.product((0, 1), repeat=len(sizes)))
    total = None
    for corner in corners:
        at, weight, valid = None, None, None
        for k, (step, size) in enumerate(zip(corner, sizes)):
            position, is_valid = _inside(knp.add(lows[k], step) if step else lows[k], size, mode)
            at = position if at is None else knp.add(knp.multiply(at, size), position)
            if is_valid is not None:
                valid = is_valid if valid is None else knp.logical_and(valid, is_valid)
            if order:
                share = shares[k] if step else knp.subtract(1.0, shares[k])
                weight = share if weight is None else knp.multiply(weight, share)
        index = knp.expand_dims(reshaped(cast(at, "int64"), (batch, -1)), -1)
        value = op("GatherND", flat, index, batch_dims=1)
        value = reshaped(value, (batch,) + shape + (channels,))
        if valid is not None:
            value = knp.where(knp.expand_dims(valid, -1), value, T(fill_value, value.dtype))
        if weight is not None:
            value = knp.multiply(value, knp.expand_dims(weight, -1))
        total = value if total is None else knp.add(total, value)
    return total


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    x = T(inputs)
    coordinates = T(coordinates)
    if coordinates.shape[0] != len(x.shape):
        raise ValueError("First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs with shape: "
                         f"{x.shape} and coordinate leading dim of {coordinates.shape[0]}")
    if len(coordinates.shape) < 2:
        raise ValueError(f"Invalid coordinates rank: expected at least rank 2. Received input with shape: {coordinates.shape}")
    if fill_mode not in MODES:
        raise ValueError(f"Invalid value for argument `fill_mode`. Expected one of {set(MODES)}. "
                         f"Received: fill_mode={fill_mode}")
    if order not in (0, 1):
        raise ValueError(f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}")
    work = result_type(x.dtype, "float32")
    coordinates = cast(coordinates, result_type(coordinates.dtype, "float32"))
    result = sampled(cast(knp.expand_dims(knp.expand_dims(x, 0), -1), work), knp.expand_dims(coordinates, 0), order,
                     fill_mode, fill_value)
    result = reshaped(result, coordinates.shape[1:])
    if not is_float_dtype(x.dtype):
        result = knp.round(result)
    return cast(result, x.dtype)


class _ImageBatch:
    """Converts images to a float batch with channels last, and back."""

    def __init__(self, images, data_format):
        self.format = backend.standardize_data_format(data_format)
        self.images = T(images)
        if len(self.images.shape) not in (3, 4):
            raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received "
                             f"input with shape: images.shape={self.images.shape}")
        x = cast(self.images, result_type(self.images.dtype, "float32"))
        self.is_single = len(x.shape) == 3
        if self.is_single:
            x = knp.expand_dims(x, 0)
        self.x = transposed(x, [0, 2, 3, 1]) if self.format == "channels_first" else x

    def back(self, x):
        if self.format == "channels_first":
            x = transposed(x, [0, 3, 1, 2])
        return cast(knp.squeeze(x, 0) if self.is_single else x, self.images.dtype)

    def grid(self):
        """Returns the columns and rows of the elements, each [1, height, width]."""
        _, height, width, _ = self.x.shape
        columns, rows = np.meshgrid(np.arange(width), np.arange(height))
        return [from_array(part[None], self.x.dtype) for part in (columns, rows)]


def _check(interpolation, fill_mode="constant"):
    if interpolation not in ORDERS:
        raise ValueError(f"Invalid value for argument `interpolation`. Expected of one {set(ORDERS)}. Received: "
                         f"interpolation={interpolation}")
    if fill_mode not in MODES:
        raise ValueError(f"Invalid value for argument `fill_mode`. Expected of one {set(MODES)}. Received: "
                         f"fill_mode={fill_mode}")


def _projected(pictures, transform, order, fill_mode, fill_value):
    """Applies a projective transform with eight parameters."""
    columns, rows = pictures.grid()
    a = [reshaped(transform[:, i], (-1, 1, 1)) for i in range(8)]

    def line(p, q, r):
        return knp.add(knp.add(knp.multiply(p, columns), knp.multiply(q, rows)), r)

    depth = line(a[6], a[7], 1.0)
    x, y = knp.divide(line(*a[:3]), depth), knp.divide(line(*a[3:6]), depth)
    shape = (pictures.x.shape[0],) + tuple(x.shape[1:])
    places = knp.stack([broadcast(y, shape), broadcast(x, shape)], 1)
    return sampled(pictures.x, places, order, fill_mode, fill_value)


def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    _check(interpolation, fill_mode)
    transform = T(transform)
    pictures = _ImageBatch(images, data_format)
    if len(transform.shape) not in (1, 2):
        raise ValueError("Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
                         f"Received input with shape: transform.shape={transform.shape}")
    transform = reshaped(cast(transform, pictures.x.dtype), (-1, 8))
    straight = knp.concatenate([transform[:, :6], knp.zeros((transform.shape[0], 2), transform.dtype)], 1)
    return pictures.back(_projected(pictures, straight, ORDERS[interpolation], fill_mode, fill_value))


def _adjugate(m):
    """Returns the adjugate of 3x3 matrices given as lists of rows: the inverse up to its scale."""
    def minor(i, j):
        (a, b), (c, d) = [[m[r][s] for s in range(3) if s != j] for r in range(3) if r != i]
        value = knp.subtract(knp.multiply(a, d), knp.multiply(b, c))
        return value if (i + j) % 2 == 0 else knp.negative(value)

    return [[minor(j, i) for j in range(3)] for i in range(3)]


def _times(m, n):
    return [[knp.add(knp.add(knp.multiply(m[i][0], n[0][j]), knp.multiply(m[i][1], n[1][j])), knp.multiply(m[i][2], n[2][j]))
             for j in range(len(n[0]))] for i in range(3)]


def _basis(points):
    """Returns the matrix that maps the unit vectors and their sum to four points."""
    p = [[points[:, k, 0], points[:, k, 1], knp.ones_like(points[:, k, 0])] for k in range(4)]
    m = [[p[k][i] for k in range(3)] for i in range(3)]
    weights = _times(_adjugate(m), [[v] for v in p[3]])
    return [[knp.multiply(m[i][k], weights[k][0]) for k in range(3)] for i in range(3)]


def compute_homography_matrix(start_points, end_points):
    start, end = T(start_points), T(end_points)
    dtype = result_type(start.dtype, end.dtype, float)
    start, end = cast(start, "float64"), cast(end, "float64")
    h = _times(_basis(start), _adjugate(_basis(end)))
    rows = [knp.divide(h[i][j], h[2][2]) for i in range(3) for j in range(3)][:8]
    return cast(knp.stack(rows, -1), dtype)


def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    _check(interpolation)
    pictures = _ImageBatch(images, data_format)
    points = []
    for name, p in (("start_points", T(start_points)), ("end_points", T(end_points))):
        if len(p.shape) not in (2, 3) or tuple(p.shape[-2:]) != (4, 2):
            raise ValueError(f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. Received "
                             f"shape: {p.shape}")
        points.append(p)
    if points[0].shape != points[1].shape:
        raise ValueError("start_points and end_points must have the same shape. Received start_points.shape="
                         f"{points[0].shape}, end_points.shape={points[1].shape}")
    points = [reshaped(p, (-1, 4, 2)) for p in points]
    transform = cast(compute_homography_matrix(*points), pictures.x.dtype)
    return pictures.back(_projected(pictures, transform, ORDERS[interpolation], "constant", fill_value))


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    pictures = _ImageBatch(images, data_format)
    x = pictures.x
    sigma = reshaped(T(sigma, x.dtype), (2,))
    sizes = [int(v) for v in np.asarray(convert_to_numpy(kernel_size)).reshape(-1)]

    def kernel(size, deviation, shape):
        place = from_array(np.arange(size) - (size - 1) / 2, x.dtype)
        value = knp.exp(knp.multiply(knp.square(knp.divide(place, deviation)), -0.5))
        value = reshaped(knp.divide(value, knp.sum(value)), shape)
        return broadcast(value, tuple(shape[:2]) + (x.shape[-1], 1))

    from keras_tartan.src.nn import depthwise_conv

    x = depthwise_conv(x, kernel(sizes[0], sigma[0], (1, sizes[0], 1, 1)), 1, "same", "channels_last")
    x = depthwise_conv(x, kernel(sizes[1], sigma[1], (sizes[1], 1, 1, 1)), 1, "same", "channels_last")
    return pictures.back(x)


def elastic_transform(images, alpha=20.0, sigma=5.0, interpolation="bilinear", fill_mode="reflect", fill_value=0.0,
                      seed=None, data_format=None):
    from keras_tartan.src import random

    _check(interpolation, fill_mode)
    pictures = _ImageBatch(images, data_format)
    batch, height, width, _ = pictures.x.shape
    spread = float(sigma)
    size = int(6 * spread) | 1
    noise = knp.multiply(random.normal((batch, height, width, 2), seed=seed), spread)
    noise = gaussian_blur(noise, (size, size), (spread, spread), "channels_last")
    noise = knp.multiply(cast(noise, pictures.x.dtype), T(alpha, pictures.x.dtype))
    columns, rows = pictures.grid()
    places = knp.stack([knp.add(rows, noise[..., 1]), knp.add(columns, noise[..., 0])], 1)
    return pictures.back(sampled(pictures.x, places, ORDERS[interpolation], fill_mode, fill_value))


def sobel_edges(images, data_format=None):
    data_format = backend.standardize_data_format(data_format)
    x = T(images)
    if data_format == "channels_first":
        x = transposed(x, [0, 2, 3, 1])
    padded = x
    for axis in (1, 2):  # repeats the elements at the edges
        n = padded.shape[axis]
        at = np.concatenate([[0], np.arange(n), [n - 1]]).astype("int64")
        padded = op("Gather", padded, from_array(at), axis=axis)
    height, width = x.shape[1:3]

    def taken(i, j):
        return padded[:, i:i + height, j:j + width]

    def edge(points):
        total = None
        for i, j, weight in points:
            part = knp.multiply(taken(i, j), like(weight, x))
            total = part if total is None else knp.add(total, part)
        return total

    dy = edge([(2, 0, 1), (2, 1, 2), (2, 2, 1), (0, 0, -1), (0, 1, -2), (0, 2, -1)])
    dx = edge([(0, 2, 1), (1, 2, 2), (2, 2, 1), (0, 0, -1), (1, 0, -2), (2, 0, -1)])
    edges = knp.stack([dy, dx], -1)
    return transposed(edges, [0, 3, 1, 2, 4]) if data_format == "channels_first" else edges
