# SPDX-License-Identifier: Apache-2.0
"""keras.ops.nn."""

import builtins
import math as _math

import numpy as np
from keras.src import backend
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import (T, axes_of, broadcast, common, floated, formula, ints, is_float, like, one, op,
                                   reshaped, transposed, values_of)
from keras_tartan.src.core import cast, from_array, stop_gradient

# --- Activations.


def _text(text):
    def function(x):
        return formula(text, floated(x))

    return function


def relu(x):
    x = T(x)
    return op("Relu", x) if x.dtype != "bool" else x


def relu6(x):
    return knp.clip(T(x), 0, 6)


def sigmoid(x):
    return op("Sigmoid", floated(x))


sparse_sigmoid = _text("O = X <= -1.0 ? 0.0 : (X >= 1.0 ? 1.0 : 0.5 * (X + 1.0));")
tanh_shrink = _text("O = X - tanh(X);")
softplus = _text("O = max(X, 0.0) + log1p(exp(-abs(X)));")
log_sigmoid = _text("O = -(max(-X, 0.0) + log1p(exp(-abs(X))));")
sparse_plus = _text("O = X <= -1.0 ? 0.0 : (X < 1.0 ? 0.25 * (X + 1.0) * (X + 1.0) : X);")
silu = _text("O = X * sigmoid(X);")
softsign = _text("O = X / (1.0 + abs(X));")
hard_sigmoid = _text("O = min(max(X / 6.0 + 0.5, 0.0), 1.0);")
hard_silu = _text("O = X * min(max(X / 6.0 + 0.5, 0.0), 1.0);")
selu = _text("O = 1.0507009873554805 * (X > 0 ? X : 1.6732632423543772 * expm1(min(X, 0.0)));")


def tanh(x):
    return op("Tanh", floated(x))


def soft_shrink(x, threshold=0.5):
    t = float(threshold)
    return _text(f"O = X > {t!r} ? X - {t!r} : (X < -{t!r} ? X + {t!r} : 0.0);")(x)


def hard_shrink(x, threshold=0.5):
    return _text(f"O = abs(X) > {float(threshold)!r} ? X : 0.0;")(x)


def squareplus(x, b=4):
    return _text(f"O = 0.5 * (X + sqrt(X * X + {float(b)!r}));")(x)


def leaky_relu(x, negative_slope=0.2):
    x = floated(x)
    return op("Where", knp.greater_equal(x, 0), x, op("Mul", x, T(negative_slope, x.dtype)))


def elu(x, alpha=1.0):
    x = floated(x)
    return knp.where(knp.greater(x, 0), x, knp.multiply(T(alpha, x.dtype), knp.expm1(knp.minimum(x, like(0, x)))))


def celu(x, alpha=1.0):
    x = floated(x)
    below = knp.multiply(T(alpha, x.dtype), knp.expm1(knp.divide(knp.minimum(x, like(0, x)), T(alpha, x.dtype))))
    return knp.add(knp.maximum(x, like(0, x)), below)


def gelu(x, approximate=True):
    if approximate:
        return _text("O = 0.5 * X * (1.0 + tanh(0.7978845608028654 * (X + 0.044715 * X * X * X)));")(x)
    return _text("O = 0.5 * X * (1.0 + erf(X * 0.7071067811865476));")(x)


