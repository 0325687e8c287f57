# SPDX-License-Identifier: Apache-2.0
"""Elementwise complex functions by real arithmetic on the parts. Source of inverse functions with branch cuts: W.
Kahan, "Branch cuts for complex elementary functions", 1987. Results for infinities and NaN follow the array API
standard."""

from tartan import _bits
from tartan import _elementwise as _e
from tartan._complex import ComplexTensor, complex_tensor, together
from tartan._tensor import constant, tile1, tiles


def _of_one(text):
    """Returns a function of one complex argument from a Tile text that maps the parts A and B to X and Y."""
    program = f"function (A, B) -> (X, Y) {{ {text} }}"

    def function(z, /):
        z = complex_tensor(z)
        return ComplexTensor(*tiles(program, z.real, z.imag))

    return function


def _of_two(text):
    """Returns a function of two complex arguments A + iB and C + iD in their common dtype, from a Tile text."""
    program = f"function (A, B, C, D) -> (X, Y) {{ {text} }}"

    def function(z, w, /):
        z, w = together((z, w))
        return ComplexTensor(*tiles(program, z.real, z.imag, w.real, w.imag))

    return function



def _copied(size, sign_of):
    """Returns a number with the signs of the elements."""
    return _bits.copysign(constant(size, sign_of.dtype), sign_of)


def _at_limits(z, result, *rows):
    """Replaces a result P + iQ at z = A + iB by special values. Each row is (condition, real part, imaginary part);
    the first condition that holds applies. In the texts, S and T are 1 with the signs of A and B; U and V are
    true if A and B are not finite."""
    real = imag = ""
    for condition, x, y in rows:
        real += f"{condition} ? {x} : "
        imag += f"{condition} ? {y} : "
    text = f"""function (A, B, S, T, P, Q) -> (X, Y) {{
      U = isnan(A) || isinf(A);
      V = isnan(B) || isinf(B);
      X = {real}P;
      Y = {imag}Q;
    }}"""
    parts = z.real, z.imag, _copied(1.0, z.real), _copied(1.0, z.imag), result.real, result.imag
    return ComplexTensor(*tiles(text, *parts))


def _limited(plain, *rows):
    def function(z, /):
        z = complex_tensor(z)
        return _at_limits(z, plain(z), *rows)

    return function


add = _of_two("X = A + C; Y = B + D;")
subtract = _of_two("X = A - C; Y = B - D;")
multiply = _of_two("X = A * C - B * D; Y = A * D + B * C;")
# Divides by the larger part of the divisor first, because its square could overflow (R. Smith, 1962).
divide = _of_two("""
  L = abs(C) >= abs(D);
  M = L ? C : D;
  N = L ? D : C;
  R = N == 0 ? N / (M == 0 ? 1.0 : M) : N / M;
  T = M + N * R;
  X = L ? (A + B * R) / T : (A * R + B) / T;
  Y = L ? (B - A * R) / T : (B * R - A) / T;""")
negative = _of_one("X = -A; Y = -B;")
conj = _of_one("X = A; Y = -B;")
square = _of_one("X = (A - B) * (A + B); Y = 2 * A * B;")
exp = _limited(
    _of_one("E = exp(A); X = B == 0 ? E : E * cos(B); Y = B == 0 ? B : E * sin(B);"),
    ("isinf(A) && V", "A > 0 ? inf() : 0.0", "A > 0 ? nan() : 0.0"))
expm1 = _limited(
    _of_one("S = sin(B * 0.5); X = expm1(A) * cos(B) - 2 * S * S; Y = B == 0 ? B : exp(A) * sin(B);"),
    ("isinf(A) && V", "A > 0 ? inf() : -1.0", "A > 0 ? nan() : 0.0"), ("A == 0 && B == 0", "0.0", "B"))
sinh = _limited(
    _of_one("X = A == 0 ? A : sinh(A) * cos(B); Y = B == 0 ? B : cosh(A) * sin(B);"),
    ("isinf(A) && V", "A", "nan()"), ("isinf(A) && B == 0", "A", "B"))
