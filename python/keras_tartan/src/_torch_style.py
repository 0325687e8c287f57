# SPDX-License-Identifier: Apache-2.0
"""Training steps in PyTorch's style: `model.zero_grad()`, `loss.backward()`, and `variable.value.grad`. The functions
compute by tartan.gradients."""

import threading

import tartan
from keras_tartan.src._derivatives import stop_gradient
from keras_tartan.src._type import BackendTensor
from tartan._tensor import state


class _Step(threading.local):
    def __init__(self):
        self.weights = {}  # of layers whose zero_grad was called in this step, by identity
        self.gradients = {}  # id of the node of a weight's value → the node, and its gradient


_step = _Step()


def begin_step():
    """Forgets the gradients of the last step."""
    _step.weights, _step.gradients = {}, {}


def zero_grad(layer):
    """Sets the gradients of the layer's weights to zero; `backward` computes them."""
    for weight in layer.trainable_weights:
        _step.weights[id(weight)] = weight
        _step.gradients.pop(id(weight.value._value), None)


def backward(loss):
    """Adds the gradients of a loss with one element by the weights of all layers whose zero_grad was called.
    RuntimeError outside a recorded step, where the computation of the loss may be forgotten."""
    if not _step.weights or not (state.recording or state.trace):
        raise RuntimeError("loss.backward() works in the train_step of a model in fit, after model.zero_grad(). Elsewhere, "
                           "compute the loss in `with tartan.recording():` and call tartan.gradients(loss, values)")
    values = [weight.value for weight in _step.weights.values()]
    for value, gradient in zip(values, tartan.gradients(loss, values)):
        node = value._value
        before = _step.gradients.get(id(node))
        _step.gradients[id(node)] = node, gradient if before is None else before[1] + gradient


def _gradient_of(tensor):
    """Returns the gradient of a weight's value; None without `backward`."""
    return _step.gradients.get(id(tensor._value), (None, None))[1]


BackendTensor.backward = backward
BackendTensor.detach = lambda self: stop_gradient(self)
BackendTensor.grad = property(_gradient_of)
