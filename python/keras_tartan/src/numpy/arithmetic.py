# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of two tensors, and `where`."""

import numpy as np
from keras.src.backend.common.dtypes import result_type
from keras_tartan.src._kit import T, common, formula, is_float, op, values_of, weak
from keras_tartan.src._values import cast


def _binary(name):
    def function(x1, x2):
        x1, x2 = common(x1, x2)
        return op(name, x1, x2)

    return function


def add(x1, x2):
    x1, x2 = common(x1, x2)
    return op("Or" if x1.dtype == "bool" else "Add", x1, x2)


def multiply(x1, x2):
    x1, x2 = common(x1, x2)
    return op("And" if x1.dtype == "bool" else "Mul", x1, x2)


subtract = _binary("Sub")


def divide(x1, x2):
    x1, x2 = common(x1, x2, extra=(float,))
    return op("Div", x1, x2)


true_divide = divide


def divide_no_nan(x1, x2):
    x1, x2 = common(x1, x2, extra=(float,))
    return formula("O = Y == 0 ? 0.0 : X / (Y == 0 ? 1.0 : Y);", x1, x2)


def floor_divide(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    if is_float(x1):
        return formula("O = floor(X / Y);", x1, x2)
    return formula("Q = X / Y; R = X - Q * Y; O = (R != 0) && ((R < 0) != (Y < 0)) ? Q - 1 : Q;", x1, x2)


def mod(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    if is_float(x1):
        return formula("R = fmod(X, Y); O = (R != 0) && ((R < 0) != (Y < 0)) ? R + Y : R;", x1, x2)
    return op("Mod", x1, x2)


def fmod(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    return op("Mod", x1, x2, fmod=1)


def power(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        x1, x2 = cast(x1, "int32"), cast(x2, "int32")
    return op("Pow", x1, x2)


def maximum(x1, x2):
    x1, x2 = common(x1, x2)
    return op("Or" if x1.dtype == "bool" else "Max", x1, x2)


def minimum(x1, x2):
    x1, x2 = common(x1, x2)
    return op("And" if x1.dtype == "bool" else "Min", x1, x2)


def _not_nan(name):
    def function(x1, x2):
        x1, x2 = common(x1, x2)
        if not is_float(x1):
            return maximum(x1, x2) if name == "max" else minimum(x1, x2)
        return formula(f"O = isnan(X) ? Y : (isnan(Y) ? X : {name}(X, Y));", x1, x2)

    return function


fmax = _not_nan("max")
fmin = _not_nan("min")


def _compare(name, without=None):
    def function(x1, x2):
        x1, x2 = common(x1, x2)
        if x1.dtype == "bool" and name != "Equal":
            x1, x2 = cast(x1, "int32"), cast(x2, "int32")
        return op(name, x1, x2)

    return function


equal = _compare("Equal")
greater = _compare("Greater")
greater_equal = _compare("GreaterOrEqual")
less = _compare("Less")
less_equal = _compare("LessOrEqual")


def not_equal(x1, x2):
    return op("Not", equal(x1, x2))


def _logical(name):
    def function(x1, x2):
        return op(name, T(x1, "bool"), T(x2, "bool"))

    return function


logical_and = _logical("And")
logical_or = _logical("Or")
logical_xor = _logical("Xor")


def logical_not(x):
    return op("Not", T(x, "bool"))


def _bitwise(name, of_bools):
    def function(x, y):
        x, y = common(x, y)
        if x.dtype == "bool":
            return op(of_bools, x, y)
        return op(name, x, y)

    return function


bitwise_and = _bitwise("BitwiseAnd", "And")
bitwise_or = _bitwise("BitwiseOr", "Or")
bitwise_xor = _bitwise("BitwiseXor", "Xor")


def bitwise_not(x):
    x = T(x)
    return op("Not" if x.dtype == "bool" else "BitwiseNot", x)


bitwise_invert = bitwise_not


def _shift(sign):
    def function(x, y):
        x, y = common(x, y)
        if x.dtype == "bool":
            x, y = cast(x, "int32"), cast(y, "int32")
        return formula(f"O = X {sign} Y;", x, y)

    return function


bitwise_left_shift = left_shift = _shift("<<")
bitwise_right_shift = right_shift = _shift(">>")


def _float_pair(text):
    def function(x1, x2):
        x1, x2 = common(x1, x2, extra=(float,))
        return formula(text, x1, x2)

    return function


arctan2 = _float_pair("O = atan2(X, Y);")
hypot = _float_pair("A = abs(X); B = abs(Y); M = max(A, B); S = M == 0 ? 1.0 : M; P = A / S; Q = B / S; "
                    "O = isinf(A) || isinf(B) ? inf() : S * sqrt(P * P + Q * Q);")
logaddexp = _float_pair("D = abs(X - Y); O = X == Y ? X + 0.6931471805599453 : max(X, Y) + log1p(exp(-D));")
logaddexp2 = _float_pair("D = abs(X - Y); O = X == Y ? X + 1.0 : max(X, Y) + log1p(pow(2.0, -D)) * 1.4426950408889634;")
heaviside = _float_pair("O = isnan(X) ? X : (X < 0 ? 0.0 : (X > 0 ? 1.0 : Y));")


def ldexp(x1, x2):
    x1, x2 = common(x1, x2, extra=(float,))
    return formula("O = X * pow(2.0, Y);", x1, x2)


def nonzero(x):
    found = np.nonzero(values_of(T(x), "nonzero"))
    return tuple(T(positions.astype("int32")) for positions in found)


def where(condition, x1=None, x2=None):
    condition = T(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    x1, x2 = common(x1, x2)
    return op("Where", condition, x1, x2)


def select(condlist, choicelist, default=0):
    dtype = result_type(*[weak(c) for c in choicelist], weak(default))
    result = T(default, dtype)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, T(choice, dtype), result)
    return result
