# SPDX-License-Identifier: Apache-2.0
"""Programs with pictures."""

import keras
from keras import layers, ops
from keras_programs.kit import CLASSES, ERROR, RANDOM, labels, normal


def convnet(filters=(32, 64), dense=10):
    stack = []
    for count in filters:
        stack += [layers.Conv2D(count, 3, activation="relu"), layers.MaxPooling2D()]
    return [*stack, layers.Flatten(), layers.Dense(dense)]


def mnist():
    return keras.Sequential([keras.Input((28, 28, 1)), *convnet()]), CLASSES, normal(64, 28, 28, 1), labels(10, 64)


def resnet():
    def normed(x, filters, size, strides=1):
        return layers.BatchNormalization()(layers.Conv2D(filters, size, strides, padding="same")(x))

    inputs = keras.Input((32, 32, 3))
    x = layers.ReLU()(normed(inputs, 16, 3))
    for filters in (16, 32, 64):
        strides = 1 if filters == 16 else 2
        short = x if filters == 16 else normed(x, filters, 1, strides)
        x = normed(layers.ReLU()(normed(x, filters, 3, strides)), filters, 3)
        x = layers.ReLU()(layers.Add()([x, short]))
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs), CLASSES, normal(32, 32, 32, 3), labels(10, 32)


def siamese():
    tower = keras.Sequential([keras.Input((28, 28, 1)), *convnet((4, 16), 10)])
    a, b = keras.Input((28, 28, 1)), keras.Input((28, 28, 1))
    distance = ops.sqrt(ops.sum(ops.square(tower(a) - tower(b)), axis=1, keepdims=True) + 1e-6)
    outputs = layers.Dense(1)(layers.BatchNormalization()(distance))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return keras.Model([a, b], outputs), loss, [normal(32, 28, 28, 1), normal(32, 28, 28, 1)], normal(32, 1) > 0


def autoencoder():
    model = keras.Sequential([keras.Input((28, 28, 1))] + [
        layer for filters in (32, 32) for layer in
        (layers.Conv2D(filters, 3, activation="relu", padding="same"), layers.MaxPooling2D(padding="same"))
    ] + [layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same") for _ in range(2)]
        + [layers.Conv2D(1, 3, activation="sigmoid", padding="same")])
    x = RANDOM.random((32, 28, 28, 1)).astype("float32")
    return model, keras.losses.BinaryCrossentropy(), x, x


def denoise():
    inputs = keras.Input((48, 48, 1))
    x = layers.Conv2D(32, 5, padding="same", activation="relu")(inputs)
    for _ in range(3):
        x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    outputs = inputs + layers.Conv2D(1, 3, padding="same")(x)
    return keras.Model(inputs, outputs), ERROR, normal(8, 48, 48, 1), normal(8, 48, 48, 1)


def segmentation():
    inputs = keras.Input((64, 64, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, strides=2, padding="same")(inputs)))
    short = x
    for filters in (32, 64):
        for _ in range(2):
            x = layers.SeparableConv2D(filters, 3, padding="same")(layers.ReLU()(x))
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = short = layers.Add()([x, layers.Conv2D(filters, 1, strides=2, padding="same")(short)])
    for filters in (64, 32, 16):
        x = layers.Conv2DTranspose(filters, 3, padding="same")(layers.ReLU()(x))
        x = layers.UpSampling2D(2)(layers.BatchNormalization()(x))
        short = layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(short))
        x = short = layers.Add()([x, short])
    outputs = layers.Conv2D(3, 3, padding="same")(x)
    return keras.Model(inputs, outputs), CLASSES, normal(8, 64, 64, 3), labels(3, 8, 64, 64)
