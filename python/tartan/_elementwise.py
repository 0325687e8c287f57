# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions. Integer and bool operands of float functions become float32."""

from tartan import _dtypes
from tartan._call import as_float, is_scalar, pair, tensor
from tartan._creation import zeros_like
from tartan._primitives import selected, to
from tartan._rows import ROWS
from tartan._tensor import constant, tile1


def _bool(x):
    return to(tensor(x), _dtypes.bool_)


def _bools(a, b):
    return _bool(a), _bool(b)


def _integers(a, b):
    a, b = pair(a, b)
    if a.dtype in _dtypes.FLOATS:
        raise TypeError(f"bit operations take integers or bools, not {a.dtype}")
    return a, b


def _shifted(a, b):
    a, b = _integers(a, b)
    return (to(a, _dtypes.int32), to(b, _dtypes.int32)) if a.dtype == "bool" else (a, b)


def _float_pair(a, b):
    return pair(a, b, floats=True)


# Type rule → conversion of operands, and what the documentation says of the function.
_OF_ONE = {
    "float": (as_float, "{} of every element, as floats."), "same": (tensor, "{} of every element, in its type."),
    "round": (tensor, "{} of every element, in its type; integers stay."),
    "test": (tensor, "{} of every element, as bool."), "truth": (_bool, "{} of every element, as bool.")}
_OF_TWO = {
    "number": (pair, "{} of elements, in their common type; shapes broadcast."),
    "floats": (_float_pair, "{} of elements, as floats; shapes broadcast."),
    "compare": (pair, "Whether elements are {}; shapes broadcast."), "logic": (_bools, "{} of elements, as bool; shapes broadcast."),
    "bits": (_integers, "{} of integers or bools; shapes broadcast."), "shift": (_shifted, "{} of integers; shapes broadcast.")}


def _unary(row):
    convert, doc = _OF_ONE[row.types]
    keeps_integers = row.types == "round"

    def function(x, /):
        x = convert(x)
        return x if keeps_integers and x.dtype not in _dtypes.FLOATS else row(x)

    return function, doc


def _binary(row):
    convert, doc = _OF_TWO[row.types]

    def function(x1, x2, /):
        return row(*convert(x1, x2))

    return function, doc


for _row in ROWS.values():
    _function, _doc = _unary(_row) if _row.types in _OF_ONE else _binary(_row)
    _function.__name__ = _function.__qualname__ = _row.name
    _function.__doc__ = _doc.format(_row.name)
    globals()[_row.name] = _function


def round(x, /, decimals=0):
    """Rounds to `decimals` decimal places, ties to even."""
    x = tensor(x)
    if decimals == 0:
        return rint(x)  # noqa: F821
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    if x.dtype not in _dtypes.FLOATS:
        if decimals > 0:
            return x
        return to(round(to(x, _dtypes.float64), decimals), x.dtype)
    s = constant(scale, x.dtype)
    text = "round(X * S) / S" if decimals > 0 else "round(X / S) * S"
    return tile1(f"function (X, S) -> (Y) {{ Y = {text}; }}", x, s)


def positive(x, /):
    """Returns x."""
    return tensor(x)


def conj(x, /):
    """Returns complex conjugates; real x is returned unchanged."""
    return tensor(x)


def real(x, /):
    """Returns the real parts; real x is returned unchanged."""
    return tensor(x)


def imag(x, /):
    """Returns the imaginary parts; zeros for real x."""
    return zeros_like(tensor(x))


def bitwise_invert(x, /):
    """Inverts all bits; logical `not` for bool."""
    x = tensor(x)
    if x.dtype in _dtypes.FLOATS:
        raise TypeError(f"bit operations take integers or bools, not {x.dtype}")
    return tile1("function (X) -> (Y) { Y = ~X; }" if x.dtype != "bool" else "function (X) -> (Y) { Y = !X; }", x)