cosh = _limited(
    _of_one("X = cosh(A) * cos(B); Y = A == 0 || B == 0 ? A * B : sinh(A) * sin(B);"),
    ("A == 0 && V", "nan()", "A"), ("U && B == 0", "abs(A)", "S * B"), ("isinf(A) && V", "inf()", "nan()"))
# For |x| > 20, tanh(x) rounds to 1, in float64, too.
_tanh = _of_one("""
  L = abs(A) > 20;
  S = L ? 0.0 : sinh(A);
  T = tan(B);
  U = 1 + T * T;
  V = 1 + U * S * S;
  X = L ? (A > 0 ? 1.0 : -1.0) : U * sqrt(1 + S * S) * S / V;
  Y = L ? 4 * sin(B) * cos(B) * exp(-2 * abs(A)) : T / V;""")
tanh = _limited(_tanh, ("isinf(A)", "S", "0.0 * T"), ("V && A == 0", "A", "nan()"), ("V", "nan()", "nan()"),
                ("isnan(A) && B == 0", "A", "B"))


def real(z, /):
    return complex_tensor(z).real


def imag(z, /):
    return complex_tensor(z).imag


def positive(z, /):
    return complex_tensor(z)


def absolute(z, /):
    z = complex_tensor(z)
    return _e.hypot(z.real, z.imag)


def angle(z, /):
    z = complex_tensor(z)
    return _e.atan2(z.imag, z.real)


def sign(z, /):
    z = complex_tensor(z)
    size = absolute(z)
    text = "function (A, S) -> (Y) { Y = S == 0 ? 0.0 : A / (S == 0 ? 1.0 : S); }"
    result = ComplexTensor(tile1(text, z.real, size), tile1(text, z.imag, size))
    return _at_limits(z, result, ("isnan(A) || isnan(B)", "nan()", "nan()"))


def reciprocal(z, /):
    return divide(1.0, z)


# log |z|. Near the unit circle it is computed from the distance to 1 to avoid cancellation.
_LOG_SIZE = """function (A, B) -> (Y) {
  P = abs(A);
  Q = abs(B);
  M = max(P, Q);
  N = min(P, Q);
  L = M > 0.5 && M < 1.5;
  K = M == 0 || isinf(M) ? 1.0 : M;
  R = isinf(M) ? 0.0 : N / K;
  Y = isinf(A) || isinf(B) ? inf() : isnan(A) || isnan(B) ? A + B : L ? 0.5 * log1p((M - 1) * (M + 1) + N * N) : log(M) + 0.5 * log1p(R * R);
}"""


def log(z, /):
    z = complex_tensor(z)
    return ComplexTensor(tile1(_LOG_SIZE, z.real, z.imag), angle(z))


def log1p(z, /):
    z = complex_tensor(z)
    shifted = add(z, 1.0)
    near = tile1("function (A, B) -> (Y) { Y = abs(A) + abs(B) < 0.5; }", z.real, z.imag)
    small = tile1("function (A, B) -> (Y) { Y = 0.5 * log1p(A * (A + 2) + B * B); }", z.real, z.imag)
    size = tile1(_LOG_SIZE, shifted.real, shifted.imag)
    return ComplexTensor(_e.where(near, small, size), _e.atan2(z.imag, shifted.real))


def _scaled(z, factor):
    factor = constant(factor, z.real.dtype)
    return ComplexTensor(_e.multiply(z.real, factor), _e.multiply(z.imag, factor))


def log2(z, /):
    return _scaled(log(z), 1.4426950408889634)


def log10(z, /):
    return _scaled(log(z), 0.4342944819032518)


def exp2(z, /):
    return exp(_scaled(complex_tensor(z), 0.6931471805599453))


