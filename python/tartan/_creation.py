# SPDX-License-Identifier: Apache-2.0
"""Tensors from values, and filled ones."""

import numpy as np

from tartan import _dtypes
from tartan._tensor import Tensor, from_numpy, operator, constant_array
from tartan._variable import Variable


def asarray(obj, dtype=None, copy=None):
    """A tensor of what `obj` holds: a tensor, a NumPy array, anything with the buffer protocol or DLPack, numbers
    in nested lists. Python floats are float32, ints int32 (int64 where they need it)."""
    if isinstance(obj, Variable):
        obj = obj.value
    if isinstance(obj, Tensor):
        return obj if dtype is None or obj.dtype == dtype else astype(obj, dtype)
    if isinstance(obj, (list, tuple)) and _holds_tensors(obj):
        from tartan import stack

        return asarray(stack([asarray(part, dtype) for part in obj]), dtype)
    array = np.asarray(obj)
    if dtype is not None:
        array = array.astype(_dtypes.numpy_dtype(_dtypes.as_dtype(dtype)))
    elif not isinstance(obj, (np.ndarray, np.generic)) and not hasattr(obj, "__dlpack__"):
        array = _narrowed(array)
    return from_numpy(array, copy is not False)


def _holds_tensors(obj):
    return any(isinstance(x, (Tensor, Variable)) or isinstance(x, (list, tuple)) and _holds_tensors(x) for x in obj)


def _narrowed(array):
    """Of what came from Python: float32, and int32 where the numbers fit."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64 and (array.size == 0 or np.abs(array).max() < 2**31):
        return array.astype(np.int32)
    return array


def astype(x, dtype, copy=True):
    """The same values as another type; floats become integers by dropping their fractions."""
    dtype = _dtypes.as_dtype(dtype)
    if x.dtype == dtype:
        return x
    from tartan._onnx_types import NUMBERS

    return operator("Cast", [x], to=NUMBERS[dtype])
