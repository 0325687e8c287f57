# SPDX-License-Identifier: Apache-2.0
"""keras.ops.random: numbers are functions of a seed and of their position, the same eager and captured."""

import functools
import math as _math

import numpy as np
from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, global_seed_generator, make_default_seed
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, formula, like, one, op, reshaped, size_of
from keras_tartan.src._type import BackendTensor, constant_array
from keras_tartan.src._values import cast, from_array
from tartan._tensor import tile1

_SECOND = 0x5bd1e995  # salt of the second stream of normal numbers
_NEXT = "function (S, C) -> (O) { O = S + C; }"
_NEXT_OF_ALL = "function (S) -> (O) { O = ((S + as_uint(1, 32)) * as_uint(5387, 32)) % as_uint(933199, 32); }"


def _drawn(seed):
    """Does what Keras' draw_seed does, with one operation for the next state of a generator."""
    if type(seed) is int and 0 <= seed < 2**32:
        return from_array(np.array([seed, 0], "uint32"))
    if seed is not None and type(seed) is not SeedGenerator:
        return cast(draw_seed(seed), "uint32")
    generator = global_seed_generator() if seed is None else seed
    drawn = T(generator.state.value)
    generator.state.assign(tile1(_NEXT_OF_ALL, drawn) if seed is None else tile1(_NEXT, drawn, _pair(0, 1)))
    return drawn


@functools.cache
def _value_of(low, high):
    return constant_array(np.array([low, high], "uint32"))._value


def _pair(low, high):
    """Returns a constant uint32[2], as a tensor of its own: a tensor refers to the capture that it was made in."""
    return BackendTensor(_value_of(low, high))


def _unit(shape, seed, salt=0):
    """Returns uniform float32 in [0, 1)."""
    return _stream(shape, _drawn(seed), salt)


def _sizes(shape):
    """Returns a shape as numbers. ValueError if one is negative."""
    shape = tuple([int(d) for d in shape])
    if any([size < 0 for size in shape]):
        raise ValueError(f"the shape {list(shape)} has a negative size")
    return shape


def _salted(seed, salt):
    return tile1("function (S, C) -> (O) { O = S ^ C; }", seed, _pair(0, salt)) if salt else seed


def _filled(shape, body, *operands):
    """Returns float32 of a shape: the value `O` of Tile statements, in which `{sizes}` are the sizes for prng."""
    shape = _sizes(shape)
    if size_of(shape) == 0:
        return knp.zeros(shape, "float32")
    body = body.replace("{sizes}", ", ".join(map(str, shape or (1,))))
    return reshaped(tile1(f"function ({'S, C'[:3 * len(operands) - 2]}) -> (O) {{ {body} }}", *operands), shape)


def _stream(shape, seed, salt=0):
    return _filled(shape, "O = prng(S, {sizes});", _salted(seed, salt))


def _float_type(dtype):
    return dtype or floatx()


def _is_number(x, number):
    return type(x) in (int, float) and x == number


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    dtype = _float_type(dtype)
    numbers = cast(_unit(shape, seed), dtype)
    if _is_number(minval, 0) and _is_number(maxval, 1):
        return numbers
    low, high = T(minval, dtype), T(maxval, dtype)
    return op("Add", op("Mul", numbers, op("Sub", high, low)), low)


