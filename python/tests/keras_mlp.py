# SPDX-License-Identifier: Apache-2.0
"""A small model of Keras, and data for it."""

import numpy as np

import keras
from keras import layers


def mlp(**options):
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dropout(0.5, seed=3),
                              layers.Dense(2)])
    model.compile(optimizer="adam", loss="mse", **options)
    return model


def data(rows):
    random = np.random.default_rng(1)
    return random.standard_normal((rows, 6)).astype("float32"), random.standard_normal((rows, 2)).astype("float32")
