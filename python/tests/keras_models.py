# SPDX-License-Identifier: Apache-2.0
"""Trains small networks of many kinds on synthetic data from backend-independent initial weights, and prints their
losses as JSON: python keras_models.py all|NAME,NAME. keras_curves.json has the reference values of torch:
KERAS_BACKEND=torch python keras_models.py all keras_curves.json"""

import json
import os
import sys
import time

if os.environ.get("KERAS_BACKEND") == "tartan":
    import keras_tartan  # noqa: F401: registers the backend if the package is not installed
import keras
import numpy as np
from keras import layers

RANDOM = np.random.default_rng(5)
# With seed 5, mobilenet's step 20 has a value that is zero except for rounding; torch's float32 and float64 curves
# diverge there.
SEEDS = {"mobilenet": 6}
STEPS = 50


def floats(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def integers(most, *shape):
    return RANDOM.integers(0, most, shape).astype("int32")


def classifier(model, x, classes, optimizer, **options):
    """Returns the compiled model with a loss for its logits, and a labelled batch."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=optimizer, loss=loss, **options)
    rows = len(x[0] if isinstance(x, list) else x)
    return model, x, integers(classes, rows, *model.output_shape[1:-1])


def mlp():
    model = keras.Sequential([keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(32, activation="gelu"),
                              layers.Dense(4)])
    return classifier(model, floats(16, 20), 4, "adamw", metrics=["accuracy"])


def cnn():
    model = keras.Sequential([
        keras.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same", use_bias=False), layers.BatchNormalization(),
        layers.ReLU(), layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(), layers.Dense(4)])
    return classifier(model, floats(8, 12, 12, 3), 4, keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True))


def resnet():
    """The eight blocks of ResNet-18 on small images."""
    x = inputs = keras.Input((16, 16, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    for stage, filters in enumerate((8, 12, 16, 24)):
        for block in range(2):
            strides = 2 if stage > 0 and block == 0 else 1
            short = x
            if strides == 2:
                short = layers.BatchNormalization()(layers.Conv2D(filters, 1, strides=2, use_bias=False)(x))
            x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
            x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.Add()([layers.BatchNormalization()(x), short]))
    model = keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))
    return classifier(model, floats(8, 16, 16, 3), 4, keras.optimizers.SGD(0.01, momentum=0.9))


def mobilenet():
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(x)
    for filters, strides in ((8, 1), (12, 2), (12, 1)):
        y = layers.Conv2D(3 * x.shape[-1], 1, use_bias=False)(x)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(y))
        x = layers.Add()([x, y]) if x.shape == y.shape else y
    x = layers.SeparableConv2D(12, 3, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(4)(layers.GlobalMaxPooling2D()(x)))
    return classifier(model, floats(8, 16, 16, 3), 4, "rmsprop")


def unet():
    inputs = keras.Input((16, 16, 1))
    a = layers.Conv2D(6, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(12, 3, padding="same", activation="relu")(layers.AveragePooling2D(2)(a))
    c = layers.Conv2DTranspose(6, 3, strides=2, padding="same")(b)
    d = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.Concatenate()([a, c]))
    d = layers.UpSampling2D(interpolation="bilinear")(layers.MaxPooling2D()(d))
    model = keras.Model(inputs, layers.Conv2D(1, 1)(d))
    model.compile(optimizer="adam", loss="mse")
    return model, floats(4, 16, 16, 1), floats(4, 16, 16, 1)


class _Sample(layers.Layer):
    """Returns a normal variable's value for given noise, and adds its KL divergence from the unit normal as a loss."""

    def call(self, parts):
        mean, log_variance, noise = parts
        divergence = keras.ops.mean(keras.ops.square(mean) + keras.ops.exp(log_variance) - log_variance - 1.0)
        self.add_loss(0.5 * divergence)
        return mean + keras.ops.exp(0.5 * log_variance) * noise


def vae():
    inputs, noise = keras.Input((24,)), keras.Input((4,))
    x = layers.Dense(16, activation="silu")(inputs)
    z = _Sample()([layers.Dense(4)(x), layers.Dense(4)(x), noise])
    x = layers.Dense(24)(layers.Dense(16, activation="softplus")(z))
    model = keras.Model([inputs, noise], x)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mean_absolute_error")
    data = floats(16, 24)
    return model, [data, floats(16, 4)], data


def _derivatives(loss_of, variables):
    """Returns a loss and its derivatives by the backend's own method."""
    if keras.backend.backend() == "torch":
        import torch

        loss = loss_of()
        return loss.detach(), torch.autograd.grad(loss, [v.value for v in variables])
    import tartan

    with tartan.recording():
        values = [v.value for v in variables]
        loss = loss_of()
        return loss, tartan.gradients(loss, values)


class _Gan(keras.Model):
    """Two networks with separate optimizers and a custom train_step."""

    def __init__(self):
        super().__init__()
        self.maker = keras.Sequential([keras.Input((6,)), layers.Dense(16), layers.LeakyReLU(0.2), layers.Dense(12)])
        self.judge = keras.Sequential([keras.Input((12,)), layers.Dense(16), layers.LeakyReLU(0.2), layers.Dense(1)])
        self.loss_of = keras.losses.BinaryCrossentropy(from_logits=True)
        self.tracker = keras.metrics.Mean(name="loss")
        self.built = True

    def compile(self, judging, making):
        super().compile()
        self.judging, self.making = judging, making
        judging.build(self.judge.trainable_variables)
        making.build(self.maker.trainable_variables)

    def call(self, noise):
        return self.maker(noise)

    def train_step(self, data):
        real, noise = data[0]
        ones, zeros = keras.ops.ones((real.shape[0], 1)), keras.ops.zeros((real.shape[0], 1))

        def judged():
            made = keras.ops.stop_gradient(self.maker(noise))
            return self.loss_of(ones, self.judge(real)) + self.loss_of(zeros, self.judge(made))

        def fooled():
            return self.loss_of(ones, self.judge(self.maker(noise)))

        weights = self.judge.trainable_variables
        judging, gradients = _derivatives(judged, weights)
        self.judging.apply(gradients, weights)
        weights = self.maker.trainable_variables
        making, gradients = _derivatives(fooled, weights)
        self.making.apply(gradients, weights)
        self.tracker.update_state(judging + making)
        return {"loss": self.tracker.result(), "made": making}


def gan():
    model = _Gan()
    model.compile(keras.optimizers.Adam(0.002, beta_1=0.5), keras.optimizers.Adam(0.002, beta_1=0.5))
    return model, [floats(16, 12), floats(16, 6)], None


def lstm():
    model = keras.Sequential([keras.Input((10,), dtype="int32"), layers.Embedding(50, 12, mask_zero=True), layers.LSTM(16),
                              layers.Dense(4)])
    return classifier(model, integers(50, 8, 10), 4, "adam")


def seq2seq():
    source, target = keras.Input((9,), dtype="int32"), keras.Input((7,), dtype="int32")
    x = layers.Embedding(30, 8)(source)
    x = layers.Bidirectional(layers.GRU(6, return_sequences=True))(x)
    _, state = layers.GRU(10, return_state=True)(x)
    y = layers.GRU(10, return_sequences=True)(layers.Embedding(20, 8)(target), initial_state=state)
    model = keras.Model([source, target], layers.Dense(20)(y))
    return classifier(model, [integers(30, 6, 9), integers(20, 6, 7)], 20, "adam")


def _block(x, heads, is_causal):
    width = x.shape[-1]
    h = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(heads, width // heads)(h, h, use_causal_mask=is_causal)
    h = layers.Dense(2 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(width)(h)


def transformer():
    inputs = keras.Input((12,), dtype="int32")
    x = layers.Embedding(40, 16)(inputs)
    for _ in range(2):
        x = _block(x, 4, False)
    model = keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))
    return classifier(model, integers(40, 4, 12), 4, keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(0.003, 50), clipnorm=1.0))


