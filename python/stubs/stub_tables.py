# SPDX-License-Identifier: Apache-2.0
"""Tables of write_stubs.py: types that functions do not name, and the text of the stubs that is written by hand."""

# --- Types by the name of a parameter, a function or an attribute. `| None` is added for the default None.

PARAMETERS = {
    **dict.fromkeys("x x1 x2 key p logits data indices fill_value repeats condition constant_values minval maxval start "
                    "stop value arrays operands min max prepend append sorter".split(), "_Array"),
    **dict.fromkeys("n k num seed n_rows n_cols offset decimals axis1 axis2 num_classes length".split(), "int"),
    **dict.fromkeys("position digits depth".split(), "int"),
    **dict.fromkeys("step d atol correction nan posinf neginf".split(), "float"),
    **dict.fromkeys("indices_or_sections shift source destination argnums".split(), "int | Sequence[int]"),
    **dict.fromkeys("axes s".split(), "Sequence[int]"),
    **dict.fromkeys("device api_version method spec subscripts".split(), "str"),
    **dict.fromkeys("real imag loss tensors".split(), "Tensor"),
    "axis": "_Axis", "copy": "_bool", "dtype": "_DType", "f": "Callable[..., Any]", "ord": "int | float | str",
    "pad_width": "int | Sequence[Any]", "shape": "_Shape", "shapes": "tuple[int, ...]", "to": "_DType",
    "wrt": "Sequence[Tensor]",
}
ALIASES = {"Axis": "_Axis", "_dtypes.DType": "_ElementType", "DType": "_ElementType", "Callable": "Callable[..., Any]"}
# Modules and classes for which the tables refine `Any`.
WITH_TABLES = {"", "fft", "linalg", "random", "Tensor", "ComplexTensor"}
INCLUDE_NONE = {"_Axis", "_DType", "Any"}
OF_FUNCTIONS = {  # parameters for which the table above does not hold
    **dict.fromkeys([f"{f}.axis" for f in "argmax argmin cumprod cumsum cumulative_prod cumulative_sum repeat take concat "
                     "concatenate".split()], "int | None"),
    **dict.fromkeys([f"{f}.arrays" for f in "concat concatenate stack".split()], "Sequence[_Array]"),
    **dict.fromkeys([f"{f}.dtype" for f in "finfo iinfo isdtype Tensor.__array__ ComplexTensor.__array__".split()], "Any"),
    **dict.fromkeys(["linalg.matrix_rank.rtol", "linalg.pinv.rtol"], "_Array | None"),
    **dict.fromkeys(["array.obj", "asarray.obj", "stop_gradient.x", "cond.operands", "Tensor.__init__.value"], "Any"),
    **dict.fromkeys([f"fft.{f}.axes" for f in "fftshift ifftshift".split()], "int | Sequence[int] | None"),
    **dict.fromkeys(["random.randint.minval", "random.randint.maxval"], "int"),
    "arange.start": "float", "linalg.matrix_norm.ord": "int | float | str | None",
    "arange.stop": "float | None", "expand_dims.axis": "int | Sequence[int]",
    "gradients.seed": "Tensor | None", "linalg.vector_norm.ord": "float", "permute_dims.axes": "Sequence[int]",
    "tensordot.axes": "int | Sequence[Any]", "__array_namespace_info__.device": "Any", 
    "jacobian.argnums": "Any", "ComplexTensor.reshape.shape": "Any", "Tensor.reshape.shape": "Any",
}
RETURNS = {
    **dict.fromkeys("gradients array_split broadcast_arrays meshgrid split".split(), "list[Tensor]"),
    **dict.fromkeys("can_cast isdtype".split(), "_bool"),
    **dict.fromkeys("divmod top_k".split(), "tuple[Tensor, Tensor]"),
    **dict.fromkeys("nonzero unstack".split(), "tuple[Tensor, ...]"),
    **dict.fromkeys("finfo iinfo fft.fftshift fft.ifftshift".split(), "Any"),
    **dict.fromkeys([f"fft.{f}" for f in "fft ifft rfft ihfft fftn ifftn rfftn".split()], "ComplexTensor"),
    **{f"linalg.{f}": f"{r}Result" for f, r in [("eigh", "Eigh"), ("qr", "QR"), ("slogdet", "Slogdet"), ("svd", "SVD")]},
    "unique_all": "UniqueAll", "unique_counts": "UniqueCounts", "unique_inverse": "UniqueInverse",
    "__array_namespace_info__": "_Info", "broadcast_shapes": "tuple[int, ...]", "evaluate": "None",
    "recording": "AbstractContextManager[None]", "result_type": "_ElementType",
    "grad": "Callable[..., Any]", "value_and_grad": "Callable[..., tuple[Any, Any]]", "random.split": "Tensor",
}
# Members of the tensor classes; `Self` is the class.
MEMBERS = {
    **dict.fromkeys("__array__ numpy".split(), "np.ndarray[Any, Any]"),
    **dict.fromkeys("__array_function__ __array_namespace__ __array_ufunc__ __dlpack__ __reduce__ item tolist".split(), "Any"),
    **dict.fromkeys("__init__ __setitem__".split(), "None"),
    **dict.fromkeys("__bool__ is_traced".split(), "_bool"),
    **dict.fromkeys("__hash__ __index__ __int__ __len__ ndim size __array_priority__".split(), "int"),
    **dict.fromkeys("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __abs__ all any real imag".split(), "Tensor"),
    **dict.fromkeys("__divmod__ __rdivmod__".split(), "tuple[Self, Self]"),
    "__complex__": "complex", "__dlpack_device__": "tuple[int, int]", "__float__": "float", "__format__": "str",
    "__iter__": "Iterator[Self]", "at": "_At", "device": "str", "dtype": "_ElementType", "host": "_HostTensor",
    "shape": "tuple[int, ...]",
}
# Methods made in a loop, with the parameters of the functions of the same names.
MADE = set("sum prod mean var std min max any all argmin argmax transpose squeeze clip round".split())