def _standard_normal(shape, seed, salt=0):
    """Returns normal float32 by the Box-Muller transform of two streams."""
    text = ("A = prng(S, {sizes}); D = S ^ C; B = prng(D, {sizes}); "
            "O = sqrt(-2.0 * log(1.0 - A)) * cos(6.283185307179586 * B);")
    return _filled(shape, text, _salted(seed, salt), _pair(0, salt ^ (salt + _SECOND)))


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    dtype = _float_type(dtype)
    numbers = _standard_normal(shape, _drawn(seed))
    if not _is_number(stddev, 1):
        numbers = knp.multiply(numbers, T(stddev, "float32"))
    if not _is_number(mean, 0):
        numbers = knp.add(numbers, T(mean, "float32"))
    return cast(numbers, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal distribution within two standard deviations, by the inverse distribution function."""
    from keras_tartan.src.math import erfinv

    dtype = _float_type(dtype)
    edge = _math.erf(2.0 / _math.sqrt(2.0))
    numbers = knp.multiply(knp.subtract(knp.multiply(_unit(shape, seed), 2.0), 1.0), edge)
    numbers = knp.clip(knp.multiply(erfinv(numbers), _math.sqrt(2.0)), -2.0, 2.0)
    return cast(knp.add(knp.multiply(numbers, T(stddev, "float32")), T(mean, "float32")), dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    low, high = T(minval, "float64"), T(maxval, "float64")
    numbers = cast(_unit(shape, seed), "float64")
    numbers = knp.add(knp.floor(knp.multiply(numbers, knp.subtract(high, low))), low)
    return cast(numbers, dtype)


def categorical(logits, num_samples, dtype="int32", seed=None):
    logits = T(logits)
    rows, classes = logits.shape
    numbers = _unit((rows, num_samples, classes), seed)
    gumbel = formula("O = -log(-log(max(X, 1e-20)) + 1e-20);", numbers)
    scores = knp.add(cast(gumbel, "float32"), knp.expand_dims(cast(logits, "float32"), 1))
    return cast(knp.argmax(scores, -1), dtype)


def dropout(inputs, rate, noise_shape=None, seed=None):
    inputs = T(inputs)
    shape = inputs.shape if noise_shape is None else [
        d if n is None else n for d, n in zip(inputs.shape, noise_shape)]
    keep = 1.0 - float(rate)
    if keep <= 0:
        return knp.zeros_like(inputs)
    kept = knp.less(_unit(shape, seed, 0x27d4eb2f), keep)
    scaled = op("Mul", inputs, like(1.0 / keep, inputs))
    return op("Where", kept, scaled, like(0, inputs))


def shuffle(x, axis=0, seed=None):
    x = T(x)
    axis = one(axis, len(x.shape))
    order = knp.argsort(_unit((x.shape[axis],), seed))
    return op("Gather", x, order, axis=axis)


def gamma(shape, alpha, dtype=None, seed=None):
    """Marsaglia-Tsang method with a fixed number of parallel trials; the first accepted one is used."""
    dtype = _float_type(dtype)
    seed = _drawn(seed)
    alpha = knp.broadcast_to(T(alpha, "float32"), shape)
    raised = knp.where(knp.less(alpha, 1.0), knp.add(alpha, 1.0), alpha)
    d = knp.subtract(raised, 1.0 / 3.0)
    c = knp.reciprocal(knp.sqrt(knp.multiply(d, 9.0)))
    result = d
    for attempt in reversed(range(8)):
        x = _standard_normal(shape, seed, 3 * attempt + 1)
        u = _stream(shape, seed, 7919 * (attempt + 1))
        v = formula("R = 1.0 + Y * X; O = R * R * R;", x, c)
        good = tile1("function (X, U, V, D) -> (O) { P = V > 0 ? V : 1.0; "
                     "O = V > 0 && log(U + 1e-30) < 0.5 * X * X + D - D * P + D * log(P); }", x, u, v, d)
        result = knp.where(good, knp.multiply(d, v), result)
    boost = knp.power(_stream(shape, seed, 104729), knp.reciprocal(alpha))
    result = knp.where(knp.less(alpha, 1.0), knp.multiply(result, boost), result)
    return cast(result, dtype)


def beta(shape, alpha, beta, dtype=None, seed=None):
    dtype = _float_type(dtype)
    seed = _drawn(seed)
    other = op("BitwiseXor", seed, from_array(np.array([0x9e3779b9, 0], "uint32")))
    a, b = gamma(shape, alpha, "float32", _Fixed(seed)), gamma(shape, beta, "float32", _Fixed(other))
    return cast(knp.divide(a, knp.add(a, b)), dtype)


class _Fixed(SeedGenerator):
    """A seed that was drawn already."""

    def __init__(self, seed):
        self._seed = seed

    def next(self, ordered=True):
        return self._seed


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    dtype = _float_type(dtype)
    counts = knp.broadcast_to(T(counts, "float32"), shape)
    probabilities = knp.broadcast_to(T(probabilities, "float32"), shape)
    if counts.is_traced:
        raise NotImplementedError("random.binomial with counts that a captured step computes is not implemented in the tartan backend")
    most = int(counts.numpy().max()) if counts.size else 0
    tries = _unit((most,) + tuple(shape), seed)
    number = reshaped(knp.arange(most, dtype="float32"), (most,) + (1,) * len(shape))
    hit = knp.logical_and(knp.less(tries, probabilities), knp.less(number, counts))
    return cast(knp.sum(cast(hit, "float32"), 0), dtype)
