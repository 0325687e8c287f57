# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of one tensor, and functions based on them."""

import builtins
import math as _math

from keras.src.backend.common.dtypes import result_type
from keras_tartan.src._kit import T, common, floated, formula, is_exported, is_float, is_scalar, like, op, weak
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.arithmetic import (add, equal, floor_divide, greater, less, logical_and, logical_not,
                                               logical_or, mod, multiply, subtract, where)
from keras_tartan.src.numpy.filled import ones_like, zeros_like
from tartan import _dtypes


def nextafter(x1, x2):
    dtype = result_type(weak(x1), weak(x2), float)
    x1, x2 = T(x1, "float32"), T(x2, "float32")
    bits = op("BitCast", x1, to=6)
    up = logical_not(op("Xor", greater(x2, x1), greater(x1, 0)))
    stepped = op("BitCast", where(up, add(bits, 1), subtract(bits, 1)), to=1)
    smallest = where(greater(x2, 0), 1.401298464324817e-45, -1.401298464324817e-45)
    moved = where(equal(x1, 0), cast(smallest, "float32"), stepped)
    result = where(equal(x1, x2), x2, moved)
    return cast(where(logical_or(isnan(x1), isnan(x2)), float("nan"), result), dtype)


def _gcd(a, b, steps):
    for _ in range(steps):
        zero = equal(b, 0)
        safe = where(zero, like(1, b), b)
        a, b = where(zero, a, b), where(zero, b, mod(a, safe))
    return a


def gcd(x1, x2):
    x1, x2 = common(x1, x2)
    steps = {8: 12, 16: 24, 32: 46, 64: 92}[_dtypes.BITS[x1.dtype]]
    return _gcd(absolute(x1), absolute(x2), steps)


def lcm(x1, x2):
    x1, x2 = common(x1, x2)
    divisor = gcd(x1, x2)
    safe = where(equal(divisor, 0), like(1, divisor), divisor)
    return absolute(multiply(floor_divide(x1, safe), x2))


def _unary(name, floats=False):
    def function(x):
        x = floated(x) if floats else T(x)
        return op(name, x)

    return function


def _float_formula(text):
    def function(x):
        return formula(text, floated(x))

    return function


def absolute(x):
    x = T(x)
    if x.dtype == "bool" or x.dtype in _dtypes.UNSIGNED:
        return x
    return op("Abs", x)


def abs(x):
    return absolute(x)


def fabs(x):
    return absolute(floated(x))


def negative(x):
    x = T(x)
    if x.dtype in _dtypes.UNSIGNED:
        return subtract(like(0, x), x)
    return op("Neg", x)


def square(x):
    x = T(x)
    if x.dtype == "bool":
        x = cast(x, "int32")
    return op("Mul", x, x)


arccos, arccosh = _unary("Acos", True), _unary("Acosh", True)
arcsin, arcsinh = _unary("Asin", True), _unary("Asinh", True)
arctan, arctanh = _unary("Atan", True), _unary("Atanh", True)
cos, cosh, sin, sinh = _unary("Cos", True), _unary("Cosh", True), _unary("Sin", True), _unary("Sinh", True)
tan, tanh = _unary("Tan", True), _unary("Tanh", True)
exp, log, sqrt = _unary("Exp", True), _unary("Log", True), _unary("Sqrt", True)
reciprocal = _unary("Reciprocal", True)
expm1, log1p = _float_formula("O = expm1(X);"), _float_formula("O = log1p(X);")
exp2 = _float_formula("O = pow(2.0, X);")
log2 = _float_formula("O = log(X) * 1.4426950408889634;")
log10 = _float_formula("O = log(X) * 0.4342944819032518;")
deg2rad = _float_formula("O = X * 0.017453292519943295;")
rad2deg = _float_formula("O = X * 57.29577951308232;")
sinc = _float_formula("P = X * 3.141592653589793; O = X == 0 ? 1.0 : sin(P) / (X == 0 ? 1.0 : P);")
cbrt = _float_formula("A = abs(X); R = pow(A == 0 ? 1.0 : A, 0.3333333333333333); O = X < 0 ? -R : (X > 0 ? R : X);")


def ceil(x):
    return op("Ceil", floated(x))


def floor(x):
    return op("Floor", floated(x))


