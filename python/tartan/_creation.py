# SPDX-License-Identifier: Apache-2.0
"""Creation functions: tensors from values, and filled tensors. The default dtypes are float32 and int32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tartan import _dtypes, _runtime
from tartan._call import default_dtype, holds_tensors, integer, is_scalar, shape_of, stack, tensor
from tartan._manipulation import broadcast_to, reshape
from tartan._primitives import to
from tartan._tensor import Tensor, another, constant, constant_array, from_numpy, state, tile1
from tartan._variable import Variable


def check_device(device: Any) -> None:
    """ValueError for a device other than the one in use; a process computes on one device."""
    if device is not None and device != _runtime.device().info["name"]:
        raise ValueError(f"tensors are on {_runtime.device().info['name']!r}, not on {device!r}: "
                         "tartan.set_device chooses the device of the process")


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Returns a tensor with the values of `obj`: a tensor, a NumPy array, an object with the buffer protocol or
    DLPack, or nested lists of numbers. Python floats become float32, ints int32 (int64 if necessary), complex
    numbers a ComplexTensor. TypeError for arrays of objects."""
    check_device(device)
    if isinstance(obj, Variable):
        obj = obj.value
    if isinstance(obj, Tensor):
        return astype(obj, dtype or obj.dtype, copy=bool(copy))
    dtype = None if dtype is None else _dtypes.as_dtype(dtype)
    if isinstance(obj, (list, tuple)) and holds_tensors(obj):
        return stack([asarray(part, dtype) for part in obj])
    array = np.asarray(obj)
    if dtype is not None:
        if is_scalar(obj) and isinstance(obj, int) and _dtypes.is_integer(dtype):
            info = _dtypes.iinfo(dtype)
            if not info.min <= obj <= info.max:
                raise OverflowError(f"{obj} is out of the range of {dtype}")
        array = array.astype(_dtypes.numpy_dtype(dtype))
    else:
        array = default_dtype(array, obj)
    return from_numpy(array, copy is not False)


array = asarray


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Converts elements to another dtype. Floats are truncated toward zero when converted to integers."""
    check_device(device)
    x, dtype = tensor(x), _dtypes.as_dtype(dtype)
    if x.dtype == dtype:
        return another(x) if copy else x
    return to(x, dtype)


def copy(x: Any, /) -> Tensor:
    """Returns a copy; assignments to its elements do not change `x`."""
    return another(tensor(x))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Returns a copy of an array that exports itself by DLPack, from the CPU."""
    check_device(device)
    return x if isinstance(x, Tensor) else from_numpy(np.from_dlpack(x))


def _known(array):
    """Returns a tensor of known values that do not decide shapes."""
    return constant_array(array) if state.trace is not None and array.size < 4096 else from_numpy(array)


def _made(values, dtype):
    return _known(np.ascontiguousarray(values).reshape(np.shape(values)).astype(_dtypes.numpy_dtype(dtype)))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor of `shape` with `fill_value`, a number or a tensor that broadcasts."""
    check_device(device)
    if dtype is None:
        dtype = tensor(fill_value).dtype
    dtype = _dtypes.as_dtype(dtype)
    value = constant(fill_value, dtype) if is_scalar(fill_value) else tensor(fill_value, dtype)
    return broadcast_to(value, shape_of(shape))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor of `shape` filled with 0."""
    return full(shape, 0, dtype=_dtypes.as_dtype(dtype), device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor of `shape` filled with 1."""
    return full(shape, 1, dtype=_dtypes.as_dtype(dtype), device=device)


empty = zeros


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor with the shape and dtype of x, filled with one value."""
    x = tensor(x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor with the shape and dtype of x, filled with 0."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor with the shape and dtype of x, filled with 1."""
    return full_like(x, 1, dtype=dtype, device=device)


empty_like = zeros_like


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns [n_rows, n_cols] with 1 on diagonal k and 0 elsewhere."""
    check_device(device)
    rows = integer(n_rows)
    return _made(np.eye(rows, rows if n_cols is None else integer(n_cols), k=k), _dtypes.as_dtype(dtype))


def _number(x):
    """Returns a Python number, also from a tensor with one element."""
    return x if is_scalar(x) else tensor(x).item()


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns start, start + step, ... before stop, as a vector: int32 if all arguments are integers, else float32."""
    check_device(device)
    start, stop, step = _number(start), None if stop is None else _number(stop), _number(step)
    if stop is None:
        start, stop = 0, start
    count = max(0, math.ceil((stop - start) / step))
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, stop, step))
        dtype = _dtypes.float32 if not whole else _dtypes.int32 if max(abs(start), abs(stop)) < 2**31 else \
            _dtypes.int64
    dtype = _dtypes.as_dtype(dtype)
    kind = "float64" if isinstance(start, float) or isinstance(step, float) else \
        "uint64" if dtype == "uint64" and start >= 0 and step > 0 else "int64"
    values = np.arange(count).astype(kind) * np.array(step, kind) + np.array(start, kind) if count else np.zeros(0)
    return _made(values, dtype)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
             endpoint: bool = True) -> Tensor:
    """Returns `num` evenly spaced numbers from start to stop, without stop unless `endpoint`, along a new first
    dimension. Tensor arguments keep their derivatives."""
    check_device(device)
    dtype = _dtypes.as_dtype(dtype)
    if is_scalar(start) and is_scalar(stop):
        return _made(np.linspace(start, stop, integer(num), endpoint=endpoint), dtype)
    return spaced(tensor(start, dtype), tensor(stop, dtype), integer(num), endpoint)[0]


def spaced(start, stop, num, endpoint):
    """Returns `num` evenly spaced numbers along a new first dimension, and their distance. The operands have one
    float dtype."""
    step = tile1("function (A, B, N) -> (S) { S = (B - A) / N; }", start, stop,
                 constant(max(1, num - bool(endpoint)), start.dtype))
    at = reshape(_made(np.arange(num), start.dtype), (num, *(1,) * step.ndim))
    last = constant(num - 1 if endpoint and num > 1 else -1, start.dtype)
    return tile1("function (A, B, S, I, L) -> (Y) { Y = I == L ? B : A + I * S; }", start, stop, step, at, last), step


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Returns coordinate tensors of a grid. With 'xy' the first vector varies along columns, with 'ij' along the
    first dimension."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', not {indexing!r}")
    arrays = [tensor(x) for x in arrays]
    rank = len(arrays)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[:2] = [1, 0]
    shape = [0] * rank
    for d, x in zip(order, arrays):
        shape[d] = x.size
    return [broadcast_to(reshape(x, [x.size if a == d else 1 for a in range(rank)]), shape)
            for d, x in zip(order, arrays)]
