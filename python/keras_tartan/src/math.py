# SPDX-License-Identifier: Apache-2.0
"""keras.ops.math."""

import numpy as np
from keras.src.backend import config
from keras_tartan.src import numpy as knp
from keras_tartan.src._incomplete_gamma import lower_gamma
from keras_tartan.src._kit import T, axes_of, common, floated, formula, like, op, ours, reshaped, values_of
from keras_tartan.src._values import cast, from_array
from tartan import _dtypes, _reductions, _selection
from tartan import fft as _fft
from tartan._complex import ComplexTensor
from tartan._rows import ROWS


def _segment(reduction, neutral):
    def function(data, segment_ids, num_segments=None, sorted=False):
        data, ids = T(data), T(segment_ids, "int64")
        if num_segments is None:
            num_segments = int(values_of(ids, "num_segments").max()) + 1
        shape = (int(num_segments),) + tuple(data.shape[1:])
        start = knp.full(shape, neutral(data.dtype), data.dtype)
        # Ids outside all segments go to an additional segment, which is dropped.
        start = knp.concatenate([start, start[:1]] if num_segments else [start, data[:1]])
        outside = knp.logical_or(knp.less(ids, 0), knp.greater_equal(ids, num_segments))
        ids = knp.where(outside, like(num_segments, ids), ids)
        return op("ScatterND", start, knp.expand_dims(ids, -1), data, reduction=reduction)[:-1]

    return function


def _limits(dtype):
    if _dtypes.is_float(dtype):
        return -float("inf"), float("inf")
    limits = np.iinfo(str(dtype))
    return int(limits.min), int(limits.max)


segment_sum = _segment("add", lambda dtype: 0)
segment_prod = _segment("mul", lambda dtype: 1)
segment_max = _segment("max", lambda dtype: _limits(dtype)[0])
segment_min = _segment("min", lambda dtype: _limits(dtype)[1])


def top_k(x, k, sorted=True):
    values, positions = ours(_selection.top_k(T(x), int(k)))
    return values, cast(positions, "int32")


if hasattr(config, "PLUGGABLE_BACKENDS"):  # Keras 3.16 compares signatures, as 3.15 does
    _top_k = top_k

    def top_k(x, k, sorted=True, is_stable=True):
        return _top_k(x, k, sorted)


def in_top_k(targets, predictions, k):
    targets, predictions = T(targets, "int64"), T(predictions)
    at = knp.expand_dims(knp.clip(targets, 0, predictions.shape[-1] - 1), -1)
    score = knp.take_along_axis(predictions, at, -1)
    better = knp.sum(cast(knp.greater(predictions, score), "int32"), -1)
    return knp.logical_and(knp.less(better, int(k)), knp.isfinite(knp.squeeze(score, -1)))


def logsumexp(x, axis=None, keepdims=False):
    x = floated(x)
    return ours(_reductions.logsumexp(x, axis=tuple(axes_of(axis, len(x.shape))), keepdims=keepdims))


def cdist(x, y):
    x, y = common(x, y, extra=(float,))
    d = knp.subtract(knp.expand_dims(x, -2), knp.expand_dims(y, -3))
    return knp.sqrt(knp.sum(knp.square(d), -1))


def extract_sequences(x, sequence_length, sequence_stride):
    x = T(x)
    count = 1 + (x.shape[-1] - sequence_length) // sequence_stride
    at = np.arange(count)[:, None] * sequence_stride + np.arange(sequence_length)[None, :]
    return op("Gather", x, from_array(at.astype("int64")), axis=len(x.shape) - 1)


def _complex(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    real, imag = T(x[0]), T(x[1])
    if real.shape != imag.shape:
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary "
                         f"parts should have the same shape. Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}")
    if real.dtype not in ("float16", "bfloat16", "float32", "float64") or imag.dtype != real.dtype:
        raise ValueError("At least one tensor in input `x` is not of type float. "
                         f"Received: x={x}.")
    return ComplexTensor(real, imag)


def _parts(z):
    return ours((z.real, z.imag))


def fft(x):
    return _parts(_fft.fft(_complex(x)))


def fft2(x):
    return _parts(_fft.fftn(_complex(x), axes=(-1, -2)))


def ifft2(x):
    return _parts(_fft.ifftn(_complex(x), axes=(-1, -2)))


def _length(x, length):
    x = x[..., :length] if x.shape[-1] > length else x
    short = length - x.shape[-1]
    return knp.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(0, short)]) if short > 0 else x


def rfft(x, fft_length=None):
    return _parts(_fft.rfft(floated(x), n=fft_length))


