# SPDX-License-Identifier: Apache-2.0
"""All signatures of a training step contain the same update of the weights, which is captured once."""

import importlib.util
import os

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import keras
from keras import layers, optimizers
from keras_tartan.src import _updates

_LENGTHS = (5, 3, 7, 5)


def _model(optimizer):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((None, 4))
    hidden = layers.LayerNormalization()(layers.Dense(6, activation="tanh")(inputs))
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(hidden)))
    model.compile(optimizer, "mse")
    return model


def _train(model, lengths=_LENGTHS):
    random = np.random.default_rng(5)
    return [model.train_on_batch(random.standard_normal((3, length, 4)).astype("f4"), random.standard_normal((3, 1)).astype("f4"))
            for length in lengths]


def _counted(monkeypatch, kind):
    """Returns a list with an element for each captured update of a weight."""
    calls, inherited = [], kind.update_step

    def update_step(self, *args):
        calls.append(args)
        return inherited(self, *args)

    monkeypatch.setattr(kind, "update_step", update_step)
    return calls


_OPTIMIZERS = {
    "Adam": lambda: optimizers.Adam(0.01),
    "AdamW with clipping and averages": lambda: optimizers.AdamW(0.01, global_clipnorm=0.5, use_ema=True, ema_overwrite_frequency=2),
    "SGD with a schedule": lambda: optimizers.SGD(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), momentum=0.9, nesterov=True),
    "RMSprop that accumulates gradients": lambda: optimizers.RMSprop(0.01, gradient_accumulation_steps=2),
    "Nadam": lambda: optimizers.Nadam(0.01),
    "Adafactor": lambda: optimizers.Adafactor(0.01),
    "Ftrl": lambda: optimizers.Ftrl(0.01),
}


@pytest.mark.parametrize("name", _OPTIMIZERS)
def test_every_length_learns_as_with_an_update_of_its_own(name, monkeypatch):
    shared = _model(_OPTIMIZERS[name]())
    calls = _counted(monkeypatch, type(shared.optimizer))
    losses = _train(shared)
    assert len(calls) == len(shared.trainable_weights)
    monkeypatch.setattr(_updates, "_key_of", lambda *_: None)
    separate = _model(_OPTIMIZERS[name]())
    np.testing.assert_allclose(losses, _train(separate), rtol=1e-5)
    assert len(calls) == 4 * len(shared.trainable_weights)
    for a, b in zip(shared.variables + shared.optimizer.variables, separate.variables + separate.optimizer.variables):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-6, err_msg=a.path)


def test_a_setting_that_changes_counts_for_the_next_length():
    model = _model(optimizers.SGD(0.1))
    _train(model, [5])
    model.optimizer.clipvalue = 1e-20  # zero would mean none
    before = [weight.numpy() for weight in model.trainable_weights]
    _train(model, [6])
    for weight, value in zip(model.trainable_weights, before):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_a_learning_rate_that_is_assigned_counts_for_all_lengths():
    model = _model(optimizers.SGD(0.1))
    _train(model, [5, 6])
    model.optimizer.learning_rate = 0.0
    before = [weight.numpy() for weight in model.trainable_weights]
    _train(model, [5, 6, 7])
    for weight, value in zip(model.trainable_weights, before):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_weights_that_become_constant_do_not_change():
    model = _model(optimizers.Adam(0.1))
    _train(model, [5])
    model.layers[1].trainable = False
    model.compile(optimizers.Adam(0.1), "mse")
    before = model.layers[1].kernel.numpy()
    _train(model, [6, 7])
    np.testing.assert_array_equal(model.layers[1].kernel.numpy(), before)


def test_an_optimizer_of_the_user_is_captured_for_each_length(monkeypatch):
    class Own(optimizers.SGD):
        pass

    model = _model(Own(0.1))
    calls = _counted(monkeypatch, Own)
    _train(model, [5, 6])
    assert len(calls) == 2 * len(model.trainable_weights)
