# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators."""

import numpy as np

from .draw import (
    EVERYTHING,
    FLOATS,
    INTEGERS,
    NUMBERS,
    array,
    broadcastable,
    given,
    is_float,
    maybe,
    pick,
    recipe,
    shape,
    strange,
    typed,
)

UNARY = {  # operator: (types, low, high)
    "Abs": (NUMBERS, -9, 9),
    "Neg": (FLOATS + INTEGERS[:4], -9, 9),
    "Sign": (NUMBERS, -3, 3),
    "Ceil": (FLOATS, -4, 4),
    "Floor": (FLOATS, -4, 4),
    "Round": (FLOATS, -4, 4),
    "Exp": (FLOATS, -4, 4),
    "Log": (FLOATS, 0.01, 9),
    "Sqrt": (FLOATS, 0, 9),
    "Reciprocal": (FLOATS, 0.1, 9),
    "Erf": (FLOATS, -3, 3),
    "Sin": (FLOATS, -9, 9),
    "Cos": (FLOATS, -9, 9),
    "Tan": (FLOATS, -1.3, 1.3),
    "Asin": (FLOATS, -1, 1),
    "Acos": (FLOATS, -1, 1),
    "Atan": (FLOATS, -9, 9),
    "Sinh": (FLOATS, -4, 4),
    "Cosh": (FLOATS, -4, 4),
    "Tanh": (FLOATS, -4, 4),
    "Asinh": (FLOATS, -9, 9),
    "Acosh": (FLOATS, 1.01, 9),
    "Atanh": (FLOATS, -0.95, 0.95),
    "Relu": (FLOATS, -3, 3),
    "Sigmoid": (FLOATS, -9, 9),
    "Softplus": (FLOATS, -9, 9),
    "Softsign": (FLOATS, -9, 9),
    "HardSwish": (FLOATS, -5, 5),
    "Mish": (FLOATS, -5, 5),
    "IsNaN": (FLOATS, -1, 1),
    "Not": ((np.bool_,), 0, 1),
    "BitwiseNot": (INTEGERS, -99, 99),
    "Identity": (EVERYTHING, -9, 9),
}


@recipe(*UNARY)
def unary(rng, name):
    types, low, high = UNARY[name]
    dtype = pick(rng, types)
    values = strange(rng, array(rng, shape(rng), dtype, low, high)).astype(dtype)
    return [values], {}, 1


WITH_ALPHA = {
    "Celu": {"alpha": (0.3, 3)},
    "Elu": {"alpha": (0.3, 3)},
    "LeakyRelu": {"alpha": (-0.5, 0.5)},
    "Selu": {"alpha": (0.5, 2), "gamma": (1, 2)},
    "ThresholdedRelu": {"alpha": (-1, 2)},
    "HardSigmoid": {"alpha": (0.05, 0.5), "beta": (0, 1)},
    "Shrink": {"lambd": (0.1, 1), "bias": (0, 0.5)},
}


@recipe(*WITH_ALPHA)
def activation(rng, name):
    dtype = np.float32 if name == "Celu" else pick(rng, FLOATS)
    attributes = {}
    for key, (low, high) in WITH_ALPHA[name].items():
        if rng.random() < 0.6:
            attributes[key] = float(np.float32(rng.uniform(low, high)))
    return [strange(rng, array(rng, shape(rng), dtype, -4, 4)).astype(dtype)], attributes, 1


@recipe("Gelu")
def gelu(rng, _):
    return (
        [array(rng, shape(rng), pick(rng, FLOATS), -4, 4)],
        given(approximate=maybe(rng, pick(rng, ("none", "tanh")))),
        1,
    )


@recipe("PRelu")
def prelu(rng, _):
    dims = shape(rng)
    slope = [1 if rng.random() < 0.4 else d for d in dims[rng.integers(0, len(dims) + 1) :]]
    dtype = pick(rng, FLOATS)
    return [array(rng, dims, dtype), array(rng, slope, dtype)], {}, 1


@recipe("IsInf")
def isinf(rng, _):
    x = strange(rng, array(rng, shape(rng), np.float32)).astype(np.float32)
    return (
        [x],
        given(
            detect_negative=maybe(rng, int(rng.integers(2))),
            detect_positive=maybe(rng, int(rng.integers(2))),
        ),
        1,
    )


@recipe("Clip")
def clip(rng, _):
    x = array(rng, shape(rng), pick(rng, NUMBERS), -9, 9)
    low = maybe(rng, typed(rng.integers(0, 4), x), 0.7)
    high = maybe(rng, typed(rng.integers(2, 8), x), 0.7)
    return [x, low] + ([] if high is None else [high]), {}, 1


BINARY = {
    "Add": NUMBERS,
    "Sub": NUMBERS,
    "Mul": NUMBERS,
    "Div": NUMBERS,
    "Pow": FLOATS,
    "Equal": EVERYTHING,
    "Greater": NUMBERS,
    "Less": NUMBERS,
    "GreaterOrEqual": NUMBERS,
    "LessOrEqual": NUMBERS,
    "And": (np.bool_,),
    "Or": (np.bool_,),
    "Xor": (np.bool_,),
    "BitwiseAnd": INTEGERS,
    "BitwiseOr": INTEGERS,
    "BitwiseXor": INTEGERS,
    "BitShift": INTEGERS[4:],
    "Mod": NUMBERS,
}


@recipe(*BINARY)
def binary(rng, name):
    dtype = pick(rng, BINARY[name])
    first, second = broadcastable(rng, 2)
    positive = name in ("Pow", "BitShift")
    a = array(rng, first, dtype, 0.1 if positive else -9, 9)
    b = array(rng, second, dtype, 0 if positive else -4, 4)
    attributes = {}
    if name in ("Div", "Mod") and not is_float(b):
        b = np.where(b == 0, 3, b).astype(dtype)
        if name == "Div":  # the standard truncates, the evaluator floors
            a, b = np.abs(a).astype(dtype), np.abs(b).astype(dtype)
    if name == "Mod" and (is_float(b) or rng.random() < 0.3):
        attributes["fmod"] = 1
        b = np.where(b == 0, 2.5, b).astype(dtype)
    if name == "BitShift":
        attributes["direction"] = pick(rng, ("LEFT", "RIGHT"))
    return [a, b], attributes, 1


@recipe("Max", "Min", "Sum", "Mean")
def variadic(rng, name):
    dtype = pick(rng, NUMBERS if name in ("Max", "Min") else FLOATS)
    count = int(rng.integers(1, 5))
    return [array(rng, s, dtype, -9, 9) for s in broadcastable(rng, count)], {}, 1


@recipe("Where")
def where(rng, _):
    dtype = pick(rng, EVERYTHING)
    c, a, b = broadcastable(rng, 3)
    return [array(rng, c, np.bool_), array(rng, a, dtype), array(rng, b, dtype)], {}, 1


@recipe("Swish")
def swish(rng, _):
    return [array(rng, shape(rng), pick(rng, FLOATS), -5, 5)], given(alpha=maybe(rng, 0.5)), 1


@recipe("SwiGLU")
def swiglu(rng, _):
    dims, dtype = shape(rng), pick(rng, FLOATS)
    return [array(rng, dims, dtype), array(rng, dims, dtype)], given(alpha=maybe(rng, 0.5)), 1
