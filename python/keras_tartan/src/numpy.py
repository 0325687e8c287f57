# SPDX-License-Identifier: Apache-2.0
"""keras.ops.numpy."""

import builtins
import math as _math

import numpy as np
from keras.src import tree
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.backend_utils import canonicalize_axis, to_tuple_or_list
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx
from keras_tartan.src import _index, core
from keras_tartan.src._kit import (T, axes_of, broadcast, common, floated, formula, full as _full, ints, is_float, like,
                                   one, op, reduced, reshaped, size_of, transposed, values_of, weak)
from keras_tartan.src.core import cast, convert_to_tensor
from tartan import _dtypes
from tartan._tensor import Tensor, constant, constant_array, from_numpy, tile as _tile

# --- Arithmetic.


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


# --- Functions of one tensor.


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
    # Abramowitz & Stegun, 9.8.1 and 9.8.2.
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


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return all(isclose(x1, x2, rtol, atol, equal_nan))


# --- New tensors.


def zeros(shape, dtype=None):
    return _full(_shape(shape), 0, standardize_dtype(dtype))


def ones(shape, dtype=None):
    return _full(_shape(shape), 1, standardize_dtype(dtype))


def _shape(shape):
    if isinstance(shape, (Tensor,)) or not isinstance(shape, (tuple, list)):
        shape = np.atleast_1d(values_of(shape, "a shape")).tolist()
    return [int(d) for d in shape]


def full(shape, fill_value, dtype=None):
    value = T(fill_value, dtype or (None if not isinstance(fill_value, (bool, int, float)) else floatx()))
    return broadcast(value, _shape(shape))


empty = zeros


def zeros_like(x, dtype=None):
    x = T(x)
    return _full(x.shape, 0, dtype or x.dtype)


def ones_like(x, dtype=None):
    x = T(x)
    return _full(x.shape, 1, dtype or x.dtype)


empty_like = zeros_like


def full_like(x, fill_value, dtype=None):
    x = T(x)
    return broadcast(T(fill_value, dtype or x.dtype), x.shape)


def array(x, dtype=None):
    return T(x, dtype)


def copy(x):
    return op("Identity", T(x))


def _made(values, dtype):
    return core.from_array(np.asarray(values), dtype)


def arange(start, stop=None, step=None, dtype=None):
    if dtype is None:
        given = [weak(x) for x in (start, stop, step) if x is not None]
        dtype = result_type(*given)
    start, stop, step = [x if x is None or isinstance(x, (int, float)) else
                         values_of(x, "arange").item() for x in (start, stop, step)]
    if stop is None:
        start, stop = 0, start
    values = np.arange(start, stop, 1 if step is None else step)
    return _made(values, standardize_dtype(dtype))


