# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions. Integer and bool operands of float functions become float32."""

import functools

from tartan import _dtypes
from tartan._call import as_float, is_scalar, pair, tensor, to
from tartan._tensor import constant, tile1

_FLOAT_TEXTS = {
    "acos": "acos(X)", "acosh": "acosh(X)", "asin": "asin(X)", "asinh": "asinh(X)", "atan": "atan(X)",
    "atanh": "atanh(X)", "cos": "cos(X)", "cosh": "cosh(X)", "sin": "sin(X)", "sinh": "sinh(X)",
    "tan": "tan(X)", "tanh": "tanh(X)", "exp": "exp(X)", "expm1": "expm1(X)", "log": "log(X)",
    "log1p": "log1p(X)", "sqrt": "sqrt(X)", "erf": "erf(X)", "rsqrt": "recip(sqrt(X))",
    "log2": "log(X) * 1.4426950408889634", "log10": "log(X) * 0.4342944819032518",
    "exp2": "exp(X * 0.6931471805599453)", "sigmoid": "sigmoid(X)",
    "deg2rad": "X * 0.017453292519943295", "rad2deg": "X * 57.29577951308232", "reciprocal": "recip(X)",
    "angle": "isnan(X) ? X : X < 0 ? sign(X) * -3.141592653589793 : sign(X) * 0.0", "fabs": "abs(X)",
    "cbrt": "X == 0 ? X : sign(X) * pow(abs(X), 0.3333333333333333)",
}
_SAME_TEXTS = {"abs": "abs(X)", "negative": "-X", "sign": "sign(X)", "square": "X * X"}
_ROUND_TEXTS = {"ceil": "ceil(X)", "floor": "floor(X)", "trunc": "trunc(X)", "rint": "round(X)"}
_TEST_TEXTS = {
    "isnan": "isnan(X)", "isinf": "isinf(X)", "isfinite": "!(isnan(X) || isinf(X))",
    "isposinf": "isinf(X) && X > 0", "isneginf": "isinf(X) && X < 0", "logical_not": "!X",
}
_NUMBER_TEXTS = {
    "add": "A + B", "multiply": "A * B", "maximum": "max(A, B)", "minimum": "min(A, B)",
    "fmax": "isnan(A) ? B : isnan(B) ? A : max(A, B)", "fmin": "isnan(A) ? B : isnan(B) ? A : min(A, B)",
    "fmod": "fmod(A, B)",
}
_FLOATS_TEXTS = {"divide": "A / B", "atan2": "atan2(A, B)", "float_power": "pow(A, B)",
                 "heaviside": "isnan(A) ? A : A == 0 ? B : A > 0 ? 1.0 : 0.0"}
_COMPARE_TEXTS = {"equal": "A == B", "not_equal": "A != B", "less": "A < B", "less_equal": "A <= B",
                  "greater": "A > B", "greater_equal": "A >= B"}
_LOGIC_TEXTS = {"logical_and": "A && B", "logical_or": "A || B", "logical_xor": "A != B"}
_BIT_TEXTS = {"bitwise_and": "A & B", "bitwise_or": "A | B", "bitwise_xor": "A ^ B"}
_SHIFT_TEXTS = {"bitwise_left_shift": "A << B", "bitwise_right_shift": "A >> B"}


