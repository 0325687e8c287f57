# SPDX-License-Identifier: Apache-2.0
"""Graph simplifications: folds biases into convolutions, and removes copies before outputs."""

import numpy as np

_WITH_BIAS = {"Conv", "ConvTranspose"}


def fold_biases(graph):
    """Makes per-channel additions after a convolution its bias."""
    makers = {name: n for n in graph.nodes for name in n.outputs}
    uses = _uses(graph)
    for n in list(graph.nodes):
        if n.op != "Add":
            continue
        for value, other in (n.inputs, n.inputs[::-1]):
            maker, bias = makers.get(value), graph.constants.get(other)
            if bias is None or maker is None or maker.op not in _WITH_BIAS or len(maker.inputs) != 2 or uses[value] != 1:
                continue
            weights = graph.constants.get(maker.inputs[1])
            if weights is None:
                continue
            channels = weights.shape[0] if maker.op == "Conv" else weights.shape[1] * maker.attributes.get("group", 1)
            if bias.shape[-(weights.ndim - 1):] != (channels,) + (1,) * (weights.ndim - 2) or bias.size != channels:
                continue
            other = graph.changed(other, np.ascontiguousarray(bias.reshape(-1)), uses[other])
            maker.inputs, maker.outputs = [*maker.inputs, other], n.outputs
            makers[n.outputs[0]] = maker
            graph.nodes.remove(n)
            break


def name_outputs(graph):
    """Removes copies that only name outputs; the node that produces the value gets the output's name."""
    makers = {name: n for n in graph.nodes for name in n.outputs}
    for n in list(graph.nodes):
        if n.op != "Identity" or n.outputs[0] not in graph.outputs:
            continue
        maker = makers.get(n.inputs[0])
        if maker is None or n.inputs[0] in graph.outputs:
            continue
        before, after = n.inputs[0], n.outputs[0]
        graph.nodes.remove(n)
        maker.outputs = [after if name == before else name for name in maker.outputs]
        for other in graph.nodes:
            other.inputs = [after if name == before else name for name in other.inputs]


def _uses(graph):
    uses = {}
    for n in graph.nodes:
        for name in n.inputs:
            uses[name] = uses.get(name, 0) + 1
    return uses
