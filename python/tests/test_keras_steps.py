# SPDX-License-Identifier: Apache-2.0
"""Custom steps of Keras in the styles of JAX and PyTorch, errors in them, and the gradient of a loss. Runs in a separate
process because of its backend."""

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
import tartan
from keras_mlp import data as _data, mlp as _mlp

import keras
from keras import layers, ops


class _Stateless(keras.Model):
    """The custom training step of Keras' guide for JAX."""

    def _loss_of(self, trainable, others, x, y):
        y_pred, others = self.stateless_call(trainable, others, x, training=True)
        return self.compute_loss(x, y, y_pred), (y_pred, others)

    def _measured(self, variables, loss, y, y_pred):
        logs, after = {}, []
        for metric in self.metrics:
            own = variables[len(after):len(after) + len(metric.variables)]
            own = metric.stateless_update_state(own, *((loss,) if metric.name == "loss" else (y, y_pred)))
            logs[metric.name] = metric.stateless_result(own)
            after += own
        return logs, after

    def train_step(self, state, data):
        trainable, others, optimizing, measuring = state
        x, y = data
        derive = tartan.value_and_grad(self._loss_of, has_aux=True)
        (loss, (y_pred, others)), gradients = derive(trainable, others, x, y)
        trainable, optimizing = self.optimizer.stateless_apply(optimizing, gradients, trainable)
        logs, measuring = self._measured(measuring, loss, y, y_pred)
        return logs, (trainable, others, optimizing, measuring)

    def test_step(self, state, data):
        trainable, others, measuring = state
        x, y = data
        y_pred, others = self.stateless_call(trainable, others, x, training=False)
        logs, measuring = self._measured(measuring, self.compute_loss(x, y, y_pred), y, y_pred)
        return logs, (trainable, others, measuring)


def test_stateless_steps_learn_as_fit_does():
    found = []
    for kind in (keras.Model, _Stateless):
        keras.utils.set_random_seed(5)
        x = inputs = keras.Input((6,))
        x = layers.BatchNormalization()(layers.Dense(8, activation="relu")(x))
        model = kind(inputs, layers.Dense(2)(x))
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=[keras.metrics.MeanSquaredError(name="error")])
        x, y = _data(24)
        history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history
        found.append((history["loss"], history["error"], model.evaluate(x, y, verbose=0), *model.get_weights()))
        assert int(model.optimizer.iterations.value) == 9
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_errors_for_programs_of_torch_name_what_to_use():
    weight = _mlp().weights[0]
    for use in (lambda: ops.ones(()).requires_grad, lambda: weight.value.grad_fn, lambda: weight.handle):
        with pytest.raises(AttributeError, match="tartan.gradients.*keras_tartan/README.md"):
            use()
    with pytest.raises(AttributeError, match="variable.assign"):
        weight.data
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'$"):
        weight.no_such_thing
    assert not hasattr(weight, "data") and not hasattr(ops.ones(2), "requires_grad")


@pytest.mark.parametrize("eagerly", [False, True])
def test_a_step_in_pytorchs_style_computes_the_same(eagerly):
    class TorchStyle(keras.Model):
        halves = 1

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(8, activation="tanh")
            self.out = layers.Dense(2)

        def call(self, x):
            return self.out(self.dense(x))

        def train_step(self, data):
            x, y = data
            self.zero_grad()
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            for _ in range(self.halves):
                (loss / self.halves).backward()
            weights = self.trainable_weights
            self.optimizer.apply([w.value.grad for w in weights], weights)
            return {"loss": loss.detach()}

    class Halves(TorchStyle):
        halves = 2  # gradients are added up

    class Plain(TorchStyle):
        train_step = keras.Model.train_step

    x, y = _data(24)
    curves = []
    for kind in (Plain, TorchStyle, Halves):
        keras.utils.set_random_seed(1)
        model = kind()
        model.compile("sgd", "mse", run_eagerly=eagerly)
        curves.append(model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False).history["loss"])
        curves.append([keras.ops.convert_to_numpy(w).sum() for w in model.weights])
    np.testing.assert_allclose(curves[3], curves[1], rtol=1e-5)
    np.testing.assert_allclose(curves[5], curves[1], rtol=1e-5)
    assert curves[0][2] < curves[0][0]
    with pytest.raises(RuntimeError, match="call tartan.gradients"):
        ops.sum(model(x)).backward()
    assert model.weights[0].value.grad is None or eagerly