def irfft(x, fft_length=None):
    real, imag = _parts(_complex(x))
    n = 2 * (real.shape[-1] - 1) if fft_length is None else int(fft_length)
    real, imag = _length(real, n // 2 + 1), _length(imag, n // 2 + 1)
    mirrored = slice(1, (n + 1) // 2)
    tail_r, tail_i = real[..., mirrored], imag[..., mirrored]
    imag = knp.multiply(imag, from_array(np.array([0.0 if i == 0 or 2 * i == n else 1.0 for i in range(n // 2 + 1)],
                                                  str(imag.dtype))))
    real = knp.concatenate([real, knp.flip(tail_r, -1)], -1)
    imag = knp.concatenate([imag, knp.negative(knp.flip(tail_i, -1))], -1)
    return _parts(_fft.ifft(ComplexTensor(real, imag)))[0]  # not one-sided, as exported models cannot be


def _stft_window(window, sequence_length, fft_length, dtype):
    if window is None:
        return np.ones(fft_length)
    elif isinstance(window, str):
        n = np.arange(sequence_length) * 2 * np.pi / sequence_length
        values = {"hann": 0.5 - 0.5 * np.cos(n), "hamming": 0.54 - 0.46 * np.cos(n)}[window]
    else:
        values = np.asarray(values_of(window, "stft's window"), "float64")
        if values.shape != (sequence_length,):
            raise ValueError("The shape of `window` must be equal to [sequence_length]."
                             f"Received: window shape={values.shape}")
    before = (fft_length - sequence_length) // 2
    return np.pad(values, (before, fft_length - sequence_length - before))


def _check_window(window):
    if isinstance(window, str) and window not in ("hann", "hamming"):
        raise ValueError("If a string is passed to `window`, it must be one of `\"hann\"`, `\"hamming\"`. "
                         f"Received: window={window}")


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    _check_window(window)
    x = T(x)
    if x.dtype not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must equal or larger than `sequence_length`. Received: "
                         f"sequence_length={sequence_length}, fft_length={fft_length}")
    values = _stft_window(window, sequence_length, fft_length, x.dtype)
    if center:
        x = knp.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(fft_length // 2, fft_length // 2)], mode="reflect")
    frames = extract_sequences(x, fft_length, sequence_stride)
    return rfft(knp.multiply(frames, from_array(values, x.dtype)))


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    _check_window(window)
    frames = irfft(x, fft_length)
    values = _stft_window(window, sequence_length, fft_length, frames.dtype)
    count = frames.shape[-2]
    total = fft_length + (count - 1) * sequence_stride
    at = (np.arange(count)[:, None] * sequence_stride + np.arange(fft_length)).reshape(-1)
    # Normalizes by the sum of the squared windows that cover an element. Without a window, frames are added unchanged.
    weight = np.ones(total) if window is None else np.bincount(at, np.tile(values ** 2, count))
    frames = knp.multiply(frames, from_array(values, frames.dtype))
    flat = reshaped(frames, tuple(frames.shape[:-2]) + (-1,))
    lead = flat.shape[:-1]
    rows = knp.transpose(reshaped(flat, (-1, flat.shape[-1])))
    summed = op("ScatterND", knp.zeros((total, rows.shape[1]), rows.dtype), from_array(at[:, None].astype("int64")), rows,
                reduction="add")
    result = knp.divide(summed, from_array(np.where(weight > 1e-10, weight, 1.0)[:, None], rows.dtype))
    result = reshaped(knp.transpose(result), tuple(lead) + (total,))
    begin = fft_length // 2 if center else 0
    end = begin + length if length is not None else (total - fft_length // 2 if center else total)
    result = result[..., begin:end]
    return _length(result, length) if length is not None else result


def rsqrt(x):
    return ROWS["rsqrt"](floated(x))


def erf(x):
    return ROWS["erf"](floated(x))


def erfc(x):
    return knp.subtract(1.0, erf(x))


def erfinv(x):
    """Giles' float32 approximation, refined by two Newton steps."""
    x = floated(x)
    wide = "float64" if x.dtype == "float64" else "float32"
    y = formula(
        "C = min(max(X, -0.9999999), 0.9999999); W = -log((1.0 - C) * (1.0 + C)); P = W - 2.5; Q = sqrt(max(W, 5.0)) - 3.0; "
        "A = C * (1.50140941 + P * (0.246640727 + P * (-0.00417768164 + P * (-0.00125372503 + P * (0.000218580870 + "
        "P * (-0.00000439150654 + P * (-0.0000035233877 + P * (0.000000343273939 + P * 0.0000000281022636)))))))); "
        "B = C * (2.83297682 + Q * (1.00167406 + Q * (0.00943887047 + Q * (-0.0076224613 + Q * (0.00573950773 + "
        "Q * (-0.00367342844 + Q * (0.00134934322 + Q * (0.000100950558 + Q * -0.000200214257)))))))); "
        "R = W < 5.0 ? A : B; S = R - (erf(R) - C) * 0.886226925452758 * exp(R * R); "
        "O = abs(X) < 1.0 ? S : (X == 1.0 ? inf() : (X == -1.0 ? -inf() : nan()));", cast(x, wide))
    return cast(y, x.dtype)


# Lanczos' approximation with g = 7 (Numerical Recipes, 6.1): the coefficients of 1 / (x + k).
_LANCZOS = (676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
            -0.13857109526572012, 9.984369578019572e-06, 1.5056327351493116e-07)


def lgamma(x):
    """The logarithm of |gamma(x)|; by the reflection formula below 0.5."""
    x = floated(x)
    wide = "float64" if x.dtype == "float64" else "float32"
    terms = " + ".join(f"{c:.16f} / (Z + {k}.0)" for k, c in enumerate(_LANCZOS))
    y = formula(
        f"Z = X < 0.5 ? 1.0 - X : X; S = 0.99999999999980993 + {terms}; T = Z + 6.5; "
        "L = 0.9189385332046727 + (Z - 0.5) * log(T) - T + log(S); F = X - floor(X); "
        "R = 1.1447298858494002 - log(abs(sin(3.141592653589793 * F))) - L; "
        "O = X <= 0.0 && F == 0.0 ? inf() : (X < 0.5 ? R : (X == inf() ? X : L));", cast(x, wide))
    return cast(y, x.dtype)


def gammainc(x1, x2):
    """The regularized lower incomplete gamma function, computed by NumPy on the host."""
    a, x = common(x1, x2, extra=(float,))
    return from_array(lower_gamma(values_of(a, "gammainc"), values_of(x, "gammainc")), a.dtype)


def logdet(x):
    return knp.slogdet(x)[1]


_get_complex_tensor_from_tuple = _complex
