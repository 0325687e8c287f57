# SPDX-License-Identifier: Apache-2.0
"""Inspection functions of the array API standard."""

from __future__ import annotations

import math
from typing import Any

from tartan import _dtypes, _runtime
from tartan._call import broadcast_shapes, is_scalar
from tartan._call import tensor as _tensor

VERSIONS = ("2022.12", "2023.12", "2024.12")
__array_api_version__ = "2024.12"

e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

_COMPLEX = (_dtypes.complex64, _dtypes.complex128)
_KINDS = {
    "bool": ("bool",), "signed integer": _dtypes.SIGNED, "unsigned integer": _dtypes.UNSIGNED,
    "integral": _dtypes.SIGNED + _dtypes.UNSIGNED, "real floating": _dtypes.FLOATS, "complex floating": _COMPLEX,
    "numeric": _dtypes.SIGNED + _dtypes.UNSIGNED + _dtypes.FLOATS + _COMPLEX}


def _dtype_of(x):
    return x.dtype if hasattr(x, "dtype") and not isinstance(x, str) else _dtypes.as_dtype(x)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Returns True if a dtype equals another dtype, is of a kind ('bool', 'signed integer', 'unsigned integer',
    'integral', 'real floating', 'complex floating', 'numeric'), or matches an entry of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    dtype = _dtypes.as_dtype(dtype)
    if not isinstance(kind, _dtypes.DType) and isinstance(kind, str) and kind in _KINDS:
        return dtype in _KINDS[kind]
    if isinstance(kind, str) and kind not in _dtypes.ALL:
        raise ValueError(f"unknown kind of types {kind!r}; the kinds are {', '.join(_KINDS)}")
    return dtype == _dtypes.as_dtype(kind)


def result_type(*arrays_and_dtypes: Any) -> _dtypes.DType:
    """Returns the promoted dtype of tensors, dtypes and Python numbers, which yield."""
    strong = [_dtype_of(x) for x in arrays_and_dtypes if not is_scalar(x)]
    scalars = [x for x in arrays_and_dtypes if is_scalar(x)]
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    result = strong[0] if strong else _tensor(scalars[0]).dtype
    for dtype in strong[1:]:
        result = _dtypes.promote(result, dtype)
    for x in scalars:
        result = _dtypes.promote_scalar(result, x)
    return result


def can_cast(from_: Any, to: Any, /) -> bool:
    """Returns True if promotion converts the first dtype to the second."""
    first, to = _dtype_of(from_), _dtypes.as_dtype(to)
    if first == to:
        return True
    families = [k for k in ("bool", "integral", "real floating") if first in _KINDS[k] or to in _KINDS[k]]
    return len(families) == 1 and _dtypes.promote(first, to) == to


class _Info:
    """Types, devices and capabilities of the package."""

    def capabilities(self) -> dict:
        """Returns the capabilities. Boolean masks need known values; shapes never depend on values inside captured
        functions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        return _runtime.device().info["name"]

    def default_dtypes(self, *, device: Any = None) -> dict:
        return {"real floating": _dtypes.float32, "complex floating": _dtypes.complex64, "integral": _dtypes.int32,
                "indexing": _dtypes.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict:
        kinds = (kind,) if isinstance(kind, str) else kind
        return {str(d): d for d in (*_dtypes.ALL.values(), *_COMPLEX)
                if d not in ("float16", "bfloat16") and (kinds is None or any(d in _KINDS[k] for k in kinds))}

    def devices(self) -> list:
        return [self.default_device()]


def __array_namespace_info__() -> _Info:
    """Returns an object that describes dtypes, devices and capabilities."""
    return _Info()


__all__ = ["e", "pi", "inf", "nan", "newaxis", "isdtype", "result_type", "can_cast", "__array_namespace_info__",
           "__array_api_version__", "broadcast_shapes"]