def trunc(x):
    x = T(x)
    return formula("O = trunc(X);", x) if is_float(x) else x


def round(x, decimals=0):
    x = T(x)
    if not is_float(x):
        if decimals >= 0:
            return cast(x, "int32") if x.dtype == "bool" else x
        factor = 10.0**-decimals
        return cast(formula(f"O = round(X / {factor}) * {factor};", cast(x, "float64")), x.dtype)
    if decimals == 0:
        return op("Round", x)
    factor = like(10.0 ** builtins.abs(decimals), x)
    if decimals > 0:
        return op("Div", op("Round", op("Mul", x, factor)), factor)
    return op("Mul", op("Round", op("Div", x, factor)), factor)


def sign(x):
    x = T(x)
    if x.dtype == "bool":
        return cast(x, "int32")
    return op("Sign", x)


def signbit(x):
    x = T(x)
    if not is_float(x):
        return less(x, 0) if x.dtype != "bool" else zeros_like(x)
    return formula("O = X < 0 || (X == 0 && 1.0 / X < 0);", cast(x, "float32"), dtype="bool")


def isnan(x):
    x = T(x)
    return op("IsNaN", x) if is_float(x) else zeros_like(x, "bool")


def isinf(x):
    x = T(x)
    return formula("O = isinf(X);", x, dtype="bool") if is_float(x) else zeros_like(x, "bool")


def isfinite(x):
    return logical_not(logical_or(isnan(x), isinf(x)))


def isposinf(x):
    return logical_and(isinf(x), greater(x, 0))


def isneginf(x):
    return logical_and(isinf(x), less(x, 0))


def isreal(x):
    return ones_like(T(x), "bool")


def real(x):
    return T(x)


def imag(x):
    return zeros_like(T(x))


def conjugate(x):
    return T(x)


conj = conjugate


def angle(x):
    x = floated(x)
    return where(less(x, 0), like(_math.pi, x), where(isnan(x), x, like(0, x)))


def i0(x):
    # Source: Abramowitz & Stegun, 9.8.1 and 9.8.2.
    x = floated(x)
    return formula(
        "A = abs(X); S = min(A, 3.75) / 3.75; P = S * S; L = 1.0 + P * (3.5156229 + P * (3.0899424 + P * (1.2067492 + "
        "P * (0.2659732 + P * (0.0360768 + P * 0.0045813))))); G = max(A, 3.75); T = 3.75 / G; "
        "H = exp(G) / sqrt(G) * (0.39894228 + T * (0.01328592 + T * (0.00225319 + T * (-0.00157565 + T * (0.00916281 + "
        "T * (-0.02057706 + T * (0.02635537 + T * (-0.01647633 + T * 0.00392377)))))))); O = A < 3.75 ? L : H;", x)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = T(x)
    if not is_float(x):
        return x
    info = _dtypes.numpy_dtype(x.dtype)
    import ml_dtypes

    limits = ml_dtypes.finfo(info)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    infinite = isinf(x)
    x = where(logical_and(infinite, greater(x, 0)), T(high, x.dtype), x)
    x = where(logical_and(infinite, less(x, 0)), T(low, x.dtype), x)
    return where(isnan(x), T(nan, x.dtype), x)


def clip(x, x_min, x_max):
    x = T(x)
    dtype = result_type(x.dtype, weak(x_min) if x_min is not None else x.dtype,
                        weak(x_max) if x_max is not None else x.dtype)
    if dtype == "bool":
        dtype = "int32"
    x = cast(x, dtype)
    if is_exported() and is_scalar(x_min) and is_scalar(x_max) and is_float(x):
        return op("Clip", x, T(x_min, dtype), T(x_max, dtype))
    if x_min is not None:
        x = op("Max", x, T(x_min, dtype))
    if x_max is not None:
        x = op("Min", x, T(x_max, dtype))
    return x


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = common(x1, x2, extra=(float,))
    result = formula(f"O = X == Y || (!isinf(X) && !isinf(Y) && abs(X - Y) <= {float(atol):.20f} + "
                     f"{float(rtol):.20f} * abs(Y));", x1, x2, dtype="bool")
    if equal_nan:
        result = logical_or(result, logical_and(isnan(x1), isnan(x2)))
    return result
