# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks of training_curves.py: operators of several lengths and in both directions, and loops."""

import math

import numpy as np
import torch
from onnx import TensorProto, helper
from torch import nn

from training_networks import Graph, Network, Source

LENGTHS = [20, 7, 13, 1]  # of the examples


class BothWays(nn.Module):
    """An LSTM or GRU in both directions over sequences of several lengths. Its scores depend on the last states and
    on the states after each step."""

    def __init__(self, kind, features, hidden, classes):
        super().__init__()
        self.rnn = kind(features, hidden, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)
        # The place of each of PyTorch's gates among ONNX's: i, o, f, c or z, r, h.
        self.order = [0, 2, 3, 1] if kind is nn.LSTM else [1, 0, 2]

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(LENGTHS), enforce_sorted=False)
        y, last = self.rnn(packed)
        last = last[0] if isinstance(last, tuple) else last
        y = nn.utils.rnn.pad_packed_sequence(y, total_length=len(x))[0].mean(0)
        return self.fc(y + torch.cat([last[0], last[1]], 1))

    def set_onnx(self, values):
        def gates(array):
            parts = np.split(array, len(self.order))
            return torch.from_numpy(np.concatenate([parts[i] for i in self.order]))

        for d, suffix in enumerate(["l0", "l0_reverse"]):
            of_input, of_hidden = np.split(values["B"][d], 2)
            for name, value in (("weight_ih", values["W"][d]), ("weight_hh", values["R"][d]),
                                ("bias_ih", of_input), ("bias_hh", of_hidden)):
                getattr(self.rnn, f"{name}_{suffix}").data = gates(value)


def both_ways(op, steps, features, hidden, classes):
    graph = Graph(f"{op.lower()}_both_ways")
    batch, gates = len(LENGTHS), 4 if op == "LSTM" else 3
    x = graph.input("x", (steps, batch, features), Source("float", (1.0, 0.0)))
    bound = 1 / math.sqrt(hidden)
    names = [graph.parameter("W", (2, gates * hidden, features), bound),
             graph.parameter("R", (2, gates * hidden, hidden), bound),
             graph.parameter("B", (2, 2 * gates * hidden), bound)]
    lengths = graph.constant("lengths", LENGTHS)
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    cast = graph.node("Cast", [lengths], to=TensorProto.INT32)
    graph.node(op, [x, *names, cast], ["y", "last"], hidden_size=hidden, direction="bidirectional", **more)
    mean = graph.node("ReduceMean", ["y", graph.constant("time", [0])], keepdims=0)
    sums = graph.node("Transpose", [graph.node("Add", [mean, "last"])], perm=[1, 0, 2])
    sums = graph.node("Reshape", [sums, graph.constant("flat", [batch, 2 * hidden])])
    graph.linear(sums, "fc", 2 * hidden, classes)
    module = BothWays(getattr(nn, op), features, hidden, classes)
    return Network(graph.name, module, graph, (batch,), classes)


class Cell(nn.Module):
    """h' = tanh(x W + h R + b), c' = 0.8 c + h' h. Its scores depend on the last c and on all h."""

    def __init__(self, features, hidden, classes, reverse):
        super().__init__()
        self.W = nn.Parameter(torch.zeros(features, hidden))
        self.R = nn.Parameter(torch.zeros(hidden, hidden))
        self.b = nn.Parameter(torch.zeros(hidden))
        self.fc = nn.Linear(hidden, classes)
        self.reverse = reverse

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], len(self.b))
        rows = []
        for row in x.flip(0) if self.reverse else x:
            after = torch.tanh(row @ self.W + h @ self.R + self.b)
            h, c = after, 0.8 * c + after * h
            rows.append(h)
        return self.fc(c + torch.stack(rows).mean(0))


def looped(op, steps, batch, features, hidden, classes):
    """The cell in a Scan from the last row to the first, or in a Loop that gathers its rows."""
    graph = Graph(op.lower())
    x = graph.input("x", (steps, batch, features), Source("float", (1.0, 0.0)))
    bound = 1 / math.sqrt(hidden)
    for name, shape in (("W", (features, hidden)), ("R", (hidden, hidden)), ("b", (hidden,))):
        graph.parameter(name, shape, bound)
    graph.constant("share", np.float32(0.8))
    zeros = helper.make_tensor("zeros", TensorProto.FLOAT, [batch, hidden], [0.0] * (batch * hidden))
    start = graph.node("Constant", [], value=zeros)  # an initialiser would be trained
    make, info = helper.make_node, helper.make_tensor_value_info
    body = [make("MatMul", ["row", "W"], ["xw"]), make("MatMul", ["h", "R"], ["hr"]),
            make("Add", ["xw", "hr"], ["sum"]), make("Add", ["sum", "b"], ["biased"]),
            make("Tanh", ["biased"], ["after"]), make("Mul", ["c", "share"], ["kept"]),
            make("Mul", ["after", "h"], ["product"]), make("Add", ["kept", "product"], ["c_after"]),
            make("Identity", ["after"], ["out"])]
    states = [info(name, TensorProto.FLOAT, [batch, hidden]) for name in ("h", "c")]
    results = [info(name, TensorProto.FLOAT, [batch, hidden]) for name in ("after", "c_after", "out")]
    if op == "Scan":
        inputs = [*states, info("row", TensorProto.FLOAT, [batch, features])]
        made = helper.make_graph(body, "body", inputs, results)
        graph.node("Scan", [start, start, x], ["last", "sums", "rows"], body=made, num_scan_inputs=1,
                   scan_input_directions=[1], scan_output_directions=[1])
    else:
        body = [make("Gather", ["x", "i"], ["row"], axis=0), *body, make("Identity", ["on"], ["still"])]
        inputs = [info("i", TensorProto.INT64, []), info("on", TensorProto.BOOL, []), *states]
        made = helper.make_graph(body, "body", inputs, [info("still", TensorProto.BOOL, []), *results])
        count = graph.constant("count", np.int64(steps))
        graph.node("Loop", [count, "", start, start], ["last", "sums", "rows"], body=made)
    mean = graph.node("ReduceMean", ["rows", graph.constant("time", [0])], keepdims=0)
    graph.linear(graph.node("Add", ["sums", mean]), "fc", hidden, classes)
    return Network(graph.name, Cell(features, hidden, classes, op == "Scan"), graph, (batch,), classes)
