# SPDX-License-Identifier: Apache-2.0
"""Pooling, convolutions, and other windowed functions."""

import builtins

import numpy as np
from keras.src import backend
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, common, ints, op, reshaped, transposed
from keras_tartan.src._values import from_array


def _first(x, data_format):
    """Moves channels before the spatial dimensions."""
    n = len(x.shape)
    return x if data_format == "channels_first" else transposed(x, [0, n - 1] + list(range(1, n - 1)))


def _back(x, data_format):
    n = len(x.shape)
    return x if data_format == "channels_first" else transposed(x, [0] + list(range(2, n)) + [1])


def _each(value, n, name):
    if isinstance(value, int):
        return [value] * n
    value = [int(v) for v in value]
    if len(value) == 1:
        return value * n
    if len(value) != n:
        raise ValueError(f"`{name}` must have one or {n} elements. Received: {value}")
    return value


def _pads(padding):
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding '{padding}', must be 'same' or 'valid'.")
    return "SAME_UPPER" if padding == "same" else "VALID"


def _same(sizes, windows, strides, dilations, padding):
    """Returns the padding before and after each spatial dimension."""
    if _pads(padding) == "VALID":
        return [0] * (2 * len(sizes))
    befores, afters = [], []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations):
        out = -(-size // stride)
        total = builtins.max((out - 1) * stride + (window - 1) * dilation + 1 - size, 0)
        befores.append(total // 2)
        afters.append(total - total // 2)
    return befores + afters


def _pool(name, inputs, pool_size, strides, padding, data_format):
    data_format = backend.standardize_data_format(data_format)
    x = _first(T(inputs), data_format)
    n = len(x.shape) - 2
    windows = _each(pool_size, n, "pool_size")
    strides = windows if strides is None else _each(strides, n, "strides")
    pads = _same(x.shape[2:], windows, strides, [1] * n, padding)
    return _back(op(name, x, kernel_shape=windows, strides=strides, pads=pads), data_format)


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool("MaxPool", inputs, pool_size, strides, padding, data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool("AveragePool", inputs, pool_size, strides, padding, data_format)


def _adaptive(inputs, output_size, data_format, reduce):
    data_format = backend.standardize_data_format(data_format)
    x = _first(T(inputs), data_format)
    n = len(x.shape) - 2
    for axis, count in enumerate(_each(output_size, n, "output_size"), 2):
        size = x.shape[axis]
        parts = []
        for i in range(count):
            begin, end = i * size // count, -(-(i + 1) * size // count)
            parts.append(reduce(x[(slice(None),) * axis + (slice(begin, end),)], axis, True))
        x = knp.concatenate(parts, axis)
    return _back(x, data_format)


def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, knp.mean)


def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, knp.max)


def _convolved(x, kernel, strides, padding, data_format, dilation_rate, groups):
    """Convolution; `kernel` is [out, in per group, sizes…]."""
    n = len(x.shape) - 2
    strides, dilations = _each(strides, n, "strides"), _each(dilation_rate, n, "dilation_rate")
    windows = list(kernel.shape[2:])
    pads = _same(x.shape[2:], windows, strides, dilations, padding)
    result = op("Conv", x, kernel, strides=strides, dilations=dilations, group=groups, pads=pads, kernel_shape=windows)
    return _back(result, data_format)


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    data_format = backend.standardize_data_format(data_format)
    x, kernel = common(inputs, kernel)
    x = _first(x, data_format)
    n = len(x.shape)
    channels, per_group = x.shape[1], kernel.shape[-2]
    if channels % per_group:
        raise ValueError("The number of input channels must be evenly divisible by kernel's in_channels. Received input "
                         f"channels {channels} and kernel in_channels {per_group}. ")
    kernel = transposed(kernel, [n - 1, n - 2] + list(range(n - 2)))
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, channels // per_group)


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    data_format = backend.standardize_data_format(data_format)
    x, kernel = common(inputs, kernel)
    x = _first(x, data_format)
    n = len(x.shape)
    channels, multiplier = kernel.shape[-2:]
    kernel = reshaped(transposed(kernel, [n - 2, n - 1] + list(range(n - 2))),
                      (channels * multiplier, 1) + tuple(kernel.shape[:-2]))
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, channels)


def separable_conv(inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None,
                   dilation_rate=1):
    data_format = backend.standardize_data_format(data_format)
    x = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(x, pointwise_kernel, 1, "valid", data_format, 1)


def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    data_format = backend.standardize_data_format(data_format)
    x, kernel = common(inputs, kernel)
    x = _first(x, data_format)
    n = len(x.shape) - 2
    strides, dilations = _each(strides, n, "strides"), _each(dilation_rate, n, "dilation_rate")
    windows = list(kernel.shape[:n])
    outputs = [None] * n if output_padding is None else _each(output_padding, n, "output_padding")
    befores, sizes = [], []
    for size, window, stride, dilation, extra in zip(x.shape[2:], windows, strides, dilations, outputs):
        before, out = _transposed_size(size, window, stride, dilation, extra, padding)
        befores.append(before)
        sizes.append(out)
    kernel = transposed(kernel, [n + 1, n] + list(range(n)))
    # Crops the full result and pads it with zeros to the requested size.
    wholes = [(size - 1) * stride + (window - 1) * dilation + 1
              for size, window, stride, dilation in zip(x.shape[2:], windows, strides, dilations)]
    afters = [whole - before - out for whole, before, out in zip(wholes, befores, sizes)]
    result = op("ConvTranspose", x, kernel, strides=strides, dilations=dilations, kernel_shape=windows,
                pads=befores + [builtins.max(after, 0) for after in afters])
    if any(after < 0 for after in afters):
        result = op("Pad", result, ints(*[0] * (n + 4), *[builtins.max(-after, 0) for after in afters]), mode="constant")
    return _back(result, data_format)


def _transposed_size(size, window, stride, dilation, extra, padding):
    """Returns the offset of the result in the full result, and its size, by Keras' rules."""
    reach = (window - 1) * dilation + 1
    if _pads(padding) == "VALID":
        return 0, (size - 1) * stride + reach + (builtins.max(stride - reach, 0) if extra is None else extra)
    if extra is None:
        out, more = size * stride, stride + reach - 2
    else:
        out, more = (size - 1) * stride + reach % 2 + extra, reach + reach % 2 - 2 + extra
    return reach - 1 - builtins.min(-(-more // 2), reach - 1), out


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    x = T(input)
    (kh, kw), (dh, dw) = _each(kernel_size, 2, "kernel_size"), _each(dilation, 2, "dilation")
    (ph, pw), (sh, sw) = _each(padding, 2, "padding"), _each(stride, 2, "stride")
    x = knp.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    height, width = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    rows = np.arange(kh)[:, None] * dh + np.arange(height) * sh
    columns = np.arange(kw)[:, None] * dw + np.arange(width) * sw
    x = op("Gather", x, from_array(rows.astype("int64")), axis=2)
    x = op("Gather", x, from_array(columns.astype("int64")), axis=4)
    x = transposed(x, [0, 1, 2, 4, 3, 5])
    return reshaped(x, (x.shape[0], -1, height * width))


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    p = _each(padding, 2, "padding")
    return op("Col2Im", T(x), ints(*_each(output_size, 2, "output_size")), ints(*_each(kernel_size, 2, "kernel_size")),
              dilations=_each(dilation, 2, "dilation"), pads=p + p, strides=_each(stride, 2, "stride"))


def depth_to_space(x, block_size, data_format="channels_last"):
    x = _first(T(x), data_format)
    if len(x.shape) != 4 or x.shape[1] % block_size**2:
        raise ValueError(f"depth_to_space: block_size**2 must divide the channels. Received: {x.shape}, {block_size}")
    mode = "DCR" if data_format == "channels_last" else "CRD"
    return _back(op("DepthToSpace", x, blocksize=block_size, mode="DCR" if mode == "DCR" else "DCR"), data_format)


def space_to_depth(x, block_size, data_format="channels_last"):
    return _back(op("SpaceToDepth", _first(T(x), data_format), blocksize=block_size), data_format)