@pytest.mark.parametrize("axis", [-1, 1])
def test_cross_entropy_of_large_logits_and_its_gradient(axis):
    random = np.random.default_rng(5)
    x = (random.standard_normal((3, 11, 5)) * 3 + 1000).astype("float32")
    rows = np.moveaxis(x, axis, -1)
    classes = random.integers(0, rows.shape[-1], rows.shape[:-1])
    scores = keras.Variable(x)
    with tartan.recording():
        losses = ops.sparse_categorical_crossentropy(classes, scores.value, from_logits=True, axis=axis)
        gradient = tartan.gradients(ops.sum(losses), [scores.value])[0]
    shifted = rows.astype("float64") - rows.max(-1, keepdims=True)
    softmax = np.exp(shifted) / np.exp(shifted).sum(-1, keepdims=True)
    hit = np.eye(rows.shape[-1])[classes]
    np.testing.assert_allclose(ops.convert_to_numpy(losses), -np.log((softmax * hit).sum(-1)), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(np.moveaxis(ops.convert_to_numpy(gradient), axis, -1), softmax - hit, atol=1e-6)


@pytest.mark.parametrize("name, at, wanted", [
    ("relu6", [0, 6, 3, -1, 7], [0, 0, 1, 0, 0]), ("hard_tanh", [-1, 1, 0.5, 2], [0, 0, 1, 0]),
    ("elu", [0, 1, -1], [1, 1, np.exp(-1)]), ("celu", [0, 1, -1], [1, 1, np.exp(-1)]),
    ("selu", [0, 1], [1.0507009873554805 * 1.6732632423543772, 1.0507009873554805]),
    ("hard_sigmoid", [-3, 3, 0, -4], [0, 0, 1 / 6, 0]), ("hard_silu", [-3, 3, 0, 4], [0, 1, 0.5, 1])])
def test_derivatives_where_the_pieces_of_an_activation_meet(name, at, wanted):
    """As with torch. Inputs that are exactly 0 are frequent: margins of pictures, features that are off."""
    x = ops.convert_to_tensor(np.array(at, "float32"))
    found = tartan.grad(lambda x: ops.sum(getattr(ops, name)(x)))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_model_of_relu6_does_not_diverge_on_black_pictures():
    model = keras.Sequential([keras.Input((8, 8, 3))])
    for _ in range(8):
        for layer in (layers.Conv2D(4, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(6.0)):
            model.add(layer)
    model.add(layers.GlobalAveragePooling2D())
    model.compile("adam", "mse")
    losses = model.fit(np.zeros((8, 8, 8, 3)), np.ones((8, 4)), epochs=4, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, 1.0)


@pytest.mark.skipif("TARTAN_TIER" in os.environ or "TARTAN_HOST" in os.environ, reason="the tier is chosen")
@pytest.mark.parametrize("layer", [lambda: layers.LSTM(64), lambda: layers.Bidirectional(layers.LSTM(32))], ids=["one", "two"])
def test_the_first_step_of_a_long_recurrent_layer_waits_for_no_kernels(layer):
    model = keras.Sequential([keras.Input((1000, 8)), layer(), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((32, 1000, 8), "float32"), np.ones((32, 1), "float32"), batch_size=32, verbose=0)
    (program,) = model.train_function.captured._programs.values()
    assert program.tier == "host"
