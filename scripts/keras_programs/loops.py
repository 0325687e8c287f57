# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning, and loops that users write."""

import keras
import numpy as np
from keras import layers, ops
from keras_programs.kit import CLASSES, call, custom, derive, descend, labels, normal, set_weights, values_of


def actor_critic():
    """Episodes of different lengths. The forward pass of each of their moments is one small call, as at keras.io."""
    inputs = keras.Input((4,))
    common = layers.Dense(128, activation="relu")(inputs)
    model = keras.Model(inputs, [layers.Dense(2, activation="softmax")(common), layers.Dense(1)(common)])
    set_weights(model)
    state, lengths = [values_of(model)], iter([20, 23, 18, 31, 27, 22, 35, 29, 24, 40] * 50)

    def loss_of(values, states, returns):
        losses = 0.0
        for moment in range(len(states)):
            probabilities, value = call(model, values, ops.convert_to_tensor(states[moment][None]))
            gain = returns[moment] - value[0, 0]
            losses = losses - ops.log(probabilities[0, moment % 2]) * gain + ops.abs(gain)
        return losses

    gradients = derive(loss_of)

    def run():
        length = next(lengths)
        random = np.random.default_rng(length)
        states = random.standard_normal((length, 4)).astype("float32")
        loss, found = gradients(state[0], states, [float(x) for x in random.random(length)])
        state[0] = descend(state[0], found, 1e-4)
        return float(ops.convert_to_numpy(loss))

    return run


def dqn():
    def network():
        return keras.Sequential([keras.Input((44, 44, 4)), layers.Conv2D(16, 8, strides=4, activation="relu"),
                                 layers.Conv2D(32, 4, strides=2, activation="relu"), layers.Flatten(),
                                 layers.Dense(128, activation="relu"), layers.Dense(4)])

    online, target = network(), network()

    def loss_of(values, goals, states, actions):
        chosen = ops.sum(call(online, values, states) * ops.one_hot(actions, 4), axis=1)
        return ops.mean(keras.losses.huber(ops.expand_dims(goals, 1), ops.expand_dims(chosen, 1)))

    gradients = derive(loss_of)

    def step(state, states, actions, rewards):
        goals = rewards + 0.99 * ops.max(call(target, state[1], states), axis=1)
        loss, found = gradients(state[0], goals, states, actions)
        return loss, [descend(state[0], found), state[1]]

    return custom(step, [online, target], normal(32, 44, 44, 4), labels(4, 32), normal(32))


def custom_loop():
    model = keras.Sequential([keras.Input((784,)), layers.Dense(64, activation="relu"),
                              layers.Dense(64, activation="relu"), layers.Dense(10)])
    gradients = derive(lambda values, x, y: CLASSES(y, call(model, values, x)))

    def step(state, x, y):
        loss, found = gradients(state[0], x, y)
        return loss, [descend(state[0], found)]

    return custom(step, [model], normal(64, 784), labels(10, 64))
