# SPDX-License-Identifier: Apache-2.0
"""Variables: mutable tensors that captured functions read and write on the device."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tartan import _core, _dtypes, _runtime
from tartan._tensor import MappedError, Tensor, evaluate, from_numpy, state
from tartan._types import _Array, _DType, _ElementType


def _check(value):
    if value._is_mapped:
        raise MappedError("a variable has one value, but a tensor that tartan.vmap maps has one per element: return it "
                          "from the mapped function, and assign the result")


class Variable:
    """A mutable tensor: `v.value` is its value, and `v.assign(x)` sets a value of the same dtype and shape. Captured
    functions keep it on the device and update it in place."""

    __slots__ = ("_tensor", "_memory", "_place", "_is_there", "_shape", "_dtype", "_lock", "_kind", "name",
                 "__weakref__")
    name: str

    def __init__(self, value: _Array, dtype: _DType = None, name: str = "") -> None:
        if not isinstance(value, Tensor):
            array = np.asarray(value)
            if dtype is None and array.dtype == np.float64:
                dtype = _dtypes.float32
            if dtype is not None:
                array = array.astype(_dtypes.numpy_dtype(dtype))
            value = from_numpy(array)
        _check(value)
        self._kind = value._kind  # class of the tensors that it returns
        self._tensor = value  # None while the device has a newer value
        self._memory = None  # device memory bound to captured functions, if any
        self._place = None  # the device of that memory
        self._is_there = False  # whether that memory has the newest value
        self._shape = value.shape
        self._dtype = value.dtype
        self._lock = threading.RLock()
        self.name = name

    def _placeholder(self):
        """Represents the value while a function is captured."""
        return self._kind(_core.Value.placeholder(self.name or "variable", str(self._dtype), list(self._shape)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions, a tuple."""
        return self._shape

    @property
    def dtype(self) -> _ElementType:
        """The element type, a tartan dtype."""
        return self._dtype

    @property
    def value(self) -> Tensor:
        """The current value, as a tensor that later assignments do not change."""
        if state.trace is not None:
            return state.trace.read(self)
        return self.held()

    def held(self) -> Tensor:
        with self._lock:
            if self._tensor is None:
                _runtime.check_process()
                host = self._memory.to_host()
                self._tensor = self._kind(_core.Value.leaf(host))
                self._tensor._host = host
            return self._tensor

    def assign(self, value: _Array) -> Tensor:
        """Sets the value. ValueError for another dtype or shape; MappedError for a tensor mapped by tartan.vmap."""
        if not isinstance(value, Tensor):
            value = from_numpy(np.asarray(value).astype(_dtypes.numpy_dtype(self._dtype)))
        _check(value)
        value = self._kind._of(value)
        if value.shape != self._shape or value.dtype != self._dtype:
            raise ValueError(
                f"the variable '{self.name}' is {self._dtype}{list(self._shape)}, but the assigned value is "
                f"{value.dtype}{list(value.shape)}")
        if state.trace is not None:
            state.trace.write(self, value)
            return value
        with self._lock:
            self._tensor = value
            self._is_there = False
        return value

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns the value as a NumPy array."""
        return self.value.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.value.__array__(dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Applies the ufunc to the value."""
        return getattr(ufunc, method)(*[x.value if isinstance(x, Variable) else x for x in inputs], **kwargs)

    def __copy__(self) -> Variable:
        """Returns another variable with the same value."""
        return type(self)(self.value, name=self.name)

    def __deepcopy__(self, memo: Any) -> Variable:
        copied = memo[id(self)] = self.__copy__()
        return copied

    def __reduce__(self) -> Any:
        return type(self), (self.value, None, self.name)

    def __repr__(self):
        return f"<tartan.Variable '{self.name}' {self._dtype}{list(self._shape)}>"

    # --- For captured functions.

    def on_device(self) -> Any:
        """Returns the memory on the device with the current value."""
        return self.memory_on(_runtime.device())

    def memory_on(self, device: Any) -> Any:
        """The same for the current device. A step asks each of hundreds of variables."""
        if self._is_there and self._place is device:
            return self._memory
        with self._lock:
            if self._is_there and self._place is device:
                return self._memory
            tensor = self.held()
            evaluate(tensor)
            if self._place is device:
                self._memory.assign(tensor._host)
            else:
                self._memory = _core.DeviceTensor.from_host(device, tensor._host)
                self._place = device
            self._is_there = True
            return self._memory

    def move_to(self, memory: Any, device: Any) -> None:
        """Uses other memory on the device from now on, and copies the value to it."""
        with self._lock:
            tensor = self.held()
            evaluate(tensor)
            memory.assign(tensor._host)
            self._memory, self._place, self._is_there = memory, device, True

    def changed_on_device(self) -> None:
        with self._lock:
            self._tensor = None
