# SPDX-License-Identifier: Apache-2.0
"""OrtValue and IOBinding: values that clients of onnxruntime bind to the inputs and outputs of a session."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tartan import _dtypes
from tartan._onnx_types import BY_NUMBER
from tartan._tensor import Tensor

# ONNX element names that differ from NumPy's.
_ELEMENTS = {"float32": "float", "float64": "double", "object": "string", "str": "string"}


def type_text(dtype):
    """Returns the ONNX type text, such as "tensor(float)", of a NumPy or tartan dtype."""
    name = str(dtype)
    return f"tensor({_ELEMENTS.get(name, 'string' if name.startswith('<U') else name)})"


def _checked_place(device_type, device_id=0):
    if str(device_type).lower() not in ("cpu", "cuda", "gpu", "dml", "opencl"):
        raise ValueError(f"unknown device '{device_type}'; expected cpu or gpu")


def _element_type(element):
    """Returns the NumPy dtype for a NumPy dtype or an ONNX element type number."""
    return _dtypes.numpy_dtype(BY_NUMBER[element]) if isinstance(element, int) else np.dtype(element)


def _memory(device_type, element_type, shape, pointer):
    """Returns an array over memory that the caller owns."""
    if str(device_type).lower() != "cpu":
        raise NotImplementedError(f"memory of '{device_type}' cannot be bound by its address: give an array or a tensor of tartan")
    dtype = _element_type(element_type)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    buffer = (ctypes.c_uint8 * size).from_address(int(pointer))
    return np.frombuffer(buffer, np.uint8).view(dtype).reshape(tuple(shape))


class OrtValue:
    """A value of a model: a NumPy array, a tensor of this package (not copied), or a list for an ONNX sequence.
    Created by `ortvalue_from_numpy`, `ortvalue_from_shape_and_type` and `run_with_ort_values`."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Returns an OrtValue with a copy of an array. `device_type` is accepted but ignored: the session decides
        the device."""
        _checked_place(device_type)
        return OrtValue(np.array(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any, device_type: str = "cpu",
                                     device_id: int = 0) -> OrtValue:
        """Returns an OrtValue of zeros. `element_type` is a NumPy dtype or an ONNX element type number."""
        _checked_place(device_type)
        return OrtValue(np.zeros(tuple(shape), _element_type(element_type)))

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns the value as a NumPy array."""
        return self._value.numpy() if isinstance(self._value, Tensor) else self._value

    def update_inplace(self, np_arr: Any) -> None:
        """Copies an array of the same dtype and shape into this value. ValueError for another dtype or shape."""
        array = np.asarray(np_arr)
        if list(array.shape) != self.shape() or type_text(array.dtype) != self.data_type():
            raise ValueError(f"{type_text(array.dtype)}{list(array.shape)} cannot update a value {self.data_type()}{self.shape()}")
        if isinstance(self._value, Tensor):
            self._value = self._value.numpy().copy()
        np.copyto(self._value, array)

    def shape(self) -> list[int]:
        """Returns the shape as a list."""
        return list(self._value.shape)

    def data_type(self) -> str:
        """Returns the type as onnxruntime writes it, for example "tensor(float)", or "seq" for a sequence."""
        return "seq" if isinstance(self._value, list) else type_text(self._value.dtype)

    def device_name(self) -> str:
        """Returns "cpu": values are accessible on the host."""
        return "cpu"

    def has_value(self) -> bool:
        """Returns True unless the value is None."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Returns True if the value is a tensor or an array."""
        return hasattr(self._value, "dtype")

    def is_tensor_sequence(self) -> bool:
        """Returns True if the value is a sequence."""
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        """Returns False: sparse tensors are not supported."""
        return False

    def data_ptr(self) -> int:
        """Returns the address of the array."""
        return self.numpy().__array_interface__["data"][0]

    def tensor_size_in_bytes(self) -> int:
        """Returns the number of bytes of the tensor."""
        return self.numpy().nbytes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()


class IOBinding:
    """Inputs and outputs bound to memory, for `run_with_iobinding`."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs = {}
        self._outputs = {}
        self._results = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an input to an array, which is read when the session runs."""
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: Any, device_id: int = 0, element_type: Any = None,
                   shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Binds an input to an array, a tensor of this package or any array-like, given as `device_type`; or to
        "cpu" memory at the address `buffer_ptr`."""
        if buffer_ptr is not None:
            device_type = _memory(device_type, element_type, shape, buffer_ptr)
        elif isinstance(device_type, str):
            raise ValueError(f"input '{name}' is bound to '{device_type}' without an address of its memory")
        self._inputs[name] = device_type

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an input to an OrtValue."""
        self._inputs[name] = ortvalue

    def bind_output(self, name: str, device_type: Any = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Binds an output. By default `get_outputs` returns it. With `buffer_ptr` it is written to "cpu" memory at
        that address; an array given as `device_type` is written in place."""
        target = device_type if isinstance(device_type, np.ndarray) else None
        if buffer_ptr is not None:
            target = _memory(device_type, element_type, shape, buffer_ptr)
        elif target is None:
            _checked_place("cpu" if device_type is None else device_type)
        self._outputs[name] = target

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an output to an OrtValue of the same type and shape, which is overwritten."""
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self) -> None:
        """Removes all bound inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Removes all bound outputs."""
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Does nothing, because a run waits for its inputs."""

    def synchronize_outputs(self) -> None:
        """Does nothing, because a run returns after its outputs are complete."""

    def get_outputs(self) -> list[OrtValue]:
        """Returns the outputs of the last run in binding order, as OrtValues."""
        return [OrtValue(result) for result in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Returns the outputs of the last run as NumPy arrays."""
        return [np.array(r.numpy()) if isinstance(r, Tensor) else r for r in self._results]

    def _take(self, results):
        """Stores the outputs of a run, in the model's order if none was bound."""
        self._results = results
        for target, result in zip(self._outputs.values(), results):
            if isinstance(target, OrtValue):
                target.update_inplace(result.numpy())
            elif target is not None:
                np.copyto(target, result.numpy())
