# SPDX-License-Identifier: Apache-2.0
"""Helpers for keras.ops: operands of one dtype, and the operators that implement the functions."""

import builtins

import numpy as np
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx
from tartan import _dtypes
from keras_tartan.src._type import constant, constant_array
from tartan._tensor import Tensor, operator, state, tile
from keras_tartan.src._values import cast, convert_to_tensor

INT64 = _dtypes.int64


def T(x, dtype=None):
    return convert_to_tensor(x, dtype)


def is_float(x):
    return _dtypes.is_float(x.dtype)


def weak(x):
    """Returns an operand as result_type expects it: Python numbers yield in promotion."""
    if type(x) in (int, float, bool):
        return type(x)
    dtype = getattr(x, "dtype", None)
    return dtype if dtype is not None else T(x).dtype


def common(*operands, extra=()):
    """Returns the operands as tensors of Keras' result dtype."""
    operands = [x if type(x) in (int, float, bool) or hasattr(x, "dtype") else T(x) for x in operands]
    dtype = result_type(*[weak(x) for x in operands], *extra)
    return [T(x, dtype) for x in operands]


def floated(x):
    """Converts to floats: integers become floatx."""
    x = T(x)
    if _dtypes.is_float(x.dtype):
        return x
    return cast(x, floatx() if x.dtype == "int64" else result_type(x.dtype, float))


def ints(*values):
    return constant_array(np.array(values, "int64"))


def formula(text, *tensors, dtype=None):
    """Applies a Tile function with one output, `O`. 16-bit floats keep their dtype."""
    names = ", ".join("XYZW"[: len(tensors)])
    result = tile(f"function ({names}) -> (O) {{ {text} }}", *tensors)[0]
    return cast(result, dtype or tensors[0].dtype)


def op(name, *inputs, **attributes):
    return operator(name, list(inputs), **attributes)


def is_exported():
    """Returns True during export to ONNX; functions that correspond to an ONNX operator then apply it."""
    return state.notes is not None


def like(scalar, x):
    return constant(scalar, x.dtype)


def axes_of(axis, ndim):
    """Returns non-negative axes in order; None means all."""
    if axis is None:
        return list(range(ndim))
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return [one(a, ndim) for a in axes]


def one(axis, ndim):
    axis = int(axis)
    if not -ndim <= axis < builtins.max(ndim, 1):
        raise ValueError(f"axis {axis} is out of bounds for a tensor of {ndim} dimensions")
    return axis % ndim if ndim else 0


def size_of(shape):
    size = 1
    for dim in shape:
        size *= dim
    return size


def reshaped(x, shape):
    shape = tuple(int(d) for d in shape)
    if shape == x.shape:
        return x
    if -1 in shape:
        known = size_of(d for d in shape if d != -1)
        if shape.count(-1) > 1 or (known == 0) or x.size % known:
            raise ValueError(f"cannot reshape a tensor of shape {x.shape} into {shape}")
        shape = tuple(x.size // known if d == -1 else d for d in shape)
    if size_of(shape) != x.size:
        raise ValueError(f"cannot reshape a tensor of shape {x.shape} into {shape}")
    return op("Reshape", x, ints(*shape), allowzero=1)


def transposed(x, axes):
    axes = [a % len(x.shape) for a in axes]
    if axes == list(range(len(axes))):
        return x
    return op("Transpose", x, perm=axes)


def broadcast(x, shape):
    shape = tuple(int(d) for d in shape)
    if x.shape == shape:
        return x
    if np.broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"cannot broadcast a tensor of shape {x.shape} to {shape}")
    return op("Expand", x, ints(*shape))


def full(shape, value, dtype):
    """Returns a tensor of one value, which takes no memory until it is used."""
    x = constant(value, _dtypes.as_dtype(dtype))
    return broadcast(x, shape)


def reduced(name, x, axis, keepdims):
    axes = axes_of(axis, len(x.shape))
    if not axes:
        return x
    if size_of(x.shape) == 0 or len(axes) == 0:
        return _empty(name, x, axes, keepdims)
    return op(name, x, ints(*axes), keepdims=int(bool(keepdims)))


_NEUTRAL = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMean": float("nan")}


def _empty(name, x, axes, keepdims):
    if name not in _NEUTRAL:
        raise ValueError(f"{name} of a tensor of shape {x.shape}, which has no elements")
    shape = [1 if a in axes else d for a, d in enumerate(x.shape) if keepdims or a not in axes]
    return full(shape, _NEUTRAL[name], x.dtype)


def is_scalar(x):
    return type(x) in (int, float, bool)


def is_variable(x):
    return isinstance(x, KerasVariable)


def values_of(x, what):
    """Returns the values of an operand that decides shapes, as a NumPy array."""
    if isinstance(x, (Tensor, KerasVariable)):
        x = T(x)
        if x.is_traced:
            raise NotImplementedError(f"{what} that depends on values of a step that is captured is not implemented "
                                      "in the tartan backend")
        if state.recording and is_float(x) and x._value.known is None:
            raise NotImplementedError(f"the derivative of {what} is not implemented in the tartan backend")
        return x.numpy()
    return np.asarray(x)
