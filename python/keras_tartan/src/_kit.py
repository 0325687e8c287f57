# SPDX-License-Identifier: Apache-2.0
"""Helpers for keras.ops: operands of one dtype, and the operators that implement the functions."""

import builtins
import inspect

import numpy as np
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx
from tartan import _dtypes, _manipulation, _primitives
from tartan._complex import ComplexTensor
from tartan._primitives import is_exported, size_of  # noqa: F401
from keras_tartan.src._type import BackendTensor, constant, constant_array
from tartan._tensor import Tensor, operator, state, tile1
from keras_tartan.src._values import NeedsValues, cast, convert_to_tensor, operand_dtype

INT64 = _dtypes.int64
_TYPED = (BackendTensor, int, float, bool)


def T(x, dtype=None):
    return convert_to_tensor(x, dtype)


def is_float(x):
    return _dtypes.is_float(x.dtype)


def weak(x):
    """Returns an operand as result_type expects it: Python numbers yield in promotion."""
    kind = type(x)
    if kind is BackendTensor:
        return x.dtype
    if kind in (int, float, bool):
        return kind
    return operand_dtype(x) or T(x).dtype


_results = {}  # (floatx, dtypes and types of numbers) → dtype; the rules are pure


def promoted(*types):
    """Returns Keras' result dtype of dtypes and of types of Python numbers."""
    key = (floatx(), *types)
    found = _results.get(key)
    if found is None:
        found = _results[key] = result_type(*types)
    return found


def common(*operands, extra=()):
    """Returns the operands as tensors of Keras' result dtype."""
    if len(operands) == 2 and type(operands[0]) is BackendTensor and type(operands[1]) is BackendTensor:
        one, other = operands[0].dtype, operands[1].dtype
        if one == other and promoted(one, other, *extra) == one:
            return operands
    operands = [x if type(x) in _TYPED or hasattr(x, "dtype") else T(x) for x in operands]
    dtype = promoted(*map(weak, operands), *extra)
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
    result = tile1(f"function ({names}) -> (O) {{ {text} }}", *tensors)
    return cast(result, dtype or tensors[0].dtype)


def op(name, *inputs, **attributes):
    return operator(name, list(inputs), **attributes)


def ours(result):
    """Returns results of functions of tartan as tensors of Keras."""
    if isinstance(result, Tensor):
        return BackendTensor._of(result)
    if isinstance(result, ComplexTensor):
        return result
    return list(map(ours, result)) if isinstance(result, list) else tuple(map(ours, result))


def adapted(function):
    """Returns a function of tartan for tensors of Keras, whose parameters all have names."""
    def call(x, *args, **kwargs):
        return ours(function(T(x), *args, **kwargs))

    signature = inspect.signature(function)
    call.__signature__ = signature.replace(
        parameters=[p.replace(kind=p.POSITIONAL_OR_KEYWORD, annotation=p.empty) for p in signature.parameters.values()],
        return_annotation=signature.empty)
    return call


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


def reshaped(x, shape):
    return ours(_manipulation.reshape(x, shape))


def transposed(x, axes):
    return _primitives.permuted(x, [a % len(x.shape) for a in axes])


def broadcast(x, shape):
    return ours(_manipulation.broadcast_to(x, shape))


def is_scalar(x):
    return type(x) in (int, float, bool)


def values_of(x, what):
    """Returns the values of an operand that decides shapes, as a NumPy array."""
    if isinstance(x, (Tensor, KerasVariable)):
        x = T(x)
        if x.is_traced:
            raise NeedsValues(f"{what} that depends on values of a captured step is not implemented in the tartan backend")
        if state.recording and is_float(x) and x._value.known is None:
            raise NotImplementedError(f"the derivative of {what} is not implemented in the tartan backend")
        return x.numpy()
    return np.asarray(x)
