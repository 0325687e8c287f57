# SPDX-License-Identifier: Apache-2.0
"""Generative models."""

import keras
import numpy as np
from keras import layers, ops
from keras_programs.kit import RANDOM, call, custom, derive, descend, gradient_by, normal


def generator():
    return keras.Sequential([
        keras.Input((64,)), layers.Dense(7 * 7 * 64), layers.LeakyReLU(0.2), layers.Reshape((7, 7, 64)),
        layers.Conv2DTranspose(64, 4, strides=2, padding="same"), layers.LeakyReLU(0.2),
        layers.Conv2DTranspose(32, 4, strides=2, padding="same"), layers.LeakyReLU(0.2),
        layers.Conv2D(1, 7, padding="same", activation="tanh")])


def critic():
    stack = [layer for filters in (64, 128) for layer in
             (layers.Conv2D(filters, 5, strides=2, padding="same"), layers.LeakyReLU(0.2))]
    return keras.Sequential([keras.Input((28, 28, 1)), *stack, layers.Flatten(), layers.Dense(1)])


def dcgan():
    g, d = generator(), critic()
    cross = keras.losses.BinaryCrossentropy(from_logits=True)

    def judged(values, made, images):
        fake, real = call(d, values, made), call(d, values, images)
        return cross(ops.zeros_like(fake), fake) + cross(ops.ones_like(real), real)

    def fooled(values, critics, noise):
        fake = call(d, critics, call(g, values, noise))
        return cross(ops.ones_like(fake), fake)

    judge, fool = derive(judged), derive(fooled)

    def step(state, noise, images):
        loss, found = judge(state[1], call(g, state[0], noise), images)
        critics = descend(state[1], found)
        other, found = fool(state[0], critics, noise)
        return loss + other, [descend(state[0], found), critics]

    return custom(step, [g, d], normal(32, 64), normal(32, 28, 28, 1))


def wgan_gp():
    g, d = generator(), critic()

    def judged(values, made, images, shares):
        between = images + shares * (made - images)
        slope = gradient_by(lambda x: ops.sum(call(d, values, x)), between)
        norm = ops.sqrt(ops.sum(ops.square(slope), axis=(1, 2, 3)) + 1e-12)
        loss = ops.mean(call(d, values, made)) - ops.mean(call(d, values, images))
        return loss + 10.0 * ops.mean(ops.square(norm - 1.0))

    def fooled(values, critics, noise):
        return -ops.mean(call(d, critics, call(g, values, noise)))

    judge, fool = derive(judged), derive(fooled)

    def step(state, noise, images, shares):
        loss, found = judge(state[1], call(g, state[0], noise), images, shares)
        critics = descend(state[1], found, 1e-3)
        other, found = fool(state[0], critics, noise)
        return loss + other, [descend(state[0], found, 1e-3), critics]

    shares = RANDOM.random((32, 1, 1, 1)).astype("float32")
    return custom(step, [g, d], normal(32, 64), normal(32, 28, 28, 1), shares)


def vae():
    images, noise = keras.Input((28, 28, 1)), keras.Input((2,))
    x = images
    for filters in (32, 64):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    mean, spread = layers.Dense(2)(x), layers.Dense(2)(x)
    x = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, activation="relu")(mean + ops.exp(0.5 * spread) * noise))
    for filters in (64, 32):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(x)
    made = layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid")(x)
    model = keras.Model([images, noise], [made, mean, spread])

    def loss_of(values, x, drawn):
        made, mean, spread = call(model, values, [x, drawn])
        error = ops.mean(ops.sum(ops.square(x - made), axis=(1, 2, 3)))
        return error - 0.5 * ops.mean(ops.sum(1 + spread - ops.square(mean) - ops.exp(spread), axis=1))

    gradients = derive(loss_of)

    def step(state, x, drawn):
        loss, found = gradients(state[0], x, drawn)
        return loss, [descend(state[0], found, 1e-4)]

    return custom(step, [model], RANDOM.random((32, 28, 28, 1)).astype("float32"), normal(32, 2))


def diffusion():
    images, noise_level = keras.Input((32, 32, 3)), keras.Input((1, 1, 1))
    angles = noise_level * ops.convert_to_tensor(np.exp(np.linspace(0, 7, 16)).astype("float32"))
    level = layers.UpSampling2D(32)(ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=3))

    def block(x, width):
        short = x if x.shape[3] == width else layers.Conv2D(width, 1)(x)
        x = layers.BatchNormalization(center=False, scale=False)(x)
        x = layers.Conv2D(width, 3, padding="same", activation="swish")(x)
        return layers.Add()([layers.Conv2D(width, 3, padding="same")(x), short])

    x, kept = layers.Concatenate()([layers.Conv2D(32, 1)(images), level]), []
    for width in (32, 64):
        kept.append(x := block(x, width))
        x = layers.AveragePooling2D(2)(x)
    x = block(x, 96)
    for width in (64, 32):
        x = block(layers.Concatenate()([layers.UpSampling2D(2, interpolation="bilinear")(x), kept.pop()]), width)
    model = keras.Model([images, noise_level], layers.Conv2D(3, 1)(x))
    return model, keras.losses.MeanAbsoluteError(), [normal(8, 32, 32, 3), normal(8, 1, 1, 1)], normal(8, 32, 32, 3)
