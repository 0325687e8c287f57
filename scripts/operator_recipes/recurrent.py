# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators with all their attributes.

The evaluator ignores lengths, clipping, activations and coupled gates ("TODO: support overridden
attributes"), so half of the cases have onnxruntime's results. onnxruntime has no batch-first
layout.
"""

import numpy as np

from .draw import Case, array, dims, flip, given, maybe, pick, real, recipe, trimmed

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
PLAIN = ("Tanh", "Sigmoid", "Relu", "Softsign", "Softplus", "Tanh", "Sigmoid")
WITH_PARAMETERS = {
    "LeakyRelu": 1,
    "Elu": 1,
    "ThresholdedRelu": 1,
    "ScaledTanh": 2,
    "HardSigmoid": 2,
    "Affine": 2,
}


def activations(rng, count):
    """Activation names and their parameters: either all activations have parameters or none."""
    if rng.random() < 0.6:
        return {"activations": [pick(rng, PLAIN) for _ in range(count)]}
    names = [pick(rng, tuple(WITH_PARAMETERS)) for _ in range(count)]
    beta = [real(rng, 0.1, 0.9) for name in names if WITH_PARAMETERS[name] == 2]
    return {
        "activations": names,
        "activation_alpha": [real(rng, 0.1, 0.9) for _ in names],
        **({"activation_beta": beta} if beta else {}),
    }


@recipe("RNN", "GRU", "LSTM")
def recurrent(rng, name):
    runtime = flip(rng)
    dtype = np.float32 if runtime else pick(rng, (np.float32, np.float64))
    gates = GATES[name]
    steps, batch, size, hidden = dims(rng, 4)
    direction = pick(rng, ("forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    attributes = given(
        hidden_size=hidden, direction=maybe(rng, direction) if ways == 1 else direction
    )
    if "direction" not in attributes:
        direction = "forward"
    if not runtime:
        attributes.update(given(layout=maybe(rng, flip(rng))))
    if name == "GRU":
        attributes.update(given(linear_before_reset=maybe(rng, flip(rng))))
    layout = attributes.get("layout", 0)

    def part(*sizes):
        return array(rng, sizes, dtype, -1, 1)

    x = part(batch, steps, size) if layout else part(steps, batch, size)
    state = [batch, ways, hidden] if layout else [ways, batch, hidden]
    operands = [x, part(ways, gates * hidden, size), part(ways, gates * hidden, hidden)]
    operands += [maybe(rng, part(ways, 2 * gates * hidden)), None, maybe(rng, part(*state))]
    if name == "LSTM":
        operands += [maybe(rng, part(*state)), maybe(rng, part(ways, 3 * hidden))]
    outputs = 3 if name == "LSTM" else 2
    if not runtime:
        return trimmed(*operands), attributes, outputs
    operands[4] = maybe(rng, array(rng, [batch], np.int32, 1, steps))
    attributes.update(given(clip=maybe(rng, real(rng, 0.2, 2), 0.3)))
    if name == "LSTM":
        attributes.update(given(input_forget=maybe(rng, flip(rng), 0.3)))
    if rng.random() < 0.5:
        attributes.update(activations(rng, ACTIVATIONS[name] * ways))
    return Case(
        trimmed(*operands), attributes, outputs, opset=pick(rng, (7, 14)), oracle="onnxruntime"
    )
