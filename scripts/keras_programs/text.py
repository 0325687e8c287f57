# SPDX-License-Identifier: Apache-2.0
"""Programs with text."""

import keras
from keras import layers, ops
from keras_programs.kit import CLASSES, labels


def text_cnn():
    stack = [layers.Embedding(2000, 64), layers.Conv1D(64, 7, strides=3, activation="relu"),
             layers.Conv1D(64, 7, strides=3, activation="relu"), layers.GlobalMaxPooling1D(),
             layers.Dense(64, activation="relu"), layers.Dense(2)]
    return keras.Sequential([keras.Input((200,), dtype="int32"), *stack]), CLASSES, labels(2000, 32, 200), labels(2, 32)


def bidirectional_lstm():
    stack = [layers.Embedding(2000, 64), layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
             layers.Bidirectional(layers.LSTM(32)), layers.Dense(2)]
    return keras.Sequential([keras.Input((80,), dtype="int32"), *stack]), CLASSES, labels(2000, 16, 80), labels(2, 16)


def encoder(x, width, heads, inner, **attention):
    y = layers.MultiHeadAttention(heads, width // heads)(x, x, **attention)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    y = layers.Dense(width)(layers.Dense(inner, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))


def embedded(length, words, width):
    inputs = keras.Input((length,), dtype="int32")
    places = layers.Embedding(length, width)(ops.zeros_like(inputs) + ops.arange(length, dtype="int32"))
    return inputs, layers.Embedding(words, width)(inputs) + places


def text_transformer():
    inputs, x = embedded(100, 2000, 32)
    x = layers.GlobalAveragePooling1D()(encoder(x, 32, 2, 32))
    outputs = layers.Dense(2)(layers.Dense(20, activation="relu")(x))
    return keras.Model(inputs, outputs), CLASSES, labels(2000, 32, 100), labels(2, 32)


def mini_gpt():
    inputs, x = embedded(80, 2000, 128)
    outputs = layers.Dense(2000)(encoder(x, 128, 2, 256, use_causal_mask=True))
    return keras.Model(inputs, outputs), CLASSES, labels(2000, 16, 80), labels(2000, 16, 80)