def glu(x, axis=-1):
    x = floated(x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    a, b = knp.split(x, 2, axis)
    return op("Mul", a, sigmoid(b))


def hard_tanh(x):
    return knp.clip(T(x), -1.0, 1.0)


def threshold(x, threshold, default_value):
    x = T(x)
    return knp.where(knp.greater(x, T(threshold, x.dtype)), x, T(default_value, x.dtype))


def _over_axes(name, x, axis):
    x = floated(x)
    n = len(x.shape)
    if n == 0:
        return reshaped(op(name, reshaped(x, (1,)), axis=0), ())
    if isinstance(axis, int):
        return op(name, x, axis=axis)
    axes = axes_of(axis, n)
    rest = [a for a in range(n) if a not in axes]
    moved = transposed(x, rest + axes)
    flat = reshaped(moved, [moved.shape[i] for i in range(len(rest))] + [-1])
    result = reshaped(op(name, flat, axis=-1), moved.shape)
    return transposed(result, np.argsort(rest + axes).tolist())


def softmax(x, axis=-1):
    return _over_axes("Softmax", x, axis)


def log_softmax(x, axis=-1):
    return _over_axes("LogSoftmax", x, axis)


def sparsemax(x, axis=-1):
    x = floated(x)
    axis = one(axis, len(x.shape))
    ordered = knp.flip(knp.sort(x, axis), axis)
    sums = knp.cumsum(ordered, axis)
    dims = [-1 if a == axis else 1 for a in range(len(x.shape))]
    rank = reshaped(from_array(np.arange(1, x.shape[axis] + 1), x.dtype), dims)
    support = knp.greater(knp.add(knp.multiply(rank, ordered), 1.0), sums)
    count = knp.sum(cast(support, x.dtype), axis, True)
    total = knp.sum(knp.where(support, ordered, like(0, x)), axis, True)
    return knp.maximum(knp.subtract(x, knp.divide(knp.subtract(total, 1.0), count)), like(0, x))


# --- Pools and convolutions.


def _first(x, data_format):
    """Channels before the sizes."""
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
    """Elements before and behind each size."""
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
    """`kernel` is [out, in of a group, sizes…]."""
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
    full = op("ConvTranspose", x, kernel, strides=strides, dilations=dilations, kernel_shape=windows)
    # What the whole result has too much is cut off, what it lacks is 0.
    afters = [out + before - f for out, before, f in zip(sizes, befores, full.shape[2:])]
    if any(befores) or any(afters):
        full = op("Pad", full, ints(0, 0, *[-b for b in befores], 0, 0, *afters), mode="constant")
    return _back(full, data_format)


def _transposed_size(size, window, stride, dilation, extra, padding):
    """Where the result begins in the whole one, and its size: Keras' rules."""
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


# --- Classes.


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    x = T(x, "int64")
    n = len(x.shape) + 1
    axis = axis % n
    dims = [1] * n
    dims[axis] = num_classes
    classes = reshaped(from_array(np.arange(num_classes, dtype="int64")), dims)
    return cast(op("Equal", knp.expand_dims(x, axis), classes), dtype or backend.floatx())


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    x = T(x)
    over = 1 if len(x.shape) > 1 else 0
    return knp.max(one_hot(x, num_classes, axis, dtype), over)


# --- Losses.


def _check_target(target, output, axis=None):
    if len(target.shape) < 1 and axis is not None:
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if len(target.shape) != len(output.shape) or any(a != b for a, b in zip(target.shape, output.shape)):
        raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")


def _clipped(output):
    epsilon = backend.epsilon()
    return knp.clip(output, like(epsilon, output), like(1.0 - epsilon, output))


def _log_probabilities(output, from_logits, axis):
    if from_logits:
        return log_softmax(output, axis)
    output = op("Div", output, knp.sum(output, axis, True))
    return knp.log(_clipped(output))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = T(target), floated(output)
    _check_target(target, output, axis)
    target = cast(target, output.dtype)
    return knp.negative(knp.sum(op("Mul", target, _log_probabilities(output, from_logits, axis)), axis))


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = T(target, "int64"), floated(output)
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = knp.squeeze(target, -1)
    if len(output.shape) < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    axis = one(axis, len(output.shape))
    rest = tuple(d for a, d in enumerate(output.shape) if a != axis)
    if target.shape != rest:
        raise ValueError("Arguments `target` and `output` must have the same shape up until the last dimension: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    logs = _log_probabilities(output, from_logits, axis)
    picked = op("Equal", knp.expand_dims(target, axis),
                reshaped(from_array(np.arange(output.shape[axis], dtype="int64")),
                         [-1 if a == axis else 1 for a in range(len(output.shape))]))
    return knp.negative(knp.sum(op("Where", picked, logs, like(0, logs)), axis))


def binary_crossentropy(target, output, from_logits=False):
    target, output = T(target), floated(output)
    _check_target(target, output)
    target = cast(target, output.dtype)
    if from_logits:
        return formula("O = max(X, 0.0) - X * Y + log1p(exp(-abs(X)));", output, target)
    return formula("O = -(Y * log(X) + (1.0 - Y) * log(1.0 - X));", _clipped(output), target)


def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with tartan.")
    x = T(x)
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    work = cast(x, wide)
    mean = knp.mean(work, axes, True)
    centred = op("Sub", work, mean)
    variance = knp.mean(op("Mul", centred, centred), axes, True)
    if not keepdims:
        shape = [d for a, d in enumerate(x.shape) if a not in axes_of(axes, len(x.shape))]
        mean, variance = reshaped(mean, shape), reshaped(variance, shape)
    if wide != x.dtype:
        largest = float(65504.0 if x.dtype == "float16" else 3.3895313892515355e38)
        mean, variance = [cast(knp.clip(v, -largest, largest), x.dtype) for v in (mean, variance)]
    return mean, variance


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = T(x)
    shape = [1] * len(x.shape)
    shape[axis] = x.shape[axis]

    def spread(v):
        return reshaped(T(v), shape)

    factor = formula(f"O = recip(sqrt(X + {float(epsilon)!r}));" if "e" not in repr(float(epsilon)) else
                     f"O = recip(sqrt(X + {float(epsilon):.20f}));", spread(variance))
    if scale is not None:
        factor = knp.multiply(factor, spread(scale))
    shift = knp.multiply(knp.negative(spread(mean)), factor)
    if offset is not None:
        shift = knp.add(shift, spread(offset))
    return cast(knp.add(knp.multiply(x, factor), shift), x.dtype)


def psnr(x1, x2, max_val):
    x1, x2 = T(x1), T(x2)
    if x1.shape != x2.shape:
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    x1, x2 = common(x1, x2, extra=(float,))
    error = knp.mean(knp.square(op("Sub", x1, x2)))
    return knp.subtract(knp.multiply(20.0, knp.log10(T(max_val, x1.dtype))), knp.multiply(10.0, knp.log10(error)))


# --- Sequences.


def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None,
                          attn_logits_soft_cap=None):
    query, key, value = common(query, key, value)
    if len(query.shape) != 4 or len(key.shape) != 4 or len(value.shape) != 4:
        raise ValueError("`dot_product_attention` only supports 4D inputs. Received: "
                         f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}.")
    if key.shape != value.shape and key.shape[:3] != value.shape[:3]:
        raise ValueError(f"key and value differ: {key.shape}, {value.shape}")
    heads, groups = query.shape[2], key.shape[2]
    if heads != groups:
        if heads % groups:
            raise ValueError(f"{groups} heads of keys do not divide {heads} heads of queries")
        key, value = knp.repeat(key, heads // groups, 2), knp.repeat(value, heads // groups, 2)
    size = query.shape[-1]
    scale = 1.0 / _math.sqrt(size) if scale is None else scale
    dtype = query.dtype
    q, k, v = [transposed(x, [0, 2, 1, 3]) for x in (query, key, value)]
    logits = cast(op("MatMul", q, transposed(k, [0, 1, 3, 2])), "float32" if dtype != "float64" else dtype)
    logits = op("Mul", logits, T(scale, logits.dtype))
    if attn_logits_soft_cap is not None:
        cap = T(attn_logits_soft_cap, logits.dtype)
        logits = op("Mul", op("Tanh", op("Div", logits, cap)), cap)
    if bias is not None:
        logits = knp.add(logits, T(bias, logits.dtype))
    if is_causal:
        causal = from_array(np.tri(logits.shape[-2], logits.shape[-1], dtype=bool))
        mask = causal if mask is None else knp.logical_and(T(mask, "bool"), causal)
    if mask is not None:
        logits = op("Where", T(mask, "bool"), logits, like(-0.7 * 3.4028234663852886e38, logits))
    weights = cast(op("Softmax", logits, axis=-1), dtype)
    return transposed(op("MatMul", weights, v), [0, 2, 1, 3])


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    """The sums of all paths, in logarithms, a step of time after the other."""
    target, output = T(target, "int64"), T(output, "float32")
    target_length, output_length = T(target_length, "int64"), T(output_length, "int64")
    rows, steps, _ = output.shape
    labels = target.shape[1]
    width = 2 * labels + 1
    logs = log_softmax(output, -1)
    blank = knp.full((rows, labels, 1), mask_index, "int64")
    extended = reshaped(knp.concatenate([blank, knp.expand_dims(target, -1)], -1), (rows, 2 * labels))
    extended = knp.concatenate([extended, knp.full((rows, 1), mask_index, "int64")], 1)
    none = like(-1e30, logs)
    # A label may be reached from two back unless it equals that one; blanks there always do.
    before = knp.concatenate([knp.full((rows, 2), mask_index, "int64"), extended[:, :-2]], 1)
    jumps = knp.not_equal(extended, before)
    start = knp.broadcast_to(from_array(np.arange(width) < 2), (rows, width))

    def scores(t):
        return knp.take_along_axis(logs[:, t], extended, 1)

    alpha = knp.where(start, scores(0), none)
    gap = knp.broadcast_to(none, (rows, 2))
    for t in range(1, steps):
        padded = knp.concatenate([gap, alpha], 1)
        one_back, two_back = padded[:, 1:-1], knp.where(jumps, padded[:, :-2], none)
        total = knp.logaddexp(knp.logaddexp(alpha, one_back), two_back)
        alive = knp.expand_dims(knp.less(t, output_length), -1)
        alpha = knp.where(alive, knp.add(total, scores(t)), alpha)
    last = knp.expand_dims(knp.multiply(target_length, 2), -1)
    ends = knp.concatenate([last, knp.maximum(knp.subtract(last, 1), 0)], 1)
    found = knp.take_along_axis(alpha, ends, 1)
    both = knp.logaddexp(found[:, 0], found[:, 1])
    return knp.negative(knp.where(knp.equal(target_length, 0), found[:, 0], both))


def ctc_decode(inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True,
               mask_index=0):
    if strategy not in ("greedy", "beam_search"):
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    if strategy == "beam_search":
        raise NotImplementedError("ctc_decode with strategy='beam_search' is not implemented in the tartan backend")
    x = T(inputs, "float32")
    rows, steps, _ = x.shape
    lengths = T(sequence_lengths, "int32")
    best = knp.argmax(x, -1)
    score = knp.max(x, -1)
    inside = knp.less(knp.expand_dims(knp.arange(steps, dtype="int32"), 0), knp.expand_dims(lengths, -1))
    kept = knp.logical_and(inside, knp.not_equal(best, mask_index))
    if merge_repeated:
        again = knp.equal(best[:, 1:], best[:, :-1])
        again = knp.concatenate([knp.zeros((rows, 1), "bool"), again], 1)
        kept = knp.logical_and(kept, knp.logical_not(again))
    order = knp.argsort(cast(knp.logical_not(kept), "int32"), 1)
    shown = knp.take_along_axis(knp.where(kept, best, like(-1, best)), order, 1)
    total = knp.negative(knp.sum(knp.where(inside, score, like(0, score)), 1, True))
    return knp.expand_dims(shown, 0), total
