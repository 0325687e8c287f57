# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms: the extension `fft` of the array API standard.

Transforms of any length are contractions with tables of roots of unity on the device. Long transforms are split into
short ones (operator DFT, frontend/onnx/families/onnx/spectra.cc). float32 gives complex64, float64 complex128.

`n` is the length along `axis`: longer tensors are cut, shorter ones zero-padded. `norm` is the normalization:
"backward" divides the inverse transform by n, "forward" the forward one by n, "ortho" both by sqrt(n)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tartan import _complex_elements as _c
from tartan import _dtypes
from tartan import _elementwise as _e
from tartan import _manipulation as _m
from tartan._call import as_float, axis_of, integer
from tartan._complex import ComplexTensor, complex_tensor, is_complex
from tartan._creation import arange
from tartan._indexing import getitem
from tartan._late import functions as _tartan
from tartan._primitives import to
from tartan._tensor import Tensor, constant, constant_array, operator

_NORMS = ("backward", "ortho", "forward")


def _length(n, size, name):
    length = size if n is None else integer(n, "the length of a transform")
    if length < 1:
        raise ValueError(f"fft.{name} of length {length}: a transform needs at least one element")
    return length


def _scaled(x, factor):
    """Multiplies real or complex numbers by a factor."""
    if factor == 1:
        return x
    if isinstance(x, ComplexTensor):
        return ComplexTensor(_scaled(x.real, factor), _scaled(x.imag, factor))
    return _e.multiply(x, constant(factor, x.dtype))


def _factor(norm, length, inverse):
    """Returns the remaining factor; the operator DFT divides its inverse by the length."""
    if norm not in _NORMS:
        raise ValueError(f"the norm of a transform must be one of {', '.join(_NORMS)}, not {norm!r}")
    if norm == "ortho":
        return length ** (0.5 if inverse else -0.5)
    return 1 if (norm == "backward") else float(length) if inverse else 1 / length


def _signal(x, name):
    """Converts a real or complex tensor to the operator's layout, with real and imaginary parts along a last axis.
    Returns it with its number of dimensions."""
    if is_complex(x):
        z = complex_tensor(x)
        return _m.stack([z.real, z.imag], axis=-1), z.shape
    x = as_float(x)
    if x.dtype in ("float16", "bfloat16"):
        x = to(x, _dtypes.float32)
    return _m.expand_dims(x, -1), x.shape


def _dft(x, n, axis, norm, name, inverse=False, one_sided=False):
    signal, shape = _signal(x, name)
    if not shape:
        raise ValueError(f"fft.{name} of a tensor without dimensions")
    axis = axis_of(axis, len(shape))
    to_real = inverse and one_sided
    length = _length(n, 2 * (shape[axis] - 1) if to_real else shape[axis], name)
    factor = _factor(norm, length, inverse)
    result = operator("DFT", [signal, constant_array(np.int64(length)), constant_array(np.int64(axis))], opset=20,
                      inverse=int(inverse), onesided=int(one_sided))
    parts = [getitem(result, (..., k)) for k in range(1 if to_real else 2)]
    return _scaled(parts[0] if to_real else ComplexTensor(*parts), factor)


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> ComplexTensor:
    """Discrete Fourier transform along an axis: y[k] = sum over j of x[j] exp(-2πi jk / n)."""
    return _dft(x, n, axis, norm, "fft")


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> ComplexTensor:
    """Inverse of fft."""
    return _dft(x, n, axis, norm, "ifft", inverse=True)


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> ComplexTensor:
    """Returns the first n // 2 + 1 elements of fft of real numbers; the others are their conjugates. TypeError for
    complex numbers."""
    if is_complex(x):
        raise TypeError("fft.rfft takes real numbers: use fft.fft for complex ones")
    return _dft(x, n, axis, norm, "rfft", one_sided=True)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverse of rfft: n real numbers, by default 2 (m - 1) for m elements."""
    return _dft(complex_tensor(x), n, axis, norm, "irfft", inverse=True, one_sided=True)


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Transform of a signal whose second half is the conjugate of the first: n real numbers."""
    turned = {"backward": "forward", "forward": "backward"}.get(norm, norm)
    return _dft(_c.conj(x), n, axis, turned, "hfft", inverse=True, one_sided=True)


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> ComplexTensor:
    """Inverse of hfft."""
    turned = {"backward": "forward", "forward": "backward"}.get(norm, norm)
    return _c.conj(rfft(x, n=n, axis=axis, norm=turned))


def _axes(x, s, axes, name):
    """Returns pairs of an axis and its length or None."""
    rank = len(x.shape)
    if s is not None and any(length is None for length in s):
        raise ValueError(f"fft.{name}: s must have one length per axis, not {s}")
    if axes is None:
        axes = range(rank) if s is None else range(rank - len(s), rank)
    axes = [axis_of(axis, rank) for axis in axes]
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes) or len(set(axes)) != len(axes):
        raise ValueError(f"fft.{name}: {len(lengths)} lengths for axes {axes}")
    return list(zip(axes, lengths))


def _every(x, s, axes, norm, name, inverse):
    for axis, length in _axes(x, s, axes, name):
        x = _dft(x, length, axis, norm, name, inverse)
    return x if isinstance(x, ComplexTensor) else complex_tensor(x)


def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> ComplexTensor:
    """fft along several axes (default: all), one after another; `s` has a length per axis."""
    return _every(x, s, axes, norm, "fftn", False)


def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> ComplexTensor:
    """Inverse of fftn."""
    return _every(x, s, axes, norm, "ifftn", True)


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> ComplexTensor:
    """rfft along the last of the axes, then fft along the others."""
    *others, (last, length) = _axes(x, s, axes, "rfftn")
    x = rfft(x, n=length, axis=last, norm=norm)
    for axis, length in others:
        x = _dft(x, length, axis, norm, "rfftn")
    return x


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Inverse of rfftn."""
    *others, (last, length) = _axes(x, s, axes, "irfftn")
    for axis, other in others:
        x = _dft(x, other, axis, norm, "irfftn", inverse=True)
    return irfft(x, n=length, axis=last, norm=norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """Returns the frequencies of fft's elements in cycles per unit of the sample spacing `d`: [0, 1, ..., -2, -1] /
    (n d)."""
    n = _length(n, n, "fftfreq")
    count = arange(n, dtype=_dtypes.as_dtype(dtype), device=device)
    return _e.divide(_e.where(_e.greater_equal(count, (n + 1) // 2), _e.subtract(count, n), count), n * d)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """Returns the frequencies of rfft's elements: [0, 1, ..., n // 2] / (n d)."""
    n = _length(n, n, "rfftfreq")
    return _e.divide(arange(n // 2 + 1, dtype=_dtypes.as_dtype(dtype), device=device), n * d)


def _shifted(x, axes, by):
    axes = list(range(len(x.shape))) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    return _tartan.roll(x, [by(x.shape[axis]) for axis in axes], axis=axes) if axes else x


def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """Moves frequency 0 to the middle of each axis."""
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """Inverse of fftshift."""
    return _shifted(x, axes, lambda size: -(size // 2))


__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
           "rfftfreq", "rfftn"]