def eye(N, M=None, k=0, dtype=None):
    return _made(np.eye(int(N), None if M is None else int(M), k=k), standardize_dtype(dtype))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    return _made(np.tri(N, M, k), standardize_dtype(dtype))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    dtype = standardize_dtype(dtype)
    start, stop = T(start, "float64"), T(stop, "float64")
    parts = num - 1 if endpoint else num
    step = op("Div", op("Sub", stop, start), constant(builtins.max(parts, 1), _dtypes.float64))
    shape = np.broadcast_shapes(start.shape, stop.shape)
    positions = reshaped(_made(np.arange(num), "float64"), (num,) + (1,) * len(shape))
    values = op("Add", start, op("Mul", positions, step))
    if endpoint and num > 1:
        last = reshaped(_made(np.arange(num) == num - 1, "bool"), (num,) + (1,) * len(shape))
        values = op("Where", last, stop, values)
    if _dtypes.is_integer(dtype):
        values = op("Floor", values)
    values = cast(moveaxis(values, 0, axis), dtype)
    if retstep:
        return values, cast(step, dtype)
    return values


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    powers = linspace(start, stop, num, endpoint, dtype="float64", axis=axis)
    return cast(op("Pow", T(base, "float64"), powers), standardize_dtype(dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    if dtype is None:
        dtype = result_type(weak(start), weak(stop), float)
    start, stop = T(start, "float64"), T(stop, "float64")
    low = log(absolute(start))
    values = exp(linspace(low, log(absolute(stop)), num, endpoint, dtype="float64", axis=axis))
    return cast(multiply(values, expand_dims(sign(start), axis) if start.shape else sign(start)),
                standardize_dtype(dtype))


def _window(make):
    def function(x):
        return _made(make(int(values_of(x, "a window's length"))), floatx())

    return function


bartlett, blackman, hamming, hanning = map(_window, (np.bartlett, np.blackman, np.hamming, np.hanning))


def kaiser(x, beta):
    return _made(np.kaiser(int(values_of(x, "a window's length")), float(values_of(beta, "kaiser"))), floatx())


def meshgrid(*x, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij'. Received: {indexing}")
    parts = [reshaped(T(a), (-1,)) for a in x]
    sizes = [part.shape[0] for part in parts]
    places = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        places[:2] = [1, 0]
        sizes[:2] = [sizes[1], sizes[0]]
    results = []
    for part, place in zip(parts, places):
        dims = [1] * len(parts)
        dims[place] = part.shape[0]
        results.append(broadcast(reshaped(part, dims), sizes))
    return results


# --- Shapes.


def reshape(x, newshape):
    if not isinstance(newshape, (tuple, list)):
        newshape = [newshape] if isinstance(newshape, int) else np.atleast_1d(values_of(newshape, "a shape")).tolist()
    return reshaped(T(x), newshape)


def ravel(x):
    return reshaped(T(x), (-1,))


def ndim(x):
    return len(T(x).shape)


def size(x):
    return T(x).size


def transpose(x, axes=None):
    x = T(x)
    return transposed(x, axes if axes is not None else list(range(len(x.shape)))[::-1])


def swapaxes(x, axis1, axis2):
    x = T(x)
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transposed(x, order)


def moveaxis(x, source, destination):
    x = T(x)
    n = len(x.shape)
    source, destination = axes_of(source, n), axes_of(destination, n)
    order = [a for a in range(n) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transposed(x, order)


def expand_dims(x, axis):
    x = T(x)
    axes = to_tuple_or_list(axis)
    n = len(x.shape) + len(axes)
    axes = [canonicalize_axis(a, n) for a in axes]
    dims = iter(x.shape)
    return reshaped(x, [1 if a in axes else next(dims) for a in range(n)])


def squeeze(x, axis=None):
    x = T(x)
    axes = [a for a, d in enumerate(x.shape) if d == 1] if axis is None else axes_of(axis, len(x.shape))
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"Cannot squeeze axis {a} of a tensor of shape {x.shape}: its size is not 1")
    return reshaped(x, [d for a, d in enumerate(x.shape) if a not in axes])


def broadcast_to(x, shape):
    return broadcast(T(x), _shape(shape))


def concatenate(xs, axis=0):
    xs = common(*xs)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return op("Concat", *xs, axis=int(axis))


def append(x1, x2, axis=None):
    return concatenate([x1, x2], axis=axis)


def stack(x, axis=0):
    xs = common(*x)
    return concatenate([expand_dims(part, axis) for part in xs], axis=axis)


def _at_least(x, n):
    x = T(x)
    if n == 1:
        return reshaped(x, (1,)) if not x.shape else x
    if n == 2:
        return reshaped(x, (1, -1)) if len(x.shape) < 2 else x
    return reshaped(x, {0: (1, 1, 1), 1: (1, -1, 1), 2: tuple(x.shape) + (1,)}.get(len(x.shape), x.shape))


def hstack(xs):
    xs = [_at_least(x, 1) for x in xs]
    return concatenate(xs, axis=0 if len(xs[0].shape) == 1 else 1)


def vstack(xs):
    return concatenate([_at_least(x, 2) for x in xs], axis=0)


def dstack(xs):
    return concatenate([_at_least(x, 3) for x in xs], axis=2)


def _pieces(x, ends, axis):
    results, begin = [], 0
    for end in list(ends) + [x.shape[axis]]:
        at = (builtins.slice(None),) * axis + (builtins.slice(begin, builtins.max(end, begin)),)
        results.append(_index.getitem(x, at))
        begin = end
    return results


def split(x, indices_or_sections, axis=0):
    x = T(x)
    axis = one(axis, len(x.shape))
    if not isinstance(indices_or_sections, int):
        return _pieces(x, [int(i) for i in values_of(indices_or_sections, "split")], axis)
    if x.shape[axis] % indices_or_sections:
        raise ValueError(f"array split does not result in an equal division: {x.shape[axis]} elements in "
                         f"{indices_or_sections} sections")
    part = x.shape[axis] // indices_or_sections
    return _pieces(x, [part * i for i in range(1, indices_or_sections)], axis)


def array_split(x, indices_or_sections, axis=0):
    x = T(x)
    axis = one(axis, len(x.shape))
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    part, more = divmod(x.shape[axis], indices_or_sections)
    sizes = [part + (i < more) for i in range(indices_or_sections)]
    return _pieces(x, np.cumsum(sizes)[:-1].tolist(), axis)


def hsplit(x, indices_or_sections):
    x = T(x)
    return split(x, indices_or_sections, axis=0 if len(x.shape) == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=2)


def flip(x, axis=None):
    x = T(x)
    axes = axes_of(axis, len(x.shape))
    at = [builtins.slice(None)] * len(x.shape)
    for a in axes:
        at[a] = builtins.slice(None, None, -1)
    return _index.getitem(x, tuple(at))


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    x = T(array)
    if len(x.shape) < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={len(x.shape)}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    for _ in range(k % 4):
        x = flip(swapaxes(x, *axes), axes[0])
    return x


def roll(x, shift, axis=None):
    x = T(x)
    if axis is None:
        return reshaped(roll(ravel(x), shift, 0), x.shape)
    axes = axes_of(axis, len(x.shape))
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    for a, s in zip(axes, shifts):
        n = x.shape[a]
        s = int(s) % n if n else 0
        if s:
            begin, end = _pieces(x, [n - s], a)
            x = concatenate([end, begin], axis=a)
    return x


def tile(x, repeats):
    x = T(x)
    repeats = [repeats] if isinstance(repeats, int) else list(np.atleast_1d(values_of(repeats, "tile")))
    n = builtins.max(len(repeats), len(x.shape))
    x = reshaped(x, (1,) * (n - len(x.shape)) + tuple(x.shape))
    return op("Tile", x, ints(*([1] * (n - len(repeats)) + [int(r) for r in repeats])))


def repeat(x, repeats, axis=None):
    x = T(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one(axis, len(x.shape))
    counts = np.atleast_1d(values_of(repeats, "repeat"))
    at = np.repeat(np.arange(x.shape[axis]), counts if len(counts) > 1 else int(counts[0]))
    return op("Gather", x, constant_array(at.astype("int64")), axis=axis)


def pad(x, pad_width, mode="constant", constant_values=None):
    x = T(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when `mode == 'constant'`. "
                         f"Received: mode={mode}")
    widths = np.broadcast_to(values_of(pad_width, "pad"), (len(x.shape), 2)).astype("int64")
    if mode == "constant":
        value = T(0 if constant_values is None else constant_values, x.dtype)
        return op("Pad", x, constant_array(np.concatenate([widths[:, 0], widths[:, 1]])), value, mode="constant")
    for axis, (before, after) in enumerate(widths.tolist()):
        if before or after:
            at = np.pad(np.arange(x.shape[axis]), (before, after), mode)
            x = op("Gather", x, constant_array(at), axis=axis)
    return x


def view(x, dtype=None):
    from tartan._onnx_types import NUMBERS

    x = T(x)
    dtype = _dtypes.ALL[standardize_dtype(dtype)] if dtype is not None else x.dtype
    if dtype == x.dtype:
        return x
    if _dtypes.BITS[dtype] == _dtypes.BITS[x.dtype] and "bool" not in (dtype, x.dtype):
        return op("BitCast", x, to=NUMBERS[dtype])
    return from_numpy(values_of(x, "view").view(_dtypes.numpy_dtype(dtype)))


# --- Reductions.


def _summed_type(x):
    if x.dtype in ("bool", "int8", "int16"):
        return "int32"
    if x.dtype in ("uint8", "uint16"):
        return "uint32"
    return x.dtype


def sum(x, axis=None, keepdims=False):
    x = T(x)
    return reduced("ReduceSum", cast(x, _summed_type(x)), axis, keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = T(x)
    return reduced("ReduceProd", cast(x, dtype or _summed_type(x)), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    x = T(x)
    dtype = result_type(x.dtype, "float32") if not is_float(x) else x.dtype
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    return cast(reduced("ReduceMean", cast(x, wide), axis, keepdims), dtype)


def _extreme(name, of_bools):
    def function(x, axis=None, keepdims=False, initial=None):
        x = T(x)
        if 0 in x.shape:
            if initial is None:
                raise ValueError("Cannot compute the max or min of an empty tensor.")
            dims = axes_of(axis, len(x.shape))
            return full([1 if a in dims else d for a, d in enumerate(x.shape) if keepdims or a not in dims],
                        initial, x.dtype)
        result = reduced(name, cast(x, "int32") if x.dtype == "bool" else x, axis, keepdims)
        result = cast(result, x.dtype)
        if initial is not None:
            result = of_bools(result, T(initial, x.dtype))
        return result

    return function


max = _extreme("ReduceMax", maximum)
min = _extreme("ReduceMin", minimum)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def all(x, axis=None, keepdims=False):
    return cast(reduced("ReduceMin", T(T(x, "bool"), "int32"), axis, keepdims), "bool") if 0 not in T(x).shape else \
        ones(reduced("ReduceProd", T(x, "int32"), axis, keepdims).shape, "bool")


def any(x, axis=None, keepdims=False):
    return cast(reduced("ReduceMax", T(T(x, "bool"), "int32"), axis, keepdims), "bool") if 0 not in T(x).shape else \
        zeros(reduced("ReduceSum", T(x, "int32"), axis, keepdims).shape, "bool")


def count_nonzero(x, axis=None):
    if axis == () or axis == []:
        return cast(T(x, "bool"), "int32")
    return sum(cast(T(x, "bool"), "int32"), axis)


def var(x, axis=None, keepdims=False):
    x = T(x)
    dtype = result_type(x.dtype, float)
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    x = cast(x, wide)
    centred = op("Sub", x, mean(x, axis, True))
    return cast(mean(op("Mul", centred, centred), axis, keepdims), dtype)


def std(x, axis=None, keepdims=False):
    return sqrt(var(x, axis, keepdims))


def _position(name):
    def function(x, axis=None, keepdims=False):
        x = T(x)
        if x.dtype == "bool":
            x = cast(x, "uint8")
        n = len(x.shape)
        if axis is None:
            result = op(name, reshaped(x, (-1,)), axis=0, keepdims=0)
            return cast(reshaped(result, (1,) * n) if keepdims else result, "int32")
        return cast(op(name, x, axis=one(axis, n), keepdims=int(keepdims)), "int32")

    return function


argmax, argmin = _position("ArgMax"), _position("ArgMin")


def average(x, axis=None, weights=None):
    x = T(x)
    dtype = result_type(x.dtype, float, *([] if weights is None else [weak(weights)]))
    x = cast(x, dtype)
    if weights is None:
        return mean(x, axis)
    weights = T(weights, dtype)
    if weights.shape != x.shape:
        axes = axes_of(axis, len(x.shape))
        weights = reshaped(weights, [d if a in axes else 1 for a, d in enumerate(x.shape)])
    weights = broadcast(weights, x.shape)
    return op("Div", sum(op("Mul", x, weights), axis), sum(weights, axis))


def _cumulative(name):
    def function(x, axis=None, dtype=None):
        x = T(x)
        dtype = standardize_dtype(dtype) if dtype is not None else x.dtype
        x = cast(x, "int32" if dtype == "bool" else dtype)
        if axis is None:
            x, axis = ravel(x), 0
        return formula(f"O = {name}(X, {one(axis, len(x.shape))});", x)

    return function


cumsum, cumprod = _cumulative("cumsum"), _cumulative("cumprod")


def diff(a, n=1, axis=-1):
    x = T(a)
    axis = one(axis, len(x.shape))
    for _ in range(n):
        at = (builtins.slice(None),) * axis
        after, before = _index.getitem(x, at + (builtins.slice(1, None),)), _index.getitem(x, at + (builtins.slice(0, -1),))
        x = not_equal(after, before) if x.dtype == "bool" else subtract(after, before)
    return x


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floated(y)
    axis = one(axis, len(y.shape))
    at = (builtins.slice(None),) * axis
    if x is None:
        steps = dx
    else:
        x = T(x, y.dtype)
        steps = diff(x, axis=0 if len(x.shape) == 1 else axis)
        if len(x.shape) == 1:
            steps = reshaped(steps, [-1 if a == axis else 1 for a in range(len(y.shape))])
    middle = add(_index.getitem(y, at + (builtins.slice(1, None),)), _index.getitem(y, at + (builtins.slice(0, -1),)))
    return sum(multiply(multiply(middle, 0.5), steps), axis)


# --- Numbers that are missing.


def _filled(x, value):
    x = T(x)
    return where(isnan(x), like(value, x), x) if is_float(x) else x


def _all_nan(x, axis, keepdims):
    return all(isnan(x), axis, keepdims)


def nansum(x, axis=None, keepdims=False):
    return sum(_filled(x, 0), axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    return prod(_filled(x, 1), axis, keepdims)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_filled(x, 0), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_filled(x, 1), axis, dtype)


def nanmax(x, axis=None, keepdims=False):
    x = T(x)
    if not is_float(x):
        return max(x, axis, keepdims)
    return where(_all_nan(x, axis, keepdims), like(float("nan"), x), max(_filled(x, -float("inf")), axis, keepdims))


def nanmin(x, axis=None, keepdims=False):
    x = T(x)
    if not is_float(x):
        return min(x, axis, keepdims)
    return where(_all_nan(x, axis, keepdims), like(float("nan"), x), min(_filled(x, float("inf")), axis, keepdims))


def nanmean(x, axis=None, keepdims=False):
    x = floated(x)
    count = sum(cast(logical_not(isnan(x)), x.dtype), axis, keepdims)
    return op("Div", sum(_filled(x, 0), axis, keepdims), count)


def nanvar(x, axis=None, keepdims=False):
    x = floated(x)
    centred = subtract(x, nanmean(x, axis, True))
    return nanmean(multiply(centred, centred), axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    return sqrt(nanvar(x, axis, keepdims))


def nanargmax(x, axis=None, keepdims=False):
    x = T(x)
    if not is_float(x):
        return argmax(x, axis, keepdims)
    return where(_all_nan(x, axis, keepdims), T(-1, "int32"), argmax(_filled(x, -float("inf")), axis, keepdims))


def nanargmin(x, axis=None, keepdims=False):
    x = T(x)
    if not is_float(x):
        return argmin(x, axis, keepdims)
    return where(_all_nan(x, axis, keepdims), T(-1, "int32"), argmin(_filled(x, float("inf")), axis, keepdims))


# --- Order.


def sort(x, axis=-1):
    x = T(x)
    if x.dtype == "bool":
        return cast(sort(cast(x, "uint8"), axis), "bool")
    if axis is None:
        x, axis = ravel(x), 0
    return formula(f"O = sort(X, {one(axis, len(x.shape))});", x) if x.shape else x


def argsort(x, axis=-1):
    x = T(x)
    if x.dtype == "bool":
        x = cast(x, "uint8")
    if axis is None:
        x, axis = ravel(x), 0
    return formula(f"O = argsort(X, {one(axis, len(x.shape))});", x, dtype="int32") if x.shape else zeros((), "int32")


def argpartition(x, kth, axis=-1):
    return argsort(x, axis)


def _to_last(x, axis):
    """The axes that are reduced as one, which comes last, and the shape with them kept."""
    axes = axes_of(axis, len(x.shape))
    rest = [a for a in range(len(x.shape)) if a not in axes]
    kept = [1 if a in axes else d for a, d in enumerate(x.shape)]
    x = transposed(x, rest + axes)
    return reshaped(x, [x.shape[i] for i in range(len(rest))] + [-1]), kept


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(x, q, axis, method, keepdims, skip):
    if method not in _METHODS:
        raise ValueError(f"Invalid method: {method}. Expected one of {_METHODS}")
    x = floated(x)
    q = T(q)
    dtype = x.dtype
    wide = "float64" if dtype == "float64" else "float32"
    x, kept = _to_last(cast(x, wide), axis)
    flat_q = reshaped(cast(q, wide), (-1,))
    ordered = sort(x, -1)  # those that are missing come last
    missing = isnan(x)
    if skip:
        count = sum(cast(logical_not(missing), wide), -1, True)
    else:
        count = _full(tuple(x.shape[:-1]) + (1,), x.shape[-1], wide)
    at = op("Mul", op("Max", op("Sub", count, like(1, count)), like(0, count)), flat_q)
    low, high = op("Floor", at), op("Ceil", at)

    def element(position):
        return op("GatherElements", ordered, cast(position, "int64"), axis=-1)

    a, b = element(low), element(high)
    if method == "linear":
        result = op("Add", a, op("Mul", op("Sub", b, a), op("Sub", at, low)))
        result = op("Where", op("Equal", low, high), a, result)
    elif method == "midpoint":
        result = op("Mul", op("Add", a, b), like(0.5, a))
    elif method == "nearest":
        result = element(op("Round", at))
    else:
        result = a if method == "lower" else b
    if not skip:
        result = op("Where", any(missing, -1, True), like(float("nan"), result), result)
    result = cast(moveaxis(result, -1, 0), dtype)
    shape = kept if keepdims else list(result.shape[1:])
    return reshaped(result, list(q.shape) + shape)


def quantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, False)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, True)


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, divide(T(q), 100.0), axis, method, keepdims, False)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, divide(T(q), 100.0), axis, method, keepdims, True)


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, keepdims=keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def searchsorted(sorted_sequence, values, side="left"):
    if len(T(sorted_sequence).shape) != 1:
        raise ValueError("`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` "
                         f"to extend it to N-D sequences. Received: sorted_sequence.shape={T(sorted_sequence).shape}")
    sequence, values = common(sorted_sequence, values)
    before = less if side == "left" else less_equal
    return sum(cast(before(sequence, expand_dims(values, -1)), "int32"), -1)


def digitize(x, bins):
    return searchsorted(bins, x, side="right")


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tartan backend")
    x = T(x)
    if x.is_traced:
        if not minlength:
            raise NotImplementedError("bincount without `minlength` in a captured step is not implemented in tartan")
        count = int(minlength)
    else:
        count = builtins.max(int(minlength), int(x.numpy().max()) + 1 if x.size else 0)
    hits = equal(expand_dims(x, -1), _made(np.arange(count), x.dtype))
    if weights is None:
        return sum(cast(hits, "int32"), -2)
    weights = T(weights)
    if weights.dtype in ("int8", "int16", "uint8", "uint16"):
        return cast(sum(multiply(cast(hits, "int32"), expand_dims(cast(weights, "int32"), -1)), -2), weights.dtype)
    return sum(multiply(cast(hits, weights.dtype), expand_dims(weights, -1)), -2)


def histogram(x, bins=10, range=None):
    x = ravel(T(x))
    if range is None:
        low, high = min(x), max(x)
        flat = equal(low, high)
        low, high = cast(low, "float32"), cast(high, "float32")
        low, high = where(flat, subtract(low, 0.5), low), where(flat, add(high, 0.5), high)
    else:
        low, high = T(range[0], "float32"), T(range[1], "float32")
    dtype = x.dtype if is_float(x) else floatx()
    edges = cast(linspace(low, high, bins + 1, dtype="float32"), dtype)
    x = cast(x, dtype)
    before = expand_dims(x, -1)
    at_least = greater_equal(before, edges[:-1])
    below = less(before, edges[1:])
    last = concatenate([zeros((bins - 1,), "bool"), ones((1,), "bool")])
    below = logical_or(below, logical_and(last, equal(before, edges[1:])))
    return sum(cast(logical_and(at_least, below), "int32"), 0), edges


def unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None, size=None,
           fill_value=None):
    values = values_of(T(x), "unique")
    found = np.unique(values, return_index=True, return_inverse=True, return_counts=True, axis=axis,
                      equal_nan=False)
    kept, first, inverse, counts = found
    along = 0 if axis is None else axis
    if size is not None:
        n = kept.shape[along]
        if n >= size:
            kept, first, counts = np.take(kept, range(size), along), first[:size], counts[:size]
        else:
            filler = kept.take([0], along) if fill_value is None else np.full_like(kept.take([0], along), fill_value)
            kept = np.concatenate([kept] + [filler] * (size - n), axis=along)
            first = np.concatenate([first, np.full(size - n, first[0])])
            counts = np.concatenate([counts, np.zeros(size - n, counts.dtype)])
    results = [T(kept)]
    for wanted, part in ((return_index, first), (return_inverse, inverse), (return_counts, counts)):
        if wanted:
            results.append(T(part.astype("int32")))
    return results[0] if len(results) == 1 else tuple(results)


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2 = common(x1, x2)
    found = any(equal(expand_dims(x1, -1), ravel(x2)), -1) if x2.size else zeros(x1.shape, "bool")
    return logical_not(found) if invert else found


def nonzero(x):
    found = np.nonzero(values_of(T(x), "nonzero"))
    return tuple(T(positions.astype("int32")) for positions in found)


# --- Choosing.


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


def take(x, indices, axis=None):
    x = T(x)
    indices = T(indices)
    if not _dtypes.is_integer(indices.dtype) or indices.dtype not in ("int32", "int64"):
        indices = cast(indices, "int32" if indices.dtype != "uint32" else "int64")
    if axis is None:
        x, axis = ravel(x), 0
    return op("Gather", x, indices, axis=one(axis, len(x.shape)))


def take_along_axis(x, indices, axis=None):
    x = T(x)
    indices = T(indices, "int64")
    if axis is None:
        x, indices, axis = ravel(x), ravel(indices), 0
    axis = one(axis, len(x.shape))
    dims = np.broadcast_shapes(*[s[:axis] + (1,) + s[axis + 1:] for s in (tuple(x.shape), tuple(indices.shape))])
    x = broadcast(x, dims[:axis] + (x.shape[axis],) + dims[axis + 1:])
    indices = broadcast(indices, dims[:axis] + (indices.shape[axis],) + dims[axis + 1:])
    return op("GatherElements", x, indices, axis=axis)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = T(x)
    n = len(x.shape)
    axis1, axis2 = one(axis1, n), one(axis2, n)
    rest = [a for a in range(n) if a not in (axis1, axis2)]
    x = transposed(x, rest + [axis1, axis2])
    rows, columns = x.shape[-2:]
    row, column = builtins.max(0, -offset), builtins.max(0, offset)
    count = builtins.max(0, builtins.min(rows - row, columns - column))
    flat = reshaped(x, list(x.shape[:-2]) + [rows * columns])
    at = (row + np.arange(count)) * columns + column + np.arange(count)
    return op("Gather", flat, constant_array(at.astype("int64")), axis=len(rest))


def diag(x, k=0):
    x = T(x)
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        raise ValueError(f"diag takes a tensor of one or two dimensions. Received: shape={x.shape}")
    n = x.shape[0] + builtins.abs(k)
    shown = pad(x, [(builtins.max(0, -k), builtins.max(0, k))]) if k else x
    rows = expand_dims(shown if k < 0 else (pad(x, [(0, k)]) if k else x), 1)
    mask = np.eye(n, k=k, dtype=bool)
    return where(core.from_array(mask), broadcast(rows, (n, n)), like(0, x))


def diagflat(x, k=0):
    return diag(ravel(x), k)


def trace(x, offset=0, axis1=0, axis2=1):
    return sum(diagonal(x, offset, axis1, axis2), -1)


def _triangle(upper):
    def function(x, k=0):
        x = T(x)
        mask = np.tri(x.shape[-2], x.shape[-1], k - 1 if upper else k, dtype=bool)
        return op("Where", core.from_array(~mask if upper else mask), x, like(0, x))

    return function


tril, triu = _triangle(False), _triangle(True)


def unravel_index(indices, shape):
    indices = T(indices)
    results = []
    for dim in reversed(_shape(shape)):
        results.append(mod(indices, T(dim, indices.dtype)))
        indices = floor_divide(indices, T(dim, indices.dtype))
    return tuple(reversed(results))


# --- Products.


def _product_type(*xs):
    """int8 with int8 is summed in int32."""
    if builtins.all(x.dtype == "int8" for x in xs):
        return "int32"
    return result_type(*[x.dtype for x in xs])


def matmul(x1, x2):
    return _plain(*_factors(x1, x2))


def _factors(x1, x2):
    """Operands of a product in the type that it is summed in."""
    x1, x2 = T(x1), T(x2)
    dtype = _product_type(x1, x2)
    return cast(x1, dtype), cast(x2, dtype)


def _plain(x1, x2):
    if x1.dtype == "bool":
        return cast(op("MatMul", cast(x1, "int32"), cast(x2, "int32")), "bool")
    return op("MatMul", x1, x2)


def dot(x1, x2):
    x1, x2 = _factors(x1, x2)
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    if len(x2.shape) == 1 or len(x1.shape) <= 2 and len(x2.shape) == 2:
        return _plain(x1, x2)
    return _tensordot(x1, x2, [[-1], [-2]])


def tensordot(x1, x2, axes=2):
    return _tensordot(*_factors(x1, x2), axes)


def _tensordot(x1, x2, axes):
    n1, n2 = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        a, b = list(range(n1 - axes, n1)), list(range(axes))
    else:
        a, b = axes_of(axes[0], n1), axes_of(axes[1], n2)
    rest1, rest2 = [i for i in range(n1) if i not in a], [i for i in range(n2) if i not in b]
    inner_size = size_of(x1.shape[i] for i in a)
    shape = [x1.shape[i] for i in rest1] + [x2.shape[i] for i in rest2]
    left = reshaped(transposed(x1, rest1 + a), (size_of(x1.shape[i] for i in rest1), inner_size))
    right = reshaped(transposed(x2, b + rest2), (inner_size, size_of(x2.shape[i] for i in rest2)))
    return reshaped(_plain(left, right), shape)


def outer(x1, x2):
    return multiply(expand_dims(ravel(x1), 1), expand_dims(ravel(x2), 0))


def vdot(x1, x2):
    return tensordot(ravel(x1), ravel(x2), 1)


def inner(x1, x2):
    x1, x2 = _factors(x1, x2)
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    return _tensordot(x1, x2, [[-1], [-1]])


def kron(x1, x2):
    x1, x2 = common(x1, x2)
    n = builtins.max(len(x1.shape), len(x2.shape))
    s1 = (1,) * (n - len(x1.shape)) + tuple(x1.shape)
    s2 = (1,) * (n - len(x2.shape)) + tuple(x2.shape)
    a = reshaped(x1, [d for s in s1 for d in (s, 1)])
    b = reshaped(x2, [d for s in s2 for d in (1, s)])
    return reshaped(multiply(a, b), [p * q for p, q in zip(s1, s2)])


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = common(x1, x2)
    a, b = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    a, b = unstacked(a), unstacked(b)
    if len(a) not in (2, 3) or len(b) not in (2, 3):
        raise ValueError(f"`x1`'s and `x2`'s dimension on their axes must be 2 or 3. Received: {len(a)}, {len(b)}")
    z = subtract(multiply(a[0], b[1]), multiply(a[1], b[0]))
    if len(a) == 2 and len(b) == 2:
        return z
    zero = like(0, a[0])
    a2, b2 = a[2] if len(a) == 3 else zero, b[2] if len(b) == 3 else zero
    x = subtract(multiply(a[1], b2), multiply(a2, b[1]))
    y = subtract(multiply(a2, b[0]), multiply(a[0], b2))
    return moveaxis(stack([broadcast(v, z.shape) for v in (x, y, z)], -1), -1, axisc)


def unstacked(x):
    return [x[..., i] for i in range(x.shape[-1])]


def einsum(subscripts, *operands, **kwargs):
    xs = [T(x) for x in operands]
    dtype = _product_type(*xs)
    work = "int32" if dtype == "bool" else dtype
    from keras_tartan.src._einsum import einsum as contracted

    return cast(contracted(subscripts.replace(" ", ""), [cast(x, work) for x in xs]), dtype)


def correlate(x1, x2, mode="valid"):
    x1, x2 = common(x1, x2)
    dtype = x1.dtype if is_float(x1) else result_type(x1.dtype, float)
    x1, x2 = cast(x1, "float32"), cast(x2, "float32")
    if x1.shape[0] < x2.shape[0]:
        return flip(correlate(cast(x2, dtype), cast(x1, dtype), mode))
    n, m = x1.shape[0], x2.shape[0]
    pads = {"valid": (0, 0), "full": (m - 1, m - 1), "same": ((m - 1) - (m - 1) // 2, (m - 1) // 2)}
    if mode not in pads:
        raise ValueError(f"mode is one of {list(pads)}. Received: mode={mode}")
    before, after = pads[mode]
    if mode == "same":
        before, after = m // 2, m - 1 - m // 2
    result = op("Conv", reshaped(x1, (1, 1, n)), reshaped(x2, (1, 1, m)), pads=[before, after])
    return cast(reshaped(result, (-1,)), dtype)


def corrcoef(x):
    x = floated(x)
    if len(x.shape) < 2:
        return ones((), x.dtype)
    x = subtract(x, mean(x, -1, True))
    products = matmul(x, transpose(x))
    scale = sqrt(diagonal(products))
    return divide(divide(products, expand_dims(scale, 1)), expand_dims(scale, 0))


def vander(x, N=None, increasing=False):
    x = T(x)
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return power(expand_dims(x, -1), core.from_array(powers.copy(), x.dtype))


def slogdet(x):
    from keras_tartan.src.linalg import slogdet as computed

    return computed(x)


def vectorize(pyfunc, *, excluded=None, signature=None):
    from keras.src.backend.common.backend_utils import vectorize_impl

    return vectorize_impl(pyfunc, _mapped, excluded=excluded, signature=signature)


def _mapped(f, in_axes=0, out_axes=0):
    """`f` for each element of the arguments' axes, unrolled."""
    def function(*args):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        xs = [T(x) if a is None else moveaxis(T(x), a, 0) for x, a in zip(args, axes)]
        count = next(x.shape[0] for x, a in zip(xs, axes) if a is not None)
        results = [f(*[x if a is None else x[i] for x, a in zip(xs, axes)]) for i in range(count)]
        return tree.map_structure(lambda *parts: stack(parts, out_axes), *results)

    return function