class _Places(layers.Layer):
    """Adds a positional embedding."""

    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], initializer="zeros", name="table")

    def call(self, x):
        return x + self.table


def gpt():
    """Learns to predict the next token; `continuation` generates."""
    words = keras.Input((12,), dtype="int32")
    x = _Places()(layers.Embedding(26, 16)(words))
    for _ in range(2):
        x = _block(x, 2, True)
    model = keras.Model(words, layers.Dense(26)(layers.LayerNormalization()(x)))
    text = integers(26, 6, 13)
    model, x, _ = classifier(model, text[:, :-1], 26, keras.optimizers.AdamW(0.01))
    return model, x, text[:, 1:]


def continuation(model, begin, length):
    """Returns generated tokens, each the most likely one given its predecessors."""
    words = np.zeros((1, length), "int32")
    words[0, :len(begin)] = begin
    for place in range(len(begin), length):
        words[0, place] = np.argmax(model.predict(words, verbose=0)[0, place - 1])
    return words[0].tolist()


def tabular():
    numbers, kinds = keras.Input((6,)), keras.Input((2,), dtype="int32")
    x = layers.Concatenate()([layers.Flatten()(layers.Embedding(10, 4)(kinds)), layers.BatchNormalization()(numbers)])
    x = layers.Dense(16, activation="selu", kernel_regularizer="l2")(x)
    model = keras.Model([numbers, kinds], layers.Dense(3)(x))
    return classifier(model, [floats(16, 6), integers(10, 16, 2)], 3, keras.optimizers.Adam(
        keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9), clipnorm=1.0))