def _unary(name, expression, convert, doc):
    text = f"function (X) -> (Y) {{ Y = {expression}; }}"

    def function(x, /):
        return tile1(text, convert(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    globals()[name] = function


def _binary(name, expression, convert, doc):
    text = f"function (A, B) -> (C) {{ C = {expression}; }}"

    def function(x1, x2, /):
        a, b = convert(x1, x2)
        return tile1(text, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    globals()[name] = function


def _bools(a, b):
    return to(tensor(a), _dtypes.bool_), to(tensor(b), _dtypes.bool_)


def _integers(a, b):
    a, b = pair(a, b)
    if a.dtype in _dtypes.FLOATS:
        raise TypeError(f"bits are those of integers or bools, not of {a.dtype}")
    return a, b


def _shifted(a, b):
    a, b = _integers(a, b)
    return (to(a, _dtypes.int32), to(b, _dtypes.int32)) if a.dtype == "bool" else (a, b)


for _name, _text in _FLOAT_TEXTS.items():
    _unary(_name, _text, as_float, f"{_name} of every element, as floats.")
for _name, _text in _SAME_TEXTS.items():
    _unary(_name, _text, tensor, f"{_name} of every element, in its type.")
for _name, _text in _TEST_TEXTS.items():
    _unary(_name, _text, tensor, f"{_name} of every element, as bool.")
for _name, _text in _NUMBER_TEXTS.items():
    _binary(_name, _text, pair, f"{_name} of elements, in their common type; shapes broadcast.")
for _name, _text in _FLOATS_TEXTS.items():
    _binary(_name, _text, functools.partial(pair, floats=True), f"{_name} of elements, as floats; shapes broadcast.")
for _name, _text in _COMPARE_TEXTS.items():
    _binary(_name, _text, pair, f"Whether elements are {_name}; shapes broadcast.")
for _name, _text in _LOGIC_TEXTS.items():
    _binary(_name, _text, _bools, f"{_name} of elements, as bool; shapes broadcast.")
for _name, _text in _BIT_TEXTS.items():
    _binary(_name, _text, _integers, f"{_name} of integers or bools; shapes broadcast.")
for _name, _text in _SHIFT_TEXTS.items():
    _binary(_name, _text, _shifted, f"{_name} of integers; shapes broadcast.")


def _rounding(name, expression):
    text = f"function (X) -> (Y) {{ Y = {expression}; }}"

    def function(x, /):
        x = tensor(x)
        return tile1(text, x) if x.dtype in _dtypes.FLOATS else x

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of every element, in its type; integers stay."
    globals()[name] = function


for _name, _text in _ROUND_TEXTS.items():
    _rounding(_name, _text)


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
    from tartan._creation import zeros_like

    return zeros_like(tensor(x))


def bitwise_invert(x, /):
    """Inverts all bits; logical `not` for bool."""
    x = tensor(x)
    if x.dtype in _dtypes.FLOATS:
        raise TypeError(f"bits are those of integers or bools, not of {x.dtype}")
    return tile1("function (X) -> (Y) { Y = ~X; }" if x.dtype != "bool" else "function (X) -> (Y) { Y = !X; }", x)


def subtract(x1, x2, /):
    """Returns x1 - x2 in the promoted dtype; shapes broadcast."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        raise TypeError("bools are not subtracted: use logical_xor")
    return tile1("function (A, B) -> (C) { C = A - B; }", a, b)


_SQUARE = "function (X) -> (Y) { Y = X * X; }"
_POWER = "function (A, B) -> (C) { C = pow(A, B); }"


def power(x1, x2, /):
    """Returns x1 to the power of x2 in the promoted dtype; exact for integers. Shapes broadcast."""
    if is_scalar(x2) and not is_scalar(x1):
        x1 = tensor(x1)
        if x1.dtype in _dtypes.FLOATS or isinstance(x2, int):
            if x2 == 2 and x1.dtype != "bool":
                return tile1(_SQUARE, x1)
            if x2 == 0.5 and x1.dtype in _dtypes.FLOATS:
                return tile1("function (X) -> (Y) { Y = sqrt(X); }", x1)
        if x1.dtype in _dtypes.SIGNED + _dtypes.UNSIGNED and isinstance(x2, int) and x2 < 0:
            raise ValueError("integers to negative powers are no integers: make them floats")
    return tile1(_POWER, *pair(x1, x2))


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


def floor_divide(x1, x2, /):
    """Returns x1 / x2 rounded toward negative infinity; 0 for integer division by 0. Shapes broadcast. For infinite
    floats the result is x1 / x2 itself, as in the array API standard: 5 // -inf is -0.0, while Python and NumPy
    return -1.0."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        a, b = to(a, _dtypes.int8), to(b, _dtypes.int8)
    if a.dtype in _dtypes.FLOATS:
        return tile1(_FLOOR_FLOATS, a, b)
    return tile1(_FLOOR_INTEGERS if a.dtype in _dtypes.SIGNED else "function (A, B) -> (C) { C = A / B; }", a, b)


def remainder(x1, x2, /):
    """Returns x1 - floor_divide(x1, x2) * x2, with the sign of x2; 0 for integer division by 0."""
    a, b = pair(x1, x2)
    if a.dtype == "bool":
        a, b = to(a, _dtypes.int8), to(b, _dtypes.int8)
    return tile1(_REMAINDER_FLOATS if a.dtype in _dtypes.FLOATS else "function (A, B) -> (C) { C = mod(A, B); }", a, b)


def divmod(x1, x2, /):
    """Returns floor_divide and remainder."""
    return floor_divide(x1, x2), remainder(x1, x2)


def where(condition, x1, x2, /):
    """Returns x1 if the condition is nonzero, else x2, in the promoted dtype of x1 and x2; shapes broadcast."""
    condition = to(tensor(condition), _dtypes.bool_)
    a, b = pair(x1, x2)
    return tile1("function (P, A, B) -> (C) { C = P ? A : B; }", condition, a, b)


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


def logaddexp(x1, x2, /):
    """Returns log(exp(x1) + exp(x2)) without overflow; shapes broadcast."""
    return tile1(_LOGADDEXP, *pair(x1, x2, floats=True))


_LOGADDEXP = """function (A, B) -> (C) {
  D = A == B ? 0.0 : A - B;
  C = max(A, B) + log1p(exp(-abs(D)));
}"""


def logaddexp2(x1, x2, /):
    """Returns log2(2**x1 + 2**x2) without overflow; shapes broadcast."""
    a, b = pair(x1, x2, floats=True)
    log_2 = 0.6931471805599453
    return multiply(logaddexp(multiply(a, log_2), multiply(b, log_2)), 1 / log_2)  # noqa: F821


def hypot(x1, x2, /):
    """Returns sqrt(x1² + x2²) without overflow; shapes broadcast."""
    return tile1("""function (A, B) -> (C) {
      P = abs(A);
      Q = abs(B);
      M = max(P, Q);
      S = M == 0 || isinf(M) ? 1.0 : M;
      L = min(P, Q) / S;
      C = isinf(A) || isinf(B) ? inf() : M * sqrt(1 + L * L);
    }""", *pair(x1, x2, floats=True))


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


def sinc(x, /):
    """Returns sin(πx) / (πx), and 1 at 0."""
    return tile1("""function (X) -> (Y) {
      P = (X == 0 ? 1.0 : X) * 3.141592653589793;
      Y = X == 0 ? 1.0 : sin(P) / P;
    }""", as_float(x))


def isclose(x1, x2, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Returns |x1 - x2| <= atol + rtol * |x2| elementwise, as bool; shapes broadcast."""
    a, b = pair(x1, x2, floats=True)
    nan = " || isnan(A) && isnan(B)" if equal_nan else ""
    return tile1(f"""function (A, B, R, T) -> (C) {{
      C = A == B || abs(A - B) <= T + R * abs(B) && !isinf(A) && !isinf(B){nan};
    }}""", a, b, constant(rtol, a.dtype), constant(atol, a.dtype))


__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and getattr(value, "__module__", "") == __name__]
