# SPDX-License-Identifier: Apache-2.0
"""Random primitives for recipes: sizes, elements, shapes that fit, and the registry of recipes.

A recipe is a function of a random generator and the operator's name. It returns a `Case`, or a
tuple of its first three fields.
"""

import dataclasses

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16).type
FLOATS = (np.float32, np.float32, np.float64, np.float16, BFLOAT16)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = FLOATS + INTEGERS
EVERYTHING = NUMBERS + (np.bool_,)

ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"
MICROSOFT = "com.microsoft"


@dataclasses.dataclass
class Case:
    """Operands x0, x1 … of a node and its results y0, y1 …"""

    operands: list  # arrays (strings have type object), lists of arrays; None: left out
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    opset: int | None = None  # the only valid operator set
    exact: bool = False  # 16-bit floats are not widened for the reference
    nodes: list | None = None  # several nodes instead of one
    oracle: str = "onnx"  # or onnxruntime
    oracle_attributes: dict | None = None  # attributes for the oracle instead
    finish: object = None  # a function of the oracle's results that completes them
    left_out: tuple = ()  # omitted outputs


RECIPES = {}  # (domain, operator) -> function of a generator


def recipe(*names, domain=""):
    def register(function):
        for name in names:
            RECIPES[domain, name] = lambda rng, name=name: function(rng, name)
        return function

    return register


# --- Sizes


def dim(rng, zero=True):
    return int(
        rng.choice([0 if zero else 1, 1, 1, 2, 3, 4, 5, 7], p=[0.03, 0.1, 0.1] + [0.154] * 5)
    )


def dims(rng, count, zero=False):
    return [dim(rng, zero) for _ in range(count)]


def shape(rng, least=0, most=4, zero=True):
    return [dim(rng, zero) for _ in range(rng.integers(least, most + 1))]


def broadcastable(rng, count, most=4):
    """Shapes that broadcast together."""
    whole = shape(rng, 0, most)
    shapes = []
    for _ in range(count):
        skip = rng.integers(0, len(whole) + 1) if rng.random() < 0.4 else 0
        shapes.append([1 if rng.random() < 0.25 else d for d in whole[skip:]])
    return shapes


def axis_of(rng, rank):
    return int(rng.integers(-rank, rank))


def some_axes(rng, rank):
    axes = [int(a) for a in np.flatnonzero(rng.random(rank) < 0.5)]
    rng.shuffle(axes)
    return [a - rank if rng.random() < 0.3 else a for a in axes]


# --- Choices


def pick(rng, values):
    return values[rng.integers(len(values))]


def flip(rng):
    return int(rng.integers(2))


def between(rng, low, high):
    """An integer in [low, high], both included."""
    return int(rng.integers(low, high + 1))


def real(rng, low, high):
    """A number that float32 represents exactly."""
    return float(np.float32(rng.uniform(low, high)))


def reals(rng, count, low=-2, high=2):
    return [real(rng, low, high) for _ in range(count)]


def maybe(rng, value, chance=0.5):
    return value if rng.random() < chance else None


def given(**attributes):
    """The attributes that are not None."""
    return {name: value for name, value in attributes.items() if value is not None}


def trimmed(*operands):
    """The operands without trailing None."""
    operands = list(operands)
    while operands and operands[-1] is None:
        operands.pop()
    return operands


# --- Elements


def array(rng, dims, dtype=np.float32, low=-3.0, high=3.0):
    dims = tuple(dims)
    if dtype == np.bool_:
        return np.asarray(rng.random(dims) < 0.5)
    if np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        low, high = max(int(low), bounds.min), min(int(high), bounds.max)
        return np.asarray(rng.integers(low, high, dims, endpoint=True)).astype(dtype)
    return np.asarray(rng.uniform(low, high, dims)).astype(dtype)


def is_float(values):
    return values.dtype.kind == "f" or values.dtype == BFLOAT16


def strange(rng, values):
    """Sometimes replaces some elements by NaN, infinities or zeros."""
    if values.size and is_float(values) and rng.random() < 0.2:
        places = rng.random(values.shape) < 0.3
        odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], values.shape).astype(values.dtype)
        values = np.where(places, odd, values)
    return values


def typed(values, like):
    return np.asarray(values).astype(like.dtype)


def ints(values, dtype=np.int64):
    return np.array(values, dtype=dtype)


WORDS = (
    "a",
    "b",
    "cat",
    "Dog",
    "the",
    "THE",
    "",
    "ab",
    "monday",
    "über",
    "Ωmega",
    "x y",
    "1.5",
    "-3",
)


def strings(rng, dims, words=WORDS):
    return np.asarray(rng.choice(words, tuple(dims)), dtype=object)


def anything(rng, dims):
    """Elements of any type, including strings."""
    return (
        strings(rng, dims) if rng.random() < 0.1 else array(rng, dims, pick(rng, EVERYTHING), -9, 9)
    )
