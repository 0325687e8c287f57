# SPDX-License-Identifier: Apache-2.0
"""Values that clients of onnxruntime bind to the inputs and outputs of a session."""

import ctypes

import numpy as np

from tartan import _dtypes
from tartan._onnx_types import BY_NUMBER
from tartan._tensor import Tensor

# Names that a model's inputs have for elements, where they differ from NumPy's.
_ELEMENTS = {"float32": "float", "float64": "double", "object": "string", "str": "string"}


def type_text(dtype):
    """"tensor(float)" for a type of NumPy or of this package."""
    name = str(dtype)
    return f"tensor({_ELEMENTS.get(name, 'string' if name.startswith('<U') else name)})"


def _checked_place(device_type, device_id=0):
    if str(device_type).lower() not in ("cpu", "cuda", "gpu", "dml", "opencl"):
        raise ValueError(f"there is no device '{device_type}': cpu or gpu")


def _element_type(element):
    """NumPy's type for one of NumPy or a number of ONNX."""
    return _dtypes.numpy_dtype(BY_NUMBER[element]) if isinstance(element, int) else np.dtype(element)


def _memory(device_type, element_type, shape, pointer):
    """An array over memory that somebody else keeps."""
    if str(device_type).lower() != "cpu":
        raise NotImplementedError(f"memory of '{device_type}' by its address: give an array or a tensor of tartan")
    dtype = _element_type(element_type)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    buffer = (ctypes.c_uint8 * size).from_address(int(pointer))
    return np.frombuffer(buffer, np.uint8).view(dtype).reshape(tuple(shape))


class OrtValue:
    """A value of a model: an array of the host or a tensor of this package, which is not copied; a list for a sequence.
    Made by `ortvalue_from_numpy` and `ortvalue_from_shape_and_type`, and given by `run_with_ort_values`."""

    __slots__ = ("_value",)

    def __init__(self, value):
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj, device_type="cpu", device_id=0):
        """A copy of an array. `device_type` is "cpu" or a GPU's; the session's device decides."""
        _checked_place(device_type)
        return OrtValue(np.array(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        """Zeros of a type of NumPy, or of a number of ONNX."""
        _checked_place(device_type)
        return OrtValue(np.zeros(tuple(shape), _element_type(element_type)))

    def numpy(self):
        """The value as an array of NumPy."""
        return self._value.numpy() if isinstance(self._value, Tensor) else self._value

    def update_inplace(self, np_arr):
        """Copies an array of the same type and shape into this value. ValueError for another."""
        array = np.asarray(np_arr)
        if list(array.shape) != self.shape() or type_text(array.dtype) != self.data_type():
            raise ValueError(f"{type_text(array.dtype)}{list(array.shape)} for a value {self.data_type()}{self.shape()}")
        if isinstance(self._value, Tensor):
            self._value = self._value.numpy().copy()
        np.copyto(self._value, array)

    def shape(self):
        return list(self._value.shape)

    def data_type(self):
        """The type as onnxruntime writes it: "tensor(float)"; "seq" for a sequence."""
        return "seq" if isinstance(self._value, list) else type_text(self._value.dtype)

    def device_name(self):
        return "cpu"

    def has_value(self):
        return self._value is not None

    def is_tensor(self):
        return hasattr(self._value, "dtype")

    def is_tensor_sequence(self):
        return isinstance(self._value, list)

    def is_sparse_tensor(self):
        return False

    def data_ptr(self):
        """The address of the array."""
        return self.numpy().__array_interface__["data"][0]

    def tensor_size_in_bytes(self):
        return self.numpy().nbytes

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __dlpack__(self, **options):
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self):
        return self.numpy().__dlpack_device__()


class IOBinding:
    """Inputs and outputs that are bound to memory, for `run_with_iobinding`."""

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._outputs = {}
        self._results = []

    def bind_cpu_input(self, name, arr_on_cpu):
        """An input's value: an array, which is read when the session runs."""
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name, device_type, device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """An input's value: in place of `device_type` a tensor of this package or anything that NumPy takes for an array; or
        memory of "cpu" at an address."""
        if buffer_ptr is not None:
            device_type = _memory(device_type, element_type, shape, buffer_ptr)
        elif isinstance(device_type, str):
            raise ValueError(f"input '{name}' is bound to '{device_type}' without an address of its memory")
        self._inputs[name] = device_type

    def bind_ortvalue_input(self, name, ortvalue):
        """An input's value."""
        self._inputs[name] = ortvalue

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """An output that `get_outputs` gives; one that is written into memory of "cpu" at an address, or into an array,
        which is given in place of `device_type`."""
        target = device_type if isinstance(device_type, np.ndarray) else None
        if buffer_ptr is not None:
            target = _memory(device_type, element_type, shape, buffer_ptr)
        elif target is None:
            _checked_place("cpu" if device_type is None else device_type)
        self._outputs[name] = target

    def bind_ortvalue_output(self, name, ortvalue):
        """An output that is written into a value of the same type and shape."""
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()

    def synchronize_inputs(self):
        """Does nothing: a run waits for its inputs."""

    def synchronize_outputs(self):
        """Does nothing: a run ends when its outputs are there."""

    def get_outputs(self):
        """The outputs of the last run, tensors of this package among them, in the order in which they were bound."""
        return [OrtValue(result) for result in self._results]

    def copy_outputs_to_cpu(self):
        """The same as arrays of NumPy."""
        return [np.array(r.numpy()) if isinstance(r, Tensor) else r for r in self._results]

    def _take(self, results):
        """The outputs of a run, in the order of the model where none was bound."""
        self._results = results
        for target, result in zip(self._outputs.values(), results):
            if isinstance(target, OrtValue):
                target.update_inplace(result.numpy())
            elif target is not None:
                np.copyto(target, result.numpy())
