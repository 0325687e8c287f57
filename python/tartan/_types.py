# SPDX-License-Identifier: Apache-2.0
"""Names of types in signatures. The stub __init__.pyi defines them precisely, for type checkers."""

from typing import Any, TypeVar

from tartan._core import Device as _Device  # noqa: F401
from tartan._dtypes import DType as _ElementType  # noqa: F401

_R = TypeVar("_R")
_Array = Any  # whatever converts to a tensor
_DType = Any  # a tartan dtype, its name, a type of Python or NumPy, or None
_Shape = Any  # a size, or a sequence of sizes
_Axis = Any  # an axis, a tuple of axes, or None for all
