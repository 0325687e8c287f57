# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX LSTM and GRU nodes for Keras layers: one node for all time steps."""

import numpy as np
from keras.src import activations
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, reshaped, transposed
from keras_tartan.src._values import placeholder
from tartan._tensor import state

_ACTIVATIONS = {activations.sigmoid: "Sigmoid", activations.tanh: "Tanh", activations.relu: "Relu"}


def _named(functions, mask):
    """Returns the names of activations. NotImplementedError for unsupported ones and for masks; Keras then runs step
    by step."""
    if mask is not None:
        raise NotImplementedError("a mask with steps at arbitrary positions")
    names = [_ACTIVATIONS.get(f) for f in functions]
    if None in names:
        raise NotImplementedError(f"activations {functions}")
    return names


def _blocks(x, order):
    """Reorders a Keras kernel [in, gates * size] into ONNX rows [1, gates * size, …]."""
    parts = knp.split(T(x), len(order), axis=-1)
    x = knp.concatenate([parts[i] for i in order], axis=-1)
    return knp.expand_dims(transposed(x, [1, 0]) if len(x.shape) == 2 else x, 0)


def _steps(x, go_backwards):
    x = T(x)
    return knp.swapaxes(knp.flip(x, 1) if go_backwards else x, 0, 1)


def _state(x):
    """Returns an initial state, or None for zeros."""
    x = T(x)
    known = x._value.known
    if known is not None and not np.any(known.bytes()):
        return None
    return knp.expand_dims(x, 0)


def _noted(name, x, *rest, size, finals, **attributes):
    """Records the operator without applying it; returns results of its shapes without values."""
    steps, rows = x.shape[:2]
    shapes = [(steps, 1, rows, size)] + [(1, rows, size)] * finals
    results = [placeholder(shape, x.dtype, name) for shape in shapes]
    state.notes.add(name, [x, *rest], results, dict(attributes, hidden_size=size), "")
    return results


def _result(outputs, finals):
    outputs = knp.swapaxes(knp.squeeze(outputs, 1), 0, 1)
    finals = [knp.squeeze(x, 0) for x in finals]
    return finals[0], outputs, finals


def lstm(inputs, initial_state_h, initial_state_c, mask, kernel, recurrent_kernel, bias, activation,
         recurrent_activation, return_sequences=False, go_backwards=False, unroll=False, time_major=False):
    names = _named([recurrent_activation, activation, activation], mask)
    order = [0, 3, 1, 2]  # input, output, forget, cell
    biases = None
    if bias is not None:
        biases = knp.concatenate([_blocks(bias, order), knp.zeros((1, bias.shape[-1]), bias.dtype)], axis=1)
    outputs, h, c = _noted(
        "LSTM", _steps(inputs, go_backwards), _blocks(kernel, order), _blocks(recurrent_kernel, order), biases, None,
        _state(initial_state_h), _state(initial_state_c), size=recurrent_kernel.shape[0], finals=2, activations=names)
    return _result(outputs, [h, c])


def gru(inputs, initial_state, mask, kernel, recurrent_kernel, bias, activation, recurrent_activation,
        return_sequences=False, go_backwards=False, unroll=False, time_major=False, reset_after=True):
    names = _named([recurrent_activation, activation], mask)
    order = [0, 1, 2]  # update, reset, hidden
    biases = None
    if bias is not None:
        bias = T(bias)
        second = bias[1] if len(bias.shape) == 2 else knp.zeros_like(bias)
        first = bias[0] if len(bias.shape) == 2 else bias
        biases = reshaped(knp.concatenate([first, second]), (1, -1))
    outputs, h = _noted(
        "GRU", _steps(inputs, go_backwards), _blocks(kernel, order), _blocks(recurrent_kernel, order), biases, None,
        _state(initial_state), size=recurrent_kernel.shape[0], finals=1, activations=names,
        linear_before_reset=int(bool(reset_after)))
    return _result(outputs, [h])
