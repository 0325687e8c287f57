# SPDX-License-Identifier: Apache-2.0
"""Tensors and variables."""

import contextlib

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, dtypes as keras_dtypes, global_state, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.stateless_scope import get_stateless_scope, in_stateless_scope
from keras.src.backend.config import backend as backend_name, floatx
from tartan import _core, _dtypes, _variable
from keras_tartan.src import _complex_numbers, _float8, _hints, distribution_lib
from keras_tartan.src._type import BackendTensor, constant, constant_array, from_numpy
from tartan._primitives import stacked, to
from tartan._tensor import Tensor, state

SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True

# Float64 tensors give float64, as with TensorFlow; Keras computes float32 from them with other backends.
if backend_name() == "tartan":
    keras_dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
# Maximum number of elements of an array that becomes a constant of a captured program.
_SMALL = 64


class NeedsValues(NotImplementedError):
    """A function needs values while a step is captured. `fit`, `evaluate` and `predict` then run the step eagerly."""


@contextlib.contextmanager
def untraced():
    """Context without function capture, for initial values."""
    outer, state.trace = state.trace, None
    try:
        yield
    finally:
        state.trace = outer


def placeholder(shape, dtype, name="x"):
    if _complex_numbers.is_complex_dtype(dtype):
        return _complex_numbers.complex_tensor(placeholder(shape, "float64" if dtype == "complex128" else "float32", name))
    if _float8.is_float8(dtype):
        return _float8.Float8Tensor(placeholder(shape, "float32", name), dtype)
    return BackendTensor(_core.Value.placeholder(name, str(dtype), list(shape)))


class Variable(KerasVariable):
    """A Keras variable backed by a tartan.Variable, which captured steps keep on the device."""

    __getattr__ = _hints.missing

    def _initialize(self, value):
        distribution = global_state.get_global_attribute("distribution")
        if distribution is not None:
            distribution_lib.check_distribution(distribution)
        if isinstance(value, Variable):
            value = value.value
        if isinstance(value, (Tensor, _complex_numbers.ComplexTensor)):
            if value.is_traced:
                raise ValueError(
                    f"the variable '{self._path}' is created in a step that is being captured, from a value of the "
                    "step: create variables in `__init__` or `build`")
            value = value.numpy()
        if _complex_numbers.is_complex_dtype(self._dtype):
            self._value = _complex_numbers.ComplexVariable(np.asarray(value, self._dtype), self._path)
            return
        value = from_numpy(np.asarray(value).astype(_dtypes.numpy_dtype(self._dtype)))
        self._value = _variable.Variable(value, name=self._path)

    def _initialize_with_initializer(self, initializer):
        with untraced():
            self._initialize(convert_to_tensor(initializer(self._shape, dtype=self._dtype), self._dtype))

    def _direct_assign(self, value):
        if state.trace is None and isinstance(value, Tensor):
            known = value._value.known
            if known is not None:  # a separate node, for derivatives by this variable only
                value = BackendTensor(_core.Value.leaf(known))
        self._value.assign(value)

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype=dtype)

    @property
    def value(self):
        if in_stateless_scope():
            value = get_stateless_scope().get_current_value(self)
            if value is not None:
                return self._maybe_autocast(value)
        if self._value is None:  # not built yet; only its shape is needed
            return self._maybe_autocast(placeholder(self._shape, self._dtype, self._name))
        return self._maybe_autocast(self._value.value)

    def numpy(self):
        return convert_to_numpy(self.value)

    def __array__(self, dtype=None, copy=None):
        array = convert_to_numpy(self.value)
        return array if dtype is None else array.astype(dtype)


def _refuse_sparse(sparse, ragged):
    if sparse:
        raise ValueError("`sparse=True` is not supported with the tartan backend")
    if ragged:
        raise ValueError("`ragged=True` is not supported with the tartan backend")


def _known_dtype(dtype):
    if type(dtype) in (str, _dtypes.DType) and dtype in _dtypes.ALL:
        return _dtypes.ALL[dtype]
    dtype = standardize_dtype(dtype)
    if _float8.is_float8(dtype) or _complex_numbers.is_complex_dtype(dtype):
        return dtype
    if dtype not in _dtypes.ALL:
        raise NotImplementedError(f"tensors of {dtype} are not implemented in the tartan backend")
    return _dtypes.ALL[dtype]


def operand_dtype(x):
    """Returns the dtype of an operand for result_type. NumPy's float64, its default, counts as float32."""
    dtype = getattr(x, "dtype", None)
    return "float32" if dtype == "float64" and isinstance(x, (np.ndarray, np.generic)) else dtype


