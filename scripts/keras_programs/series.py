# SPDX-License-Identifier: Apache-2.0
"""Programs with time series, sound, tables and graphs."""

import keras
from keras import layers, ops
from keras_programs import vision
from keras_programs.kit import CLASSES, ERROR, custom, derive, descend, labels, normal


def lstm_forecast():
    model = keras.Sequential([keras.Input((120, 7)), layers.LSTM(32), layers.Dense(1)])
    return model, ERROR, normal(64, 120, 7), normal(64, 1)


def series_convolution():
    stack = []
    for _ in range(3):
        stack += [layers.Conv1D(64, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()]
    model = keras.Sequential([keras.Input((500, 1)), *stack, layers.GlobalAveragePooling1D(), layers.Dense(2)])
    return model, CLASSES, normal(32, 500, 1), labels(2, 32)


def spectrogram():
    inputs = keras.Input((4000,))
    real, imaginary = ops.stft(inputs, 256, 128, 256)
    x = ops.expand_dims(ops.log(ops.square(real) + ops.square(imaginary) + 1e-3), -1)
    for layer in vision.convnet((8, 16), 10):
        x = layer(x)
    return keras.Model(inputs, x), CLASSES, normal(16, 4000), labels(10, 16)


def wide_deep():
    numbers, words = keras.Input((8,)), keras.Input((4,), dtype="int32")
    deep = layers.Concatenate()([numbers, layers.Flatten()(layers.Embedding(100, 8)(words))])
    wide = layers.BatchNormalization()(layers.CategoryEncoding(100, "multi_hot")(words))
    for _ in range(2):
        deep = layers.ReLU()(layers.BatchNormalization()(layers.Dense(32)(deep)))
    outputs = layers.Dense(2)(layers.Concatenate()([wide, deep]))
    return keras.Model([numbers, words], outputs), CLASSES, [normal(256, 8), labels(100, 256, 4)], labels(2, 256)


def graph_network():
    nodes, edges, width = 300, 1200, 32
    begin, end = labels(nodes, edges), labels(nodes, edges)
    x, y = normal(nodes, 64), labels(7, nodes)
    first, last = layers.Dense(width, activation="relu"), layers.Dense(7)
    updates = [layers.Dense(width, activation="relu") for _ in range(2)]
    model = keras.Sequential([first, *updates, last])

    def forward(values, x):
        w = list(values)
        h = ops.relu(ops.matmul(x, w[0]) + w[1])
        for layer in (2, 4):
            messages = ops.take(h, begin, axis=0)
            h = h + ops.relu(ops.matmul(ops.segment_sum(messages, end, nodes), w[layer]) + w[layer + 1])
        return ops.matmul(h, w[6]) + w[7]

    model.build((None, 64))
    gradients = derive(lambda values, x, y: ops.mean(
        ops.sparse_categorical_crossentropy(y, forward(values, x), from_logits=True)))

    def step(state, x, y):
        loss, found = gradients(state[0], x, y)
        return loss, [descend(state[0], found)]

    return custom(step, [model], x, y)