_SQRT = """function (A, B, Z, S) -> (X, Y) {
  T = sqrt(abs(A) * 0.5 + Z * 0.5);
  H = T == 0 ? 0.0 : B / (T == 0 ? 1.0 : T) * 0.5;
  I = isinf(B);
  P = isnan(A) ? A : A >= 0 ? T : abs(H);
  Q = S ? -T : T;
  X = I ? abs(B) : isinf(A) && A < 0 && isnan(B) ? B : P;
  Y = I || B == 0 && A >= 0 ? B : A >= 0 ? H : isnan(A) ? A : Q;
}"""


def sqrt(z, /):
    z = complex_tensor(z)
    return ComplexTensor(*tiles(_SQRT, z.real, z.imag, absolute(z), _bits.signbit(z.imag)))


def _turned(z, forward=True):
    """Returns i z, or z / i."""
    return ComplexTensor(_e.negative(z.imag), z.real) if forward else ComplexTensor(z.imag, _e.negative(z.real))


def sin(z, /):
    return _turned(sinh(_turned(complex_tensor(z))), False)


def cos(z, /):
    return cosh(_turned(complex_tensor(z)))


def tan(z, /):
    return _turned(tanh(_turned(complex_tensor(z))), False)


def _roots(z):
    """Returns the square roots of 1 - z and of 1 + z."""
    one = constant(1.0, z.real.dtype)
    return (sqrt(ComplexTensor(_e.subtract(one, z.real), _e.negative(z.imag))),
            sqrt(ComplexTensor(_e.add(one, z.real), z.imag)))


_CROSS = "function (A, B, C, D) -> (Y) { Y = asinh(A * D - B * C); }"  # Im(conj(p) q)
_ALONG = "function (A, B, C, D) -> (Y) { Y = A * C - B * D; }"  # Re(p q)


def _parts(z, w):
    return z.real, z.imag, w.real, w.imag


_PI = "3.141592653589793"


def _asin(z):
    below, above = _roots(z)
    return ComplexTensor(_e.atan2(z.real, tile1(_ALONG, *_parts(below, above))), tile1(_CROSS, *_parts(below, above)))


def _acos(z):
    below, above = _roots(z)
    return ComplexTensor(_e.multiply(_e.atan2(below.real, above.real), 2), tile1(_CROSS, *_parts(above, below)))


_AT_CORNERS = f"(A > 0 ? 0.25 : 0.75) * {_PI}"  # angle of ±infinity + i infinity
acos = _limited(
    _acos, ("isinf(A) && isinf(B)", _AT_CORNERS, "-B"), ("isinf(A) && isnan(B)", "nan()", "inf()"),
    ("isinf(B)", f"isnan(A) ? A : 0.5 * {_PI}", "-B"), ("A == 0 && isnan(B)", f"0.5 * {_PI}", "nan()"),
    ("isinf(A)", f"A > 0 ? 0.0 : 1.0 * {_PI}", "-(T * inf())"))


def _acosh(z):
    one = constant(1.0, z.real.dtype)
    below = sqrt(ComplexTensor(_e.subtract(z.real, one), z.imag))
    above = sqrt(ComplexTensor(_e.add(z.real, one), z.imag))
    real = tile1("function (A, B, C, D) -> (Y) { Y = asinh(A * C + B * D); }", *_parts(below, above))
    return ComplexTensor(real, _e.multiply(_e.atan2(below.imag, above.real), 2))


acosh = _limited(
    _acosh, ("isinf(A) && isinf(B)", "inf()", f"T * {_AT_CORNERS}"), ("(isinf(A) || isinf(B)) && (isnan(A) || isnan(B))", "inf()", "nan()"),
    ("isinf(B)", "inf()", f"T * 0.5 * {_PI}"), ("isinf(A)", "inf()", f"A > 0 ? 0.0 * T : T * {_PI}"),
    ("A == 0 && isnan(B)", "nan()", f"0.5 * {_PI}"))
