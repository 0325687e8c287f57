# SPDX-License-Identifier: Apache-2.0
"""Loops of captured functions: tartan.scan and Keras' recurrent layers, against the same steps one by one."""

import os

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "tartan")
import keras_tartan  # noqa: F401, E402
import keras  # noqa: E402
from keras import layers, ops  # noqa: E402

import tartan  # noqa: E402
from tartan import _core  # noqa: E402

_STEPS = 19
_random = None  # the numbers of a test, whichever tests run before it


@pytest.fixture(autouse=True)
def random_numbers():
    global _random
    _random = np.random.default_rng(3)


def _values(*shape):
    return _random.standard_normal(shape).astype("float32") * 0.5


@pytest.fixture
def one_by_one(monkeypatch):
    """Returns a function after whose call steps are captured one by one."""
    return lambda: monkeypatch.setattr(_core, "min_loop_iterations", 10**9)


def _network(w, b, x, reverse):
    def step(carry, row):
        h, (c, nothing) = carry
        h = tartan.tanh(row["x"] + tartan.matmul(h, w) + b)
        c = c * 0.5 + h
        return (h, (c, nothing)), {"y": h * c, "none": None}

    zeros = tartan.zeros((3, 5))
    return tartan.scan(step, (zeros, (zeros, None)), {"x": x}, reverse=reverse)


def _loss(w, b, x, reverse):
    (h, (c, _)), rows = _network(w, b, x, reverse)
    return tartan.sum(h * c) + tartan.sum(rows["y"] * rows["y"])


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_in_a_captured_function_is_a_loop_with_gradients(reverse):
    # Small weights, so that rounding errors do not grow from step to step.
    arguments = _values(5, 5) * 0.4, _values(5), _values(_STEPS, 3, 5)
    work = tartan.value_and_grad(lambda *args: _loss(*args, reverse), argnums=(0, 1, 2))
    value, gradients = work(*map(tartan.asarray, arguments))
    captured = tartan.function(work)
    for _ in range(2):
        found, found_gradients = captured(*map(tartan.asarray, arguments))
        np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-5)
        for ours, theirs in zip(found_gradients, gradients):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_the_body_of_a_scan_is_captured_once():
    calls = []

    def step(carry, row):
        calls.append(1)
        return carry + row, carry

    function = tartan.function(lambda x: tartan.scan(step, tartan.zeros(()), x))
    total, before = function(tartan.asarray(np.arange(1000, dtype="float32")))
    assert len(calls) == 1
    assert total.item() == 499500
    assert before.numpy()[:4].tolist() == [0, 0, 1, 3]


@pytest.mark.parametrize("reverse", [False, True])
def test_keras_scan_in_a_captured_function_is_a_loop_with_gradients(reverse):
    calls = []

    def step(carry, row):
        calls.append(1)
        h = ops.tanh(row[0] * carry["h"] + row[1])
        return {"h": h}, (h * h, carry["h"])

    def loss(h, a, b):
        carry, (squares, before) = ops.scan(step, {"h": h}, (a, b), reverse=reverse)
        doubled = ops.map(lambda x: x * 2, squares)
        return ops.sum(carry["h"]) + ops.sum(doubled[:7]) + ops.sum(before * a)

    arguments = [ops.convert_to_tensor(x) for x in (_values(4), _values(_STEPS, 4), _values(_STEPS, 4))]
    work = tartan.value_and_grad(loss, argnums=(0, 1, 2))
    value, gradients = work(*arguments)
    calls.clear()
    found, found_gradients = tartan.function(work)(*arguments)
    assert len(calls) == 1
    np.testing.assert_allclose(float(found), float(value), rtol=1e-5)
    for ours, theirs in zip(found_gradients, gradients):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_kernels_copy_the_carry_of_each_step_in_order(monkeypatch):
    monkeypatch.setenv("TARTAN_TIER", "exact")
    function = tartan.function(lambda x: tartan.scan(lambda c, row: (c * 0.5 + row, c), x[0] * 0, x))
    for _ in range(2):
        x, carry, expected = _values(_STEPS, 300), np.zeros(300, "float32"), []
        for row in x:
            expected.append(carry)
            carry = carry * np.float32(0.5) + row
        last, before = function(tartan.asarray(x))
        np.testing.assert_allclose(before.numpy(), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last.numpy(), carry, rtol=1e-5, atol=1e-6)


def test_a_keras_scan_whose_carry_grows_is_an_error_in_a_captured_function():
    function = tartan.function(lambda x: ops.scan(lambda c, row: ((c, row), row), x[0], x)[0])
    with pytest.raises(ValueError, match="2 tensors for one of 1"):
        function(ops.ones((_STEPS, 3)))


def test_a_step_that_assigns_to_a_variable_is_captured_one_by_one():
    count = tartan.Variable(np.zeros((), "float32"))

    def step(carry, row):
        count.assign(count.value + 1)
        return carry + row, None

    function = tartan.function(lambda x: tartan.scan(step, tartan.zeros(()), x)[0])
    assert function(tartan.asarray(np.ones(_STEPS, "float32"))).item() == _STEPS
    assert float(count.numpy()) == _STEPS


_LAYERS = {
    "lstm": lambda: layers.LSTM(7),
    "lstm sequences backwards": lambda: layers.LSTM(7, return_sequences=True, go_backwards=True),
    "gru": lambda: layers.GRU(6, return_sequences=True),
    "gru before": lambda: layers.GRU(6, reset_after=False),
    "dropout": lambda: layers.LSTM(5, dropout=0.3, recurrent_dropout=0.2, seed=4),
    "both directions": lambda: layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
    "stacked cells": lambda: layers.RNN([layers.LSTMCell(5), layers.GRUCell(4)]),
}


def _losses(make, masked):
    keras.utils.set_random_seed(5)
    parts = [keras.Input((_STEPS, 3))] + ([layers.Masking()] if masked else [])
    model = keras.Sequential([*parts, make(), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    random = np.random.default_rng(1)
    x = random.standard_normal((2, _STEPS, 3)).astype("float32")
    if masked:
        x[0, 11:] = 0
        x[1, 4:6] = 0
    y = random.standard_normal(model.compute_output_shape(x.shape)).astype("float32")
    losses = [float(model.train_on_batch(x, y)) for _ in range(4)]
    return losses, model.predict(x, verbose=0)


@pytest.mark.parametrize("name, masked", [
    ("lstm", False), ("lstm sequences backwards", True), ("gru", True), ("gru before", False), ("dropout", False),
    ("both directions", True), ("stacked cells", False)])
def test_recurrent_layers_train_in_loops_as_one_by_one(name, masked, one_by_one):
    losses, predicted = _losses(_LAYERS[name], masked)
    one_by_one()
    expected, expected_predicted = _losses(_LAYERS[name], masked)
    np.testing.assert_allclose(losses, expected, rtol=2e-5)
    np.testing.assert_allclose(predicted, expected_predicted, rtol=1e-4, atol=1e-5)
