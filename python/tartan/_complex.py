# SPDX-License-Identifier: Apache-2.0
"""ComplexTensor: complex numbers as a pair of real tensors. Every operation is an operation on the pair, so captured
functions, gradients and tartan.vmap need no rules for complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tartan import _dtypes
from tartan._call import is_scalar, tensor
from tartan._late import functions as _tartan
from tartan._operators import Operators
from tartan._primitives import to
from tartan._tensor import Tensor, evaluate, exported, from_numpy

complex64, complex128 = _dtypes.complex64, _dtypes.complex128
_PARTS = {complex64: _dtypes.float32, complex128: _dtypes.float64}
_WHOLE = {_dtypes.float32: complex64, _dtypes.float64: complex128}


class ComplexTensor(Operators):
    """An n-dimensional array of complex numbers on the device: tensors `real` and `imag` of one shape, both float32
    (complex64) or float64 (complex128). Created by `tartan.asarray` of complex numbers, by `tartan.fft`, and by
    operations.

    The gradient of a real loss by a complex tensor z = x + iy is dL/dx + i dL/dy, the direction of steepest ascent."""

    __slots__ = ("_real", "_imag")
    __array_priority__ = 1000
    __array_ufunc__ = Tensor.__array_ufunc__
    __array_function__ = Tensor.__array_function__

    def __init__(self, real, imag):
        self._real, self._imag = real, imag

    @property
    def real(self):
        """The real parts, a float tensor."""
        return self._real

    @property
    def imag(self):
        """The imaginary parts, a float tensor."""
        return self._imag

    def _tree_parts(self):
        """Returns the parts as leaves of a tree (_tree.py)."""
        return (self._real, self._imag)

    @property
    def shape(self):
        """The sizes of the dimensions, a tuple."""
        return self._real.shape

    @property
    def dtype(self):
        """complex64 or complex128."""
        return _WHOLE[self._real.dtype]

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._real.ndim

    @property
    def size(self):
        """The number of elements."""
        return self._real.size

    @property
    def device(self):
        """The name of the device in use."""
        return self._real.device

    @property
    def is_traced(self):
        """Returns True if there is no value because a function is being captured. Does not compute anything."""
        return self._real.is_traced or self._imag.is_traced

    def numpy(self):
        """Returns the values as a NumPy array, a copy."""
        evaluate(self._real, self._imag)
        values = np.empty(self.shape, str(self.dtype))
        values.real, values.imag = self._real.numpy(), self._imag.numpy()
        return values

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None or array.dtype == dtype else array.astype(dtype)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Exports a copy in CPU memory. BufferError for another device, or if copying is not allowed."""
        return exported(self.numpy(), dl_device, copy)

    def __dlpack_device__(self):
        return (1, 0)

    def item(self, *position):
        """Returns an element as a Python complex number."""
        return self.numpy().item(*position)

    def tolist(self):
        """Returns the values as nested lists of Python complex numbers."""
        return self.numpy().tolist()

    def __bool__(self):
        return bool(self.numpy())

    def __complex__(self):
        return complex(self.numpy())

    def __len__(self):
        return len(self._real)

    def __iter__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> ComplexTensor:
        """Returns elements; indexing as for real tensors."""
        return ComplexTensor(self._real[index], self._imag[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        """Rebinds this tensor to changed elements, as for real tensors."""
        value = complex_tensor(value, self.dtype)
        self._real, self._imag = self._real.at[index].set(value.real), self._imag.at[index].set(value.imag)

    @property
    def at(self):
        """NotImplementedError: use `x.real.at` and `x.imag.at`."""
        raise NotImplementedError("x.at does not take complex numbers: change x.real and x.imag, or assign to x[index]")

    def __copy__(self):
        return ComplexTensor(self._real.__copy__(), self._imag.__copy__())

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        return ComplexTensor, (self._real, self._imag)

    def __repr__(self):
        if self.is_traced:
            return f"<tartan.ComplexTensor {self.dtype}{list(self.shape)}, traced>"
        return f"tartan.ComplexTensor({np.array2string(self.numpy(), separator=', ')}, dtype={self.dtype})"


def is_complex_dtype(dtype):
    """Returns True if a dtype, in any notation, is complex64 or complex128."""
    if dtype is None or type(dtype) is _dtypes.DType:
        return dtype in _PARTS
    try:
        return dtype is complex or np.dtype(dtype).kind == "c"
    except TypeError:
        return False


def as_complex_dtype(dtype):
    """Returns complex64 or complex128. TypeError for other dtypes."""
    name = "complex64" if dtype is complex else np.dtype(str(dtype) if isinstance(dtype, str) else dtype).name
    if name not in _PARTS:
        raise TypeError(f"no tensor has elements of type {dtype!r}; the complex types are {', '.join(_PARTS)}")
    return complex64 if name == "complex64" else complex128


def part_dtype(dtype):
    """Returns the dtype of the real and imaginary parts."""
    return _PARTS[as_complex_dtype(dtype)]


_REAL_KINDS = {bool, int, float, str, slice, type(None), Tensor}


def is_complex(x):
    """Returns True for a complex number and for arrays with complex elements."""
    if isinstance(x, (ComplexTensor, complex)):
        return True
    if isinstance(x, (Tensor, str)):
        return False
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind == "c"
    if isinstance(x, (list, tuple)):
        return not set(map(type, x)) <= _REAL_KINDS and any(is_complex(part) for part in x)
    return not isinstance(x, type) and is_complex_dtype(getattr(x, "dtype", None))


def whole_dtype(dtype):
    """Returns the complex dtype whose parts can represent a real dtype."""
    if dtype in _PARTS:
        return dtype
    return complex128 if dtype == "float64" else complex64


def complex_tensor(x, dtype=None):
    """Converts a real or complex tensor, array or number to a ComplexTensor."""
    if not isinstance(x, ComplexTensor):
        x = _made(x, dtype)
    if dtype is None or x.dtype == dtype:
        return x
    part = part_dtype(dtype)
    return ComplexTensor(to(x.real, part), to(x.imag, part))


def _made(x, dtype):
    if is_complex(x):
        if isinstance(x, (list, tuple)) and any(isinstance(leaf, (Tensor, ComplexTensor)) for leaf in _leaves(x)):
            return _tartan.stack([complex_tensor(part) for part in x])
        array = np.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)
        if dtype is None and isinstance(x, (complex, list, tuple)):
            dtype = complex64
        array = array.astype(str(dtype or as_complex_dtype(array.dtype)))
        return ComplexTensor(from_numpy(np.array(array.real)), from_numpy(np.array(array.imag)))
    part = part_dtype(dtype) if dtype is not None else None
    x = tensor(x)
    real = to(x, part or part_dtype(whole_dtype(x.dtype)))
    return ComplexTensor(real, _tartan.zeros(real.shape, dtype=real.dtype))


def _leaves(x):
    for part in x:
        if isinstance(part, (list, tuple)):
            yield from _leaves(part)
        else:
            yield part


def result_dtype(*given):
    """Returns the complex result dtype for real and complex tensors and dtypes; Python numbers yield in promotion."""
    strong = [x for x in given if not isinstance(x, complex) and not is_scalar(x)]
    wide = [x for x in strong if str(getattr(x, "dtype", x)) in ("complex128", "float64")]
    return complex128 if wide else complex64


def together(arrays):
    """Converts tensors to ComplexTensors of one dtype."""
    arrays = [x if isinstance(x, (Tensor, ComplexTensor, complex)) or is_scalar(x) else
              complex_tensor(x) if is_complex(x) else tensor(x) for x in arrays]
    dtype = result_dtype(*arrays)
    return [complex_tensor(x, dtype) for x in arrays]