# --- Text written by hand: imports, aliases, and functions with several signatures.

HEADERS = {
    "tartan": '''
# Written by python/stubs/write_stubs.py.
from builtins import bool as _bool
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, overload

import numpy as np

from tartan import distributed as distributed
from tartan import fft as fft
from tartan import inference as inference
from tartan import linalg as linalg
from tartan import random as random
from tartan._core import Device as _Device
from tartan._core import HostTensor as _HostTensor
{of_inference}

_R = TypeVar("_R")

class _ElementType(str):
    """The name of an element type."""

class _Exported(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

# Argument types: tensors, dtypes, shapes, axes.
_Array = Tensor | ComplexTensor | Variable | np.ndarray[Any, Any] | np.generic | _Exported | complex | Sequence[Any]
_DType = _ElementType | str | type[Any] | np.dtype[Any] | None
_Shape = int | Sequence[int] | Tensor | np.ndarray[Any, Any]
_Axis = int | tuple[int, ...] | None

class _Place:
    """Elements to be read or updated functionally."""

    def get(self) -> Tensor: ...
    def set(self, value: _Array) -> Tensor: ...
    def add(self, value: _Array) -> Tensor: ...
    def multiply(self, value: _Array) -> Tensor: ...
    def divide(self, value: _Array) -> Tensor: ...
    def min(self, value: _Array) -> Tensor: ...
    def max(self, value: _Array) -> Tensor: ...

class _At:
    def __getitem__(self, index: Any) -> _Place: ...

class _Info:
    def capabilities(self) -> dict[str, Any]: ...
    def default_device(self) -> str: ...
    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]: ...
    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]: ...
    def devices(self) -> list[str]: ...

@overload
def function(f: Callable[..., _R], *, name: str | None = None) -> Function[_R]: ...
@overload
def function(f: None = None, *, name: str | None = None) -> Callable[[Callable[..., _R]], Function[_R]]: ...
@overload
def tile(x: str, /, *, name: str = "") -> Callable[..., Any]: ...
@overload
def tile(x: str, first: Tensor, /, *rest: Tensor, name: str = "") -> list[Tensor]: ...
@overload
def tile(x: _Array, repetitions: _Shape, /) -> Tensor: ...
@overload
def operator(
    name: str, inputs: Sequence[Tensor | None], outputs: Literal[1] = 1, domain: str = "", opset: int = 0,
    **attributes: Any) -> Tensor: ...
@overload
def operator(
    name: str, inputs: Sequence[Tensor | None], outputs: int, domain: str = "", opset: int = 0,
    **attributes: Any) -> list[Tensor]: ...
def value_and_grad(
    f: Callable[..., _R], argnums: int | Sequence[int] = 0, has_aux: _bool = False) -> Callable[..., tuple[_R, Any]]: ...

# The stubs omit that complex arguments give complex results.
''',
    "tartan.fft": '''
# Written by python/stubs/write_stubs.py.
from collections.abc import Sequence
from typing import Any

from tartan import ComplexTensor, Tensor, _Array, _DType

''',
    "tartan.linalg": '''
# Written by python/stubs/write_stubs.py.
from builtins import bool as _bool
from collections.abc import Sequence
from typing import Any, NamedTuple

from tartan import Tensor, _Array, _Axis, _DType
{of_tartan}

''',
    "tartan.random": '''
# Written by python/stubs/write_stubs.py.
from tartan import Tensor, _Array, _DType, _Shape

''',
    "tartan.inference": '''
# Written by python/stubs/write_stubs.py.
import dataclasses
import enum
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

''',
    "tartan.distributed": '''
# Written by python/stubs/write_stubs.py.
from tartan import Tensor, _Array, _DType

''',
    "tartan.keras": "# Written by python/stubs/write_stubs.py.\n",
    "tartan.onnx_backend": '''
# Written by python/stubs/write_stubs.py.
from collections.abc import Mapping, Sequence
from typing import Any

from tartan.inference import InferenceSession

''',
    "tartan.train": '''
# Written by python/stubs/write_stubs.py.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

''',
}
GENERIC = {"Function": "Generic[_R]", "ConcretizationError": "RuntimeError", "MappedError": "ConcretizationError"}
CONSTANTS = {"bool": "_ElementType", "newaxis": "None"}
