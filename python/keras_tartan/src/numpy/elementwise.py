# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions: the functions of tartan (tartan/_rows.py) with Keras' dtype rules, and others based on them."""

import numpy as np
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src._kit import (T, adapted, common, floated, formula, is_exported, is_float, is_scalar, like, op, ours,
                                   values_of, weak)
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.filled import ones_like, zeros_like
from tartan import _bits, _dtypes, _elementwise
from tartan._primitives import selected
from tartan._rows import ROWS

# --- Functions of one tensor.


def _of_one(names, convert):
    def made(name):
        row = ROWS[name]

        def function(x):
            return row(convert(x))

        return function

    return map(made, names.split())


arccos, arccosh, arcsin, arcsinh, arctan, arctanh = _of_one("acos acosh asin asinh atan atanh", floated)
cos, cosh, sin, sinh, tan, tanh, sinc = _of_one("cos cosh sin sinh tan tanh sinc", floated)
exp, exp2, expm1, log, log10, log1p, log2 = _of_one("exp exp2 expm1 log log10 log1p log2", floated)
cbrt, fabs, reciprocal, sqrt, angle = _of_one("cbrt fabs reciprocal sqrt angle", floated)
ceil, deg2rad, floor, rad2deg = _of_one("ceil deg2rad floor rad2deg", floated)
isfinite, isinf, isnan, isneginf, isposinf, negative = _of_one("isfinite isinf isnan isneginf isposinf negative", T)
(logical_not,) = _of_one("logical_not", lambda x: T(x, "bool"))


def _number(x):
    """Converts bools to integers."""
    x = T(x)
    return cast(x, "int32") if x.dtype == "bool" else x


sign, square = _of_one("sign square", _number)


def absolute(x):
    x = T(x)
    return x if x.dtype == "bool" or x.dtype in _dtypes.UNSIGNED else ROWS["abs"](x)


abs = absolute


bitwise_not = bitwise_invert = adapted(_elementwise.bitwise_invert)


def trunc(x):
    x = T(x)
    return ROWS["trunc"](x) if is_float(x) else x


def round(x, decimals=0):
    x = T(x)
    if x.dtype == "bool" and decimals >= 0:
        return cast(x, "int32")
    return ours(_elementwise.round(x, decimals))


def signbit(x):
    x = T(x)
    if is_float(x):
        return ours(_bits.signbit(x))
    return zeros_like(x) if x.dtype == "bool" else less(x, 0)


def isreal(x):
    return ones_like(T(x), "bool")


real, imag, conj = map(adapted, (_elementwise.real, _elementwise.imag, _elementwise.conj))
conjugate = conj


def i0(x):
    # Source: Abramowitz & Stegun, 9.8.1 and 9.8.2.
    x = floated(x)
    return formula(
        "A = abs(X); S = min(A, 3.75) / 3.75; P = S * S; L = 1.0 + P * (3.5156229 + P * (3.0899424 + P * (1.2067492 + "
        "P * (0.2659732 + P * (0.0360768 + P * 0.0045813))))); G = max(A, 3.75); T = 3.75 / G; "
        "H = exp(G) / sqrt(G) * (0.39894228 + T * (0.01328592 + T * (0.00225319 + T * (-0.00157565 + T * (0.00916281 + "
        "T * (-0.02057706 + T * (0.02635537 + T * (-0.01647633 + T * 0.00392377)))))))); O = A < 3.75 ? L : H;", x)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    return ours(_elementwise.nan_to_num(T(x), nan=nan, posinf=posinf, neginf=neginf))


def clip(x, x_min, x_max):
    dtype = result_type(weak(x), *[weak(bound) for bound in (x_min, x_max) if bound is not None])
    x = _number(T(x, dtype))
    if is_exported() and is_scalar(x_min) and is_scalar(x_max) and is_float(x):
        return op("Clip", x, T(x_min, dtype), T(x_max, dtype))
    if x_min is not None:
        x = ROWS["maximum"](x, T(x_min, x.dtype))
    if x_max is not None:
        x = ROWS["minimum"](x, T(x_max, x.dtype))
    return x


# --- Functions of two tensors.


def _integers(x1, x2):
    """Converts operands to their common dtype, bools to integers."""
    return map(_number, common(x1, x2))


def _floats(x1, x2):
    return common(x1, x2, extra=(float,))


def _bools(x1, x2):
    return T(x1, "bool"), T(x2, "bool")


def _of_two(names, convert):
    def made(name):
        row = ROWS[name]

        def function(x1, x2):
            return row(*convert(x1, x2))

        return function

    return map(made, names.split())


def _or_of_bools(name, of_bools):
    row, other = ROWS[name], ROWS[of_bools]

    def function(x1, x2):
        x1, x2 = common(x1, x2)
        return (other if x1.dtype == "bool" else row)(x1, x2)

    return function


add, maximum, fmax = (_or_of_bools(name, "logical_or") for name in ("add", "maximum", "fmax"))
multiply, minimum, fmin = (_or_of_bools(name, "logical_and") for name in ("multiply", "minimum", "fmin"))
subtract, equal, not_equal = _of_two("subtract equal not_equal", common)
fmod, power = _of_two("fmod power", _integers)
greater, greater_equal, less, less_equal = _of_two("greater greater_equal less less_equal", _integers)
logical_and, logical_or, logical_xor = _of_two("logical_and logical_or logical_xor", _bools)


def _of_bits(names, convert):  # Keras names these operands x and y
    def made(function):
        return lambda x, y: function(x, y)

    return map(made, _of_two(names, convert))


bitwise_and, bitwise_or, bitwise_xor = _of_bits("bitwise_and bitwise_or bitwise_xor", common)
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift = tuple(
    _of_bits("bitwise_left_shift bitwise_right_shift", _integers))
divide, arctan2, hypot = _of_two("divide atan2 hypot", _floats)
heaviside, logaddexp, logaddexp2 = _of_two("heaviside logaddexp logaddexp2", _floats)
true_divide = divide


def divide_no_nan(x1, x2):
    return formula("O = Y == 0 ? 0.0 : X / (Y == 0 ? 1.0 : Y);", *_floats(x1, x2))


def floor_divide(x1, x2):
    return _elementwise.quotients(*_integers(x1, x2))


def mod(x1, x2):
    return _elementwise.remainders(*_integers(x1, x2))


def ldexp(x1, x2):
    return formula("O = X * pow(2.0, Y);", *_floats(x1, x2))


def nextafter(x1, x2):
    return ours(_bits.nextafter(*_floats(x1, x2)))


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return ours(_elementwise.isclose(*_floats(x1, x2), rtol=rtol, atol=atol, equal_nan=equal_nan))


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


# --- Selection.


def nonzero(x):
    found = np.nonzero(values_of(T(x), "nonzero"))
    return tuple(T(positions.astype("int32")) for positions in found)


def where(condition, x1=None, x2=None):
    condition = T(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    return selected(condition, *common(x1, x2))


def select(condlist, choicelist, default=0):
    dtype = result_type(*[weak(c) for c in choicelist], weak(default))
    result = T(default, dtype)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, T(choice, dtype), result)
    return result
