# SPDX-License-Identifier: Apache-2.0
"""Data, losses, weights and derivatives of the programs, on every backend."""

import keras
import numpy as np
from keras import ops

RANDOM = np.random.default_rng(1)
CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
ERROR = keras.losses.MeanSquaredError()


def normal(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def labels(most, *shape):
    return RANDOM.integers(0, most, shape).astype("int32")

def derive(f):
    """Returns a function of (values, *data) that returns the loss f(values, *data) and its gradients by the values."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return jax.value_and_grad(f)
    if backend == "tartan":
        import tartan

        return tartan.value_and_grad(f)
    import torch

    def both(values, *data):
        values = [v.detach().requires_grad_(True) for v in values]
        loss = f(values, *data)
        return loss.detach(), torch.autograd.grad(loss, values)

    return both


def gradient_by(f, x):
    """Returns the gradient of the scalar f(x), which has gradients itself."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return jax.grad(f)(x)
    if backend == "tartan":
        import tartan

        return tartan.grad(f)(x)
    import torch

    x = x.detach().requires_grad_(True)
    return torch.autograd.grad(f(x), x, create_graph=True)[0]


def captured(f):
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return jax.jit(f)
    if backend == "tartan":
        import tartan

        return tartan.function(f)
    return f


def values_of(model):
    return [v.value for v in model.trainable_variables]


def call(model, values, x):
    others = [v.value for v in model.non_trainable_variables]
    return model.stateless_call(values, others, x, training=True)[0]


def descend(values, gradients, rate=1e-2):
    return [v - rate * g for v, g in zip(values, gradients)]


def custom(step, models, *data):
    """Returns a function that executes `step(values of each model, *data)`, which returns a loss and new values."""
    data = [ops.convert_to_tensor(x) for x in data]
    step = captured(step)
    state = [set_weights(model) or values_of(model) for model in models]

    def run():
        loss, after = step(state, *data)
        state[:] = after
        return float(ops.convert_to_numpy(loss))

    return run


def set_weights(model):
    """Gives a model the same weights on every backend."""
    random = np.random.default_rng(7)
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            scale = 1 / np.sqrt(np.prod(variable.shape[:-1]))
            variable.assign((random.standard_normal(variable.shape) * scale).astype("float32"))