def _of_scalar(x, dtype):
    if dtype is None:
        if isinstance(x, bool):
            dtype = "bool"
        elif isinstance(x, int):
            dtype = "int32" if -(2**31) <= x < 2**31 else "int64"
        elif isinstance(x, float):
            dtype = floatx()
        else:
            dtype = "complex64"
    dtype = _known_dtype(dtype)
    if _float8.is_float8(dtype):
        return _float8.from_array(np.asarray(x), dtype)
    if isinstance(x, int) and _dtypes.is_integer(dtype):
        x = int(np.array(x).astype(np.int64).astype(str(dtype))) if abs(x) < 2**63 else x
    return constant(x, dtype)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if type(x) is BackendTensor and not sparse and not ragged:
        return x if dtype is None else cast(x, dtype)
    _refuse_sparse(sparse, ragged)
    if isinstance(x, KerasVariable):
        x = x.value
    elif isinstance(x, _variable.Variable):
        x = x.value
    if isinstance(x, Tensor):
        x = BackendTensor._of(x)
        return x if dtype is None else cast(x, dtype)
    if _complex_numbers.is_complex(x) or dtype is not None and _complex_numbers.is_complex_dtype(dtype):
        return _as_complex(x, dtype)
    if type(x) in (bool, int, float, complex):
        return _of_scalar(x, dtype)
    if isinstance(x, (list, tuple)):
        flat = tree.flatten(x)
        if any(isinstance(part, (Tensor, KerasVariable)) for part in flat):
            return _stacked(x, dtype)
        if dtype is None:
            dtype = result_type(*[operand_dtype(part) or type(part) for part in flat])
            if not flat:
                dtype = floatx()
    return from_array(np.asarray(x), dtype)


def _as_complex(x, dtype):
    """Returns a complex tensor, or the real parts if the dtype is real."""
    if dtype is None or _complex_numbers.is_complex_dtype(dtype):
        return _complex_numbers.complex_tensor(x, None if dtype is None else _dtypes.DType(standardize_dtype(dtype)))
    return cast(BackendTensor._of(_complex_numbers.complex_tensor(x).real), dtype)


def from_array(array, dtype=None):
    if array.dtype.kind == "O" and array.shape == () and array.item() is None:
        raise ValueError("None cannot be converted to a tensor")
    if array.dtype.kind in "OSUMm":
        raise ValueError(f"a tensor has no elements of type {array.dtype}: {array!r}")
    dtype = _known_dtype(array.dtype if dtype is None else dtype)
    if _float8.is_float8(dtype):
        return _float8.from_array(array, dtype)
    wanted = _dtypes.numpy_dtype(dtype)
    if array.dtype != wanted:
        if array.dtype.kind == "f" and wanted.kind in "iu":
            with np.errstate(invalid="ignore"):
                array = array.astype(wanted)
        else:
            array = array.astype(wanted)
    if state.trace is not None and array.size <= _SMALL:
        return constant_array(array)
    return from_numpy(array)


def _stacked(x, dtype):
    parts = [convert_to_tensor(part) for part in x]
    if dtype is None:
        dtype = result_type(*[part.dtype for part in parts])
    return stacked([cast(part, dtype) for part in parts], 0)


def convert_to_numpy(x):
    if isinstance(x, (KerasVariable, _variable.Variable)):
        x = x.value
    if isinstance(x, (Tensor, _complex_numbers.ComplexTensor)):
        return np.array(x.numpy())
    if isinstance(x, (list, tuple)):
        return np.array([convert_to_numpy(part) for part in x])
    return np.array(x)


def is_tensor(x):
    return isinstance(x, (BackendTensor, _complex_numbers.ComplexTensor))  # others are converted


def shape(x):
    return tuple(x.shape)


def cast(x, dtype):
    if type(x) is BackendTensor and x.dtype == dtype:
        return x
    if isinstance(x, KerasVariable):
        x = x.value
    if not isinstance(x, BackendTensor):
        return convert_to_tensor(x, dtype)
    dtype = _known_dtype(dtype)
    if x.dtype == dtype:
        return x
    if _complex_numbers.is_complex_dtype(dtype):
        return _as_complex(x, dtype)
    if isinstance(x, _float8.Float8Tensor):
        return cast(x._wide, dtype)
    return _float8.rounded(x, dtype) if _float8.is_float8(dtype) else to(x, dtype)


def _is_traced(x):
    return isinstance(x, Tensor) and x.is_traced


def random_seed_dtype():
    return "uint32"


@contextlib.contextmanager
def device_scope(device_name):
    if not isinstance(device_name, str):
        raise ValueError("Invalid value for argument `device_name`. Expected a string like 'gpu:0' or 'cpu'. "
                         f"Received: device_name='{device_name}'")
    yield  # one device computes everything: tartan.set_device