asinh = _limited(
    lambda z: _turned(_asin(_turned(z)), False),
    ("isinf(A) && isinf(B)", "A", f"T * 0.25 * {_PI}"), ("isinf(A)", "A", "isnan(B) ? B : 0.0 * T"),
    ("isinf(B)", "isnan(A) ? B : S * inf()", f"isnan(A) ? A : T * 0.5 * {_PI}"), ("isnan(A) && B == 0", "A", "B"))


def asin(z, /):
    return _turned(asinh(_turned(complex_tensor(z))), False)


_ATANH = """function (A, B) -> (X, Y) {
  D = (1 - A) * (1 - A) + B * B;
  X = 0.25 * log1p(4 * A / D);
  Y = 0.5 * atan2(2 * B, (1 - A) * (1 + A) - B * B);
}"""


def _atanh(z):
    # atanh is odd, and log1p is accurate for positive arguments, so negative Re z is reflected.
    is_left = _bits.signbit(z.real)
    x, y = tiles(_ATANH, _e.abs(z.real), _e.where(is_left, _e.negative(z.imag), z.imag))
    return ComplexTensor(_e.where(is_left, _e.negative(x), x), _e.where(is_left, _e.negative(y), y))


atanh = _limited(
    _atanh, ("isinf(B) || isinf(A) && !isnan(B)", "0.0 * S", f"T * 0.5 * {_PI}"), ("isinf(A)", "0.0 * S", "nan()"),
    ("A == 0 && isnan(B)", "A", "B"))


def atan(z, /):
    return _turned(atanh(_turned(complex_tensor(z))), False)


def power(z, w, /):
    """Returns exp(w log z): 1 for an exponent of 0, 0 for a base of 0. Small integer exponents use multiplication."""
    if isinstance(w, int) and not isinstance(w, bool) and 0 <= w <= 4:
        z = complex_tensor(z)
        if w == 0:
            return ComplexTensor(_e.add(_e.multiply(z.real, 0), 1), _e.multiply(z.imag, 0))
        result = z
        for _ in range(w - 1):
            result = multiply(result, z)
        return result
    z, w = together((z, w))
    # A base of 0 is replaced, because exp(log 0) is NaN.
    size = absolute(z)
    safe = ComplexTensor(tile1("function (A, S) -> (Y) { Y = S == 0 ? 1.0 : A; }", z.real, size), z.imag)
    result = exp(multiply(w, log(safe)))
    text = """function (X, Y, S, C, D) -> (P, Q) {
      N = C == 0 && D == 0;
      P = S == 0 ? (N ? 1.0 : C > 0 ? 0.0 : 0.0 / (S == 0 ? 0.0 : 1.0)) : X;
      Q = S == 0 ? (N || C > 0 ? 0.0 : 0.0 / (S == 0 ? 0.0 : 1.0)) : Y;
    }"""
    return ComplexTensor(*tiles(text, result.real, result.imag, size, w.real, w.imag))


def _test(text):
    program = f"function (A, B) -> (Y) {{ Y = {text}; }}"

    def function(z, /):
        z = complex_tensor(z)
        return tile1(program, z.real, z.imag)

    return function


isnan = _test("isnan(A) || isnan(B)")
isinf = _test("isinf(A) || isinf(B)")
isfinite = _test("!(isnan(A) || isinf(A) || isnan(B) || isinf(B))")
is_nonzero = _test("A != 0 || B != 0")


def _comparison(text):
    program = f"function (A, B, C, D) -> (Y) {{ Y = {text}; }}"

    def function(z, w, /):
        z, w = together((z, w))
        return tile1(program, z.real, z.imag, w.real, w.imag)

    return function


equal = _comparison("A == C && B == D")
not_equal = _comparison("A != C || B != D")


def isclose(z, w, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    z, w = together((z, w))
    limit = _e.add(_e.multiply(absolute(w), rtol), atol)
    near = _e.logical_and(_e.less_equal(absolute(subtract(z, w)), limit), _e.logical_and(isfinite(z), isfinite(w)))
    near = _e.logical_or(near, equal(z, w))
    return _e.logical_or(near, _e.logical_and(isnan(z), isnan(w))) if equal_nan else near
