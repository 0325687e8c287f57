# SPDX-License-Identifier: Apache-2.0
"""keras.random: numbers and the states of generators."""

import gc
import importlib.util
import os
import weakref

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import tartan
import keras
from keras.src.random.seed_generator import draw_seed, global_seed_generator

SECOND = 0x5bd1e995  # salt of the second stream of normal numbers


def _generator(*state):
    generator = keras.random.SeedGenerator(0)
    generator.state.assign(np.array(state, "uint32"))
    return generator


def _states(draw):
    """Draws three times. Returns the states of the generator, which may wrap around."""
    generator = _generator(7, 2**32 - 2)
    return [[np.array(draw(generator)), np.array(generator.state.value)][1] for _ in range(3)]


# First in this file: what a draw keeps for later ones is made in the captured function.
def test_a_captured_function_that_draws_is_freed():
    def reference():
        variable = tartan.Variable(np.ones(3, "float32"))
        tartan.function(lambda: keras.random.normal((3,), mean=variable.value, seed=_generator(11, 0)))()
        return weakref.ref(variable)

    found = reference()
    gc.collect()
    assert found() is None


def test_a_generator_has_the_states_of_keras():
    np.testing.assert_array_equal(_states(lambda g: keras.random.uniform((2,), seed=g)), _states(draw_seed))


def test_the_generator_of_all_has_the_states_of_keras():
    states = []
    for draw in (lambda: keras.random.normal((2,)), lambda: draw_seed(None)):
        keras.utils.set_random_seed(2**32 - 7)
        states.append([[np.array(draw()), np.array(global_seed_generator().state.value)][1] for _ in range(3)])
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize("seed", [0, 5, 2**31 + 3, 2**32 - 1])
def test_a_number_is_the_first_part_of_a_state(seed):
    np.testing.assert_array_equal(keras.random.uniform((9,), seed=seed), keras.random.uniform((9,), seed=_generator(seed, 0)))


@pytest.mark.parametrize("shape", [(), (30,), (3, 5, 2)])
def test_normal_numbers_are_the_box_muller_transform_of_two_streams(shape):
    a = np.array(keras.random.uniform(shape, seed=5), "float64")
    b = np.array(keras.random.uniform(shape, seed=_generator(5, SECOND)), "float64")
    found = keras.random.normal(shape, seed=5)
    np.testing.assert_allclose(found, np.sqrt(-2 * np.log(1 - a)) * np.cos(2 * np.pi * b), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(np.ravel(found), keras.random.normal((int(np.prod(shape)),), seed=5))


def test_numbers_in_a_captured_function_are_those_of_eager_mode():
    one, other = _generator(7, 0), _generator(7, 0)

    @tartan.function
    def captured():
        return keras.random.normal((3, 4), seed=other), keras.random.uniform((5,), seed=other)

    for _ in range(2):
        eager = keras.random.normal((3, 4), seed=one), keras.random.uniform((5,), seed=one)
        for a, b in zip(eager, captured()):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(one.state.value, other.state.value)


def test_means_and_ranges_scale_numbers():
    normal, uniform = np.array(keras.random.normal((50,), seed=3)), np.array(keras.random.uniform((50,), seed=3))
    np.testing.assert_allclose(keras.random.normal((50,), mean=2, stddev=3.0, seed=3), 3 * normal + 2, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(keras.random.uniform((50,), -1, 4, seed=3), 5 * uniform - 1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("draw", [keras.random.normal, keras.random.uniform])
def test_numbers_of_a_seed_are_one_operation(draw):
    assert draw((3, 4), seed=5)._depth == 1