def accumulated():
    """Gradient accumulation and weight averaging."""
    model, x, y = mlp()
    model.compile(optimizer=keras.optimizers.Adam(0.01, gradient_accumulation_steps=3, use_ema=True), loss=model.loss)
    return model, x, y


class _Penalty(keras.Model):
    """A custom train_step with a weight penalty."""

    def train_step(self, data):
        x, y = data[:2]
        weights = self.trainable_weights

        def total():
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            return loss + 0.01 * sum(keras.ops.sum(keras.ops.square(w)) for w in weights)

        loss, gradients = _derivatives(total, weights)
        self.optimizer.apply(gradients, weights)
        self._loss_tracker.update_state(loss)
        return {"loss": self._loss_tracker.result()}


def penalty():
    inputs = keras.Input((20,))
    x = layers.Dense(16, activation="tanh")(inputs)
    return classifier(_Penalty(inputs, layers.Dense(4)(x)), floats(16, 20), 4, "sgd")


MODELS = {f.__name__: f for f in (mlp, cnn, resnet, mobilenet, unet, vae, gan, lstm, seq2seq, transformer, gpt, tabular,
                                  accumulated, penalty)}


def losses(name, steps=STEPS):
    """Returns the losses of train_on_batch, the seconds of the first step and the minimum of later ones, and further
    outputs of the model."""
    global RANDOM
    RANDOM = np.random.default_rng(SEEDS.get(name, 5))
    model, x, y = MODELS[name]()
    model.set_weights([w if w.ndim == 1 else (floats(*w.shape) / np.sqrt(np.prod(w.shape[:-1]))).astype(w.dtype)
                       for w in model.get_weights()])
    found, times = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        # A list of a loss and metrics; only the loss is compared.
        told = model.train_on_batch(x, y)
        found.append(float(told[0] if isinstance(told, (list, tuple)) else told))
        times.append(time.perf_counter() - begin)
    result = {"losses": found, "first": times[0], "rest": min(times[1:])}
    if name == "gpt":
        result["words"] = continuation(model, x[0, :3], 12)
    return result


if __name__ == "__main__":
    names = MODELS if sys.argv[1] == "all" else sys.argv[1].split(",")
    found = {name: losses(name) for name in names}
    print(json.dumps(found))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            kept = {name: {key: value for key, value in result.items() if key not in ("first", "rest")}
                    for name, result in found.items()}
            file.write(json.dumps(kept, indent=0).replace(",\n", ", ").replace("}, ", "},\n") + "\n")
