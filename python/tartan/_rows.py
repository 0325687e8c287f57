# SPDX-License-Identifier: Apache-2.0
"""The elementwise functions, one row each: name, type rule, ONNX operator, Tile expression.

The expression defines the function; its derivative and its batching rule follow from it. tartan/_elementwise.py and
keras_tartan convert operands by the type rules of their standards, and apply the row. The ONNX operator ("-" for none)
is what a model exported to ONNX contains.

| type rule | operands | result |
|---|---|---|
| float, floats | one or two floats | float |
| same, number | one or two numbers | same dtype |
| round | one float; integers stay | same dtype |
| test, compare | one or two numbers | bool |
| truth, logic | one or two bools | bool |
| bits, shift | two integers (bits: or bools) | same dtype |"""

from typing import NamedTuple

from tartan._tensor import operator, state, tile1

_TABLE = """
acos                float   Acos            acos(X)
acosh               float   Acosh           acosh(X)
angle               float   -               S = X < 0 || X == 0 && recip(X) < 0; \
= isnan(X) ? X : S ? sign(X - 1.0) * -3.141592653589793 : sign(X) * 0.0
asin                float   Asin            asin(X)
asinh               float   Asinh           asinh(X)
atan                float   Atan            atan(X)
atanh               float   Atanh           atanh(X)
cos                 float   Cos             cos(X)
cosh                float   Cosh            cosh(X)
deg2rad             float   -               X * 0.017453292519943295
erf                 float   Erf             erf(X)
exp                 float   Exp             exp(X)
exp2                float   -               pow(2.0, X)
expm1               float   -               expm1(X)
fabs                float   Abs             abs(X)
log                 float   Log             log(X)
log10               float   -               log(X) * 0.4342944819032518
log1p               float   -               log1p(X)
log2                float   -               log(X) * 1.4426950408889634
rad2deg             float   -               X * 57.29577951308232
reciprocal          float   Reciprocal      recip(X)
rsqrt               float   -               recip(sqrt(X))
sigmoid             float   Sigmoid         sigmoid(X)
sin                 float   Sin             sin(X)
sinh                float   Sinh            sinh(X)
sqrt                float   Sqrt            sqrt(X)
tan                 float   Tan             tan(X)
tanh                float   Tanh            tanh(X)
cbrt                float   -               A = abs(X); P = pow(A == 0 ? 1.0 : A, 0.3333333333333333); \
R = isinf(A) ? A : P - (P - A / (P * P)) / 3.0; = X > 0 ? R : X < 0 ? -R : X
sinc                float   -               P = (X == 0 ? 1.0 : X) * 3.141592653589793; = X == 0 ? 1.0 : sin(P) / P
abs                 same    Abs             abs(X)
negative            same    Neg             -X
sign                same    Sign            sign(X)
square              same    -               X * X
ceil                round   Ceil            ceil(X)
floor               round   Floor           floor(X)
rint                round   Round           round(X)
trunc               round   -               trunc(X)
isfinite            test    -               !(isnan(X) || isinf(X))
isinf               test    -               isinf(X)
isnan               test    IsNaN           isnan(X)
isneginf            test    -               isinf(X) && X < 0
isposinf            test    -               isinf(X) && X > 0
logical_not         truth   Not             !X
add                 number  Add             A + B
maximum             number  Max             max(A, B)
minimum             number  Min             min(A, B)
multiply            number  Mul             A * B
subtract            number  Sub             A - B
fmax                number  -               isnan(A) ? B : isnan(B) ? A : max(A, B)
fmin                number  -               isnan(A) ? B : isnan(B) ? A : min(A, B)
fmod                number  -               fmod(A, B)
power               number  Pow             pow(A, B)
atan2               floats  -               atan2(A, B)
divide              floats  Div             A / B
float_power         floats  Pow             pow(A, B)
heaviside           floats  -               A > 0 ? 1.0 : A < 0 ? 0.0 : isnan(A) ? A : B
hypot               floats  -               P = abs(A); Q = abs(B); M = max(P, Q); S = M == 0 || isinf(M) ? 1.0 : M; \
L = min(P, Q) / S; = isinf(A) || isinf(B) ? inf() : M * sqrt(1 + L * L)
logaddexp           floats  -               D = A == B ? 0.0 : A - B; = max(A, B) + log1p(exp(-abs(D)))
logaddexp2          floats  -               D = A == B ? 0.0 : A - B; \
= max(A, B) + log1p(pow(2.0, -abs(D))) * 1.4426950408889634
equal               compare Equal           A == B
greater             compare Greater         A > B
greater_equal       compare GreaterOrEqual  A >= B
less                compare Less            A < B
less_equal          compare LessOrEqual     A <= B
not_equal           compare -               A != B
logical_and         logic   And             A && B
logical_or          logic   Or              A || B
logical_xor         logic   Xor             A != B
bitwise_and         bits    -               A & B
bitwise_or          bits    -               A | B
bitwise_xor         bits    -               A ^ B
bitwise_left_shift  shift   -               A << B
bitwise_right_shift shift   -               A >> B
"""


class Row(NamedTuple):
    """A function of the table; `text` is its Tile function."""

    name: str
    types: str
    onnx: str
    text: str

    def __call__(self, *operands):
        """Applies the function to operands whose dtypes follow the type rule."""
        if self.onnx and state.notes is not None:
            return operator(self.onnx, operands)
        return tile1(self.text, *operands, function=self.name)


def function_text(operands, expression):
    """Returns a Tile function with the output `Y`, from an expression, which may follow on statements: `A = ...; = ...`."""
    before, _, value = f"; {expression}".rpartition("; ")
    return f"function ({operands}) -> (Y) {{ {before[2:]}{'; ' if before else ''}Y = {value.removeprefix('= ')}; }}"


def _row(line):
    name, types, onnx, expression = line.split(None, 3)
    operands = "X" if types in ("float", "same", "round", "test", "truth") else "A, B"
    return Row(name, types, "" if onnx == "-" else onnx, function_text(operands, expression))


ROWS = {row.name: row for row in map(_row, _TABLE.strip().splitlines())}
