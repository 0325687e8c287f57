# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on made-up data from weights that do not depend on the backend, and prints its losses as a
line of JSON: KERAS_BACKEND=tartan python keras_models.py NAME [STEPS]"""

import json
import sys
import time

import keras
import numpy as np
from keras import layers


def mlp():
    model = keras.Sequential([keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(32, activation="gelu"),
                              layers.Dense(4)])
    return model, (16, 20), 4, "adamw"


def cnn():
    model = keras.Sequential([
        keras.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same", use_bias=False), layers.BatchNormalization(),
        layers.ReLU(), layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(), layers.Dense(4)])
    return model, (8, 12, 12, 3), 4, keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)


def resnet():
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same")(x)
    for filters, strides in ((8, 1), (16, 2)):
        short = x if strides == 1 else layers.Conv2D(filters, 1, strides=strides)(x)
        x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.Add()([layers.BatchNormalization()(x), short]))
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x))), (8, 16, 16, 3), 4, "adam"


def mobilenet():
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(x)
    x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(12, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalMaxPooling2D()(x))), (8, 16, 16, 3), 4, "rmsprop"


def unet():
    inputs = keras.Input((16, 16, 1))
    a = layers.Conv2D(6, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(12, 3, padding="same", activation="relu")(layers.AveragePooling2D(2)(a))
    c = layers.Conv2DTranspose(6, 3, strides=2, padding="same")(b)
    d = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.Concatenate()([a, c]))
    d = layers.UpSampling2D()(layers.MaxPooling2D()(d))
    return keras.Model(inputs, layers.Conv2D(1, 1)(d)), (4, 16, 16, 1), (4, 16, 16, 1), "adam"


def lstm():
    model = keras.Sequential([keras.Input((10,), dtype="int32"), layers.Embedding(50, 12, mask_zero=True), layers.LSTM(16),
                              layers.Dense(4)])
    return model, (8, 10, 50), 4, "adam"


def gru():
    model = keras.Sequential([keras.Input((8,), dtype="int32"), layers.Embedding(30, 8),
                              layers.Bidirectional(layers.GRU(8, return_sequences=True)), layers.GRU(8),
                              layers.Dense(4)])
    return model, (8, 8, 30), 4, "adam"


def transformer():
    inputs = keras.Input((12,), dtype="int32")
    x = layers.Embedding(40, 16)(inputs)
    for _ in range(2):
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 4)(h, h, use_causal_mask=True)
        h = layers.Dense(32, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(16)(h)
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling1D()(x))), (4, 12, 40), 4, "adamw"


def tabular():
    numbers, kinds = keras.Input((6,)), keras.Input((2,), dtype="int32")
    x = layers.Concatenate()([layers.Flatten()(layers.Embedding(10, 4)(kinds)), layers.BatchNormalization()(numbers)])
    x = layers.Dense(16, activation="selu", kernel_regularizer="l2")(x)
    return keras.Model([numbers, kinds], layers.Dense(3)(x)), [(16, 6), (16, 2, 10)], 3, keras.optimizers.Adam(
        keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9), clipnorm=1.0)


def mixed():
    """Accumulated derivatives and averaged weights."""
    model, data, classes, _ = mlp()
    return model, data, classes, keras.optimizers.Adam(0.01, gradient_accumulation_steps=3, use_ema=True)


class _Penalty(keras.Model):
    """A train_step of its own: a loss with a term for the weights, and derivatives by Keras' own means."""

    def train_step(self, data):
        x, y = data[:2]
        if keras.backend.backend() == "torch":
            self.zero_grad()
            loss = self._total(x, y)
            loss.backward()
            weights = list(self.trainable_weights)
            self.optimizer.apply([w.value.grad for w in weights], weights)
        else:
            import tartan

            with tartan.recording():
                weights = self.trainable_weights
                values = [w.value for w in weights]
                loss = self._total(x, y)
                self.optimizer.apply(tartan.gradients(loss, values), weights)
        self._loss_tracker.update_state(loss)
        return {"loss": self._loss_tracker.result()}

    def _total(self, x, y):
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        return loss + 0.01 * sum(keras.ops.sum(keras.ops.square(w)) for w in self.trainable_weights)


def custom_step():
    inputs = keras.Input((20,))
    x = layers.Dense(16, activation="tanh")(inputs)
    return _Penalty(inputs, layers.Dense(4)(x)), (16, 20), 4, "sgd"


MODELS = {f.__name__: f for f in (mlp, cnn, resnet, mobilenet, unet, lstm, gru, transformer, tabular, mixed, custom_step)}


def _data(random, shape):
    """Floats of a shape; its last number is the count of integers where they are asked for."""
    return random.standard_normal(shape).astype("float32")


def _inputs(random, model, shapes):
    many = shapes if isinstance(shapes, list) else [shapes]
    arrays = []
    for spec, shape in zip(model.inputs, many):
        if spec.dtype == "int32":
            arrays.append(random.integers(0, shape[-1], shape[:-1]).astype("int32"))
        else:
            arrays.append(_data(random, shape))
    return arrays if isinstance(shapes, list) else arrays[0]


def losses(name, steps):
    model, shapes, target, optimizer = MODELS[name]()
    random = np.random.default_rng(5)
    model.set_weights([w if w.ndim == 1 else (random.standard_normal(w.shape) / np.sqrt(np.prod(w.shape[:-1]))).astype(
        w.dtype) for w in model.get_weights()])
    is_classes = isinstance(target, int)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True) if is_classes else "mse"
    model.compile(optimizer=optimizer, loss=loss)
    x = _inputs(random, model, shapes)
    rows = (x[0] if isinstance(x, list) else x).shape[0]
    y = random.integers(0, target, (rows,)).astype("int32") if is_classes else _data(random, target)
    found, times = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        found.append(float(model.train_on_batch(x, y)))
        times.append(time.perf_counter() - begin)
    return {"losses": found, "first": times[0], "rest": min(times[1:])}


if __name__ == "__main__":
    print(json.dumps({n: losses(n, int(sys.argv[2]) if len(sys.argv) > 2 else 50)
                      for n in (MODELS if sys.argv[1] == "all" else sys.argv[1].split(","))}))