def subtract(x1, x2, /):
    """Returns x1 - x2 in the promoted dtype; shapes broadcast."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        raise TypeError("bools cannot be subtracted: use logical_xor")
    return ROWS["subtract"](a, b)


def power(x1, x2, /):
    """Returns x1 to the power of x2 in the promoted dtype; exact for integers. Shapes broadcast."""
    if is_scalar(x2) and not is_scalar(x1):
        x1 = tensor(x1)
        if x1.dtype in _dtypes.FLOATS or isinstance(x2, int):
            if x2 == 2 and x1.dtype != "bool":
                return square(x1)  # noqa: F821
            if x2 == 0.5 and x1.dtype in _dtypes.FLOATS:
                return sqrt(x1)  # noqa: F821
        if x1.dtype in _dtypes.SIGNED + _dtypes.UNSIGNED and isinstance(x2, int) and x2 < 0:
            raise ValueError("an integer to a negative power is not an integer: convert it to a float first")
    return ROWS["power"](*pair(x1, x2))


pow = power

_FLOOR_INTEGERS = """function (A, B) -> (C) {
  Q = A / B;
  C = B != 0 && Q * B != A && (A < 0) != (B < 0) ? Q - 1 : Q;
}"""
_FLOOR_FLOATS = """function (A, B) -> (C) {
  R = fmod(A, B);
  M = (R < 0) != (B < 0) && R != 0 ? R + B : R;
  Q = (A - M) / B;
  F = floor(Q);
  G = Q - F > 0.5 ? F + 1 : F;
  C = B == 0 || isinf(A) || isinf(B) ? A / B : G == 0 ? A / B * 0 : G;
}"""
_REMAINDER_FLOATS = """function (A, B) -> (C) {
  R = fmod(A, B);
  C = R == 0 ? (B < 0 ? R * R * -1 : R * R) : ((R < 0) == (B < 0) ? R : R + B);
}"""


def quotients(a, b):
    """Returns floor_divide of tensors of one dtype."""
    if a.dtype in _dtypes.FLOATS:
        return tile1(_FLOOR_FLOATS, a, b)
    return tile1(_FLOOR_INTEGERS if a.dtype in _dtypes.SIGNED else "function (A, B) -> (C) { C = A / B; }", a, b)


def remainders(a, b):
    """Returns the remainder of tensors of one dtype."""
    return tile1(_REMAINDER_FLOATS if a.dtype in _dtypes.FLOATS else "function (A, B) -> (C) { C = mod(A, B); }", a, b)


def floor_divide(x1, x2, /):
    """Returns x1 / x2 rounded toward negative infinity; 0 for integer division by 0. Shapes broadcast. For infinite
    floats the result is x1 / x2 itself, as in the array API standard: 5 // -inf is -0.0, while Python and NumPy
    return -1.0."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        a, b = to(a, _dtypes.int8), to(b, _dtypes.int8)
    return quotients(a, b)


def remainder(x1, x2, /):
    """Returns x1 - floor_divide(x1, x2) * x2, with the sign of x2; 0 for integer division by 0."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        a, b = to(a, _dtypes.int8), to(b, _dtypes.int8)
    return remainders(a, b)


def divmod(x1, x2, /):
    """Returns floor_divide and remainder."""
    return floor_divide(x1, x2), remainder(x1, x2)


def where(condition, x1, x2, /):
    """Returns x1 if the condition is nonzero, else x2, in the promoted dtype of x1 and x2; shapes broadcast."""
    condition = _bool(condition)
    a, b = pair(x1, x2)
    return selected(condition, a, b)


def clip(x, /, min=None, max=None):
    """Limits elements to [min, max]; None is no bound. The gradient at a bound is half."""
    x = tensor(x)
    if min is not None:
        x = maximum(x, _bound(min, x))  # noqa: F821
    if max is not None:
        x = minimum(x, _bound(max, x))  # noqa: F821
    return x


def _bound(value, x):
    """Clamps a bound given as a Python number to the range of an integer dtype."""
    if x.dtype in _dtypes.SIGNED + _dtypes.UNSIGNED and isinstance(value, int):
        bits = _dtypes.BITS[x.dtype] - (x.dtype in _dtypes.SIGNED)
        low = -(2**bits) if x.dtype in _dtypes.SIGNED else 0
        return low if value < low else 2**bits - 1 if value > 2**bits - 1 else value
    return value


def nan_to_num(x, /, copy=True, nan=0.0, posinf=None, neginf=None):
    """Replaces NaN and infinities by finite numbers; by default infinities become the largest finite values of the
    dtype."""
    x = tensor(x)
    if x.dtype not in _dtypes.FLOATS:
        return x
    most = float(_dtypes.finfo(x.dtype).max)
    values = [constant(v, x.dtype) for v in (nan, most if posinf is None else posinf,
                                             -most if neginf is None else neginf)]
    return tile1("function (X, A, P, N) -> (Y) { Y = isnan(X) ? A : isinf(X) ? (X > 0 ? P : N) : X; }", x, *values)


def isclose(x1, x2, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Returns |x1 - x2| <= atol + rtol * |x2| elementwise, as bool; shapes broadcast."""
    a, b = pair(x1, x2, floats=True)
    nan = " || isnan(A) && isnan(B)" if equal_nan else ""
    return tile1(f"""function (A, B, R, T) -> (C) {{
      C = A == B || abs(A - B) <= T + R * abs(B) && !isinf(A) && !isinf(B){nan};
    }}""", a, b, constant(rtol, a.dtype), constant(atol, a.dtype))


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__
           and name not in ("quotients", "remainders")]
