# SPDX-License-Identifier: Apache-2.0
"""Functions of the bit representation of floats: signs of zeros and NaN, adjacent representable values."""

from __future__ import annotations

from typing import Any

from tartan import _dtypes
from tartan._call import pair, tensor
from tartan._onnx_types import NUMBERS
from tartan._primitives import to
from tartan._tensor import Tensor, operator, tile1

_INTEGERS = {"float16": _dtypes.int16, "bfloat16": _dtypes.int16, "float32": _dtypes.int32, "float64": _dtypes.int64}


def _bits(x):
    return operator("BitCast", [x], to=NUMBERS[_INTEGERS[str(x.dtype)]])


def _checked(x, name):
    if x.dtype not in _dtypes.FLOATS:
        raise TypeError(f"{name} takes floats, not {x.dtype}")
    return x


def signbit(x: Any, /) -> Tensor:
    """Returns True for elements with the sign bit set, including -0.0 and NaN; bool of the shape of x. TypeError
    unless x has floats."""
    return tile1("function (X) -> (Y) { Y = X < 0; }", _bits(_checked(tensor(x), "signbit")))


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """Returns |x1| with the sign of x2; shapes broadcast. TypeError unless both have floats."""
    a, b = pair(x1, x2)
    text = "function (A, S) -> (Y) { Y = S ? -abs(A) : abs(A); }"
    return tile1(text, _checked(a, "copysign"), signbit(b))


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """Returns the representable value next to x1 in the direction of x2; shapes broadcast. TypeError unless both
    have floats."""
    a, b = pair(x1, x2)
    _checked(a, "nextafter")
    lowest = -(2 ** (_dtypes.BITS[a.dtype] - 1))
    least = f"(B > 0 ? 1 : {lowest + 1})"
    text = f"function (A, B, I, J) -> (Y) {{ Y = A == B ? J : A == 0 ? {least} : ((B > A) == (A > 0) ? I + 1 : I - 1); }}"
    bits = tile1(text, a, b, _bits(a), _bits(b))
    near = operator("BitCast", [to(bits, _INTEGERS[str(a.dtype)])], to=NUMBERS[a.dtype])
    return tile1("function (A, B, N) -> (Y) { Y = isnan(A) || isnan(B) ? A + B : N; }", a, b, near)


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__]
