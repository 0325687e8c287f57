# SPDX-License-Identifier: Apache-2.0
"""Networks of training_curves.py and bench_training.py: each as a PyTorch module and as the same
graph in ONNX, whose initialisers have the names of the module's parameters."""

import dataclasses
import math

import numpy as np
import torch
from onnx import TensorProto, helper
from torch import nn
from torch.nn import functional as F

OPSET = 20
MASK = (1 << 64) - 1


def generated(name, shape, scale=1.0, center=0.0):
    """Numbers in [center - scale, center + scale): the upper 24 bits of splitmix64, seeded with
    an FNV-1a hash of the name. tests/frontend/train/curves_test.cc computes the same numbers."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & MASK
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    unit = (z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1
    return (center + scale * unit).astype(np.float32).reshape(shape)


@dataclasses.dataclass
class Source:
    """The generator of a tensor: floats around a center, integers below a limit, or a dropout
    mask that keeps a share of the elements."""

    kind: str  # "float", "below", "keep"
    values: tuple

    def __str__(self):
        return " ".join([self.kind, *(repr(v) for v in self.values)])

    def make(self, name, shape):
        if self.kind == "float":
            return generated(name, shape, *(float(np.float32(v)) for v in self.values))
        unit = generated(name, shape).astype(np.float64)
        if self.kind == "below":
            return np.floor((unit + 1) / 2 * self.values[0]).astype(np.int64)
        keep = self.values[0]
        return np.where((unit + 1) / 2 < keep, np.float32(1 / keep), np.float32(0))


@dataclasses.dataclass
class Network:
    name: str
    module: nn.Module
    graph: "Graph"
    target: tuple  # sizes
    classes: int


class Graph:
    """Collects the graph. Initialisers have no data: doc_string describes their generation."""

    def __init__(self, name):
        self.name, self.nodes, self.inputs, self.initializers = name, [], {}, []
        self.parameters = {}

    def input(self, name, shape, source):
        self.inputs[name] = (shape, source)
        return name

    def parameter(self, name, shape, scale, center=0.0):
        source = Source("float", (float(np.float32(scale)), float(center)))
        self.parameters[name] = (tuple(shape), source)
        self.initializers.append(
            TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, doc_string=str(source)))
        return name

    def constant(self, name, values):
        array = np.asarray(values)
        kind = TensorProto.INT64 if array.dtype.kind == "i" else TensorProto.FLOAT
        self.initializers.append(helper.make_tensor(name, kind, array.shape, array.flatten().tolist()))
        return name

    def node(self, op, inputs, output=None, **attributes):
        output = output or f"{op.lower()}{len(self.nodes)}"
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[-1]

    def linear(self, x, name, fan_in, fan_out, output=None):
        bound = 1 / math.sqrt(fan_in)
        weight = self.parameter(f"{name}.weight", (fan_out, fan_in), bound)
        bias = self.parameter(f"{name}.bias", (fan_out,), bound)
        return self.node("Gemm", [x, weight, bias], output, transB=1)

    def conv_bn(self, x, name, bn, fan_in, fan_out, kernel, stride=1, share=1.0):
        bound = math.sqrt(3 / (fan_in * kernel * kernel))
        weight = self.parameter(f"{name}.weight", (fan_out, fan_in, kernel, kernel), bound)
        y = self.node("Conv", [x, weight], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                      pads=[kernel // 2] * 4)
        names = [self.parameter(f"{bn}.weight", (fan_out,), 0.25 * share, share),
                 self.parameter(f"{bn}.bias", (fan_out,), 0.25),
                 self.parameter(f"{bn}.running_mean", (fan_out,), 0.0),
                 self.parameter(f"{bn}.running_var", (fan_out,), 0.0, 1.0)]
        return self.node("BatchNormalization", [y, *names], epsilon=1e-5)

    def model(self):
        kinds = {"float": TensorProto.FLOAT, "keep": TensorProto.FLOAT, "below": TensorProto.INT64}
        inputs = [helper.make_tensor_value_info(n, kinds[s.kind], shape, doc_string=str(s))
                  for n, (shape, s) in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(self.nodes[-1].output[-1], TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


# --- MLP ---


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def mlp(batch, sizes):
    graph = Graph("mlp")
    x = graph.input("x", (batch, sizes[0]), Source("float", (1.0, 0.0)))
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        x = graph.linear(x, f"layers.{i}", a, b)
        if i + 2 < len(sizes):
            x = graph.node("Relu", [x])
    return Network("mlp", Mlp(sizes), graph, (batch,), sizes[-1])


# --- CNN with BatchNorm, and Dropout with given masks ---


class Cnn(nn.Module):
    def __init__(self, channels, side, hidden, classes):
        super().__init__()
        pairs = list(zip(channels, channels[1:]))
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in pairs)
        self.bns = nn.ModuleList(nn.BatchNorm2d(b) for _, b in pairs)
        for _ in pairs[:2]:
            side //= 2
        self.fc1 = nn.Linear(channels[-1] * side * side, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x, mask):
        for i, (conv, bn) in enumerate(zip(self.convs, self.bns)):
            x = F.relu(bn(conv(x)))
            if i < 2:
                x = F.max_pool2d(x, 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))) * mask)


def cnn(batch, channels, side, hidden, classes):
    graph = Graph("cnn")
    x = graph.input("x", (batch, channels[0], side, side), Source("float", (1.0, 0.0)))
    mask = graph.input("mask", (batch, hidden), Source("keep", (0.75,)))
    module = Cnn(channels, side, hidden, classes)
    for i, (a, b) in enumerate(zip(channels, channels[1:])):
        x = graph.node("Relu", [graph.conv_bn(x, f"convs.{i}", f"bns.{i}", a, b, 3)])
        if i < 2:
            x = graph.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
            side //= 2
    x = graph.linear(graph.node("Flatten", [x]), "fc1", channels[-1] * side * side, hidden)
    x = graph.node("Mul", [graph.node("Relu", [x]), mask])
    graph.linear(x, "fc2", hidden, classes)
    return Network("cnn", module, graph, (batch,), classes)


# --- ResNet-18 ---


class Block(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(b)
        self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(b)
        self.projects = stride != 1 or a != b
        if self.projects:
            self.conv3 = nn.Conv2d(a, b, 1, stride, bias=False)
            self.bn3 = nn.BatchNorm2d(b)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.bn3(self.conv3(x)) if self.projects else x))


def resnet_plan(width):
    widths = [width, width, 2 * width, 2 * width, 4 * width, 4 * width, 8 * width, 8 * width]
    for i, b in enumerate(widths):
        a = widths[max(i - 1, 0)]
        yield a, b, 2 if a != b else 1


class ResNet18(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(*(Block(*plan) for plan in resnet_plan(width)))
        self.fc = nn.Linear(8 * width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        return self.fc(self.blocks(x).mean((2, 3)))


def resnet18(batch, width, side, classes):
    graph = Graph("resnet18")
    x = graph.input("x", (batch, 3, side, side), Source("float", (1.0, 0.0)))
    x = graph.node("Relu", [graph.conv_bn(x, "conv", "bn", 3, width, 7, 2)])
    x = graph.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for i, (a, b, stride) in enumerate(resnet_plan(width)):
        name = f"blocks.{i}"
        y = graph.node("Relu", [graph.conv_bn(x, f"{name}.conv1", f"{name}.bn1", a, b, 3, stride)])
        # Small initial values, as usual; otherwise float32 rounding separates two runs within 100
        # steps.
        y = graph.conv_bn(y, f"{name}.conv2", f"{name}.bn2", b, b, 3, share=0.25)
        if a != b:
            x = graph.conv_bn(x, f"{name}.conv3", f"{name}.bn3", a, b, 1, stride)
        x = graph.node("Relu", [graph.node("Add", [y, x])])
    x = graph.node("Flatten", [graph.node("GlobalAveragePool", [x])])
    graph.linear(x, "fc", 8 * width, classes)
    return Network("resnet18", ResNet18(width, classes), graph, (batch,), classes)


# --- LSTM ---


class Lstm(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(self.lstm(x)[1][0][0])

    def set_onnx(self, values):
        """Converts W, R and B from ONNX's gate order i, o, f, c to PyTorch's i, f, c, o."""

        def gates(array):
            i, o, f, c = np.split(array, 4)
            return torch.from_numpy(np.concatenate([i, f, c, o]))

        self.lstm.weight_ih_l0.data = gates(values["W"][0])
        self.lstm.weight_hh_l0.data = gates(values["R"][0])
        of_input, of_hidden = np.split(values["B"][0], 2)
        self.lstm.bias_ih_l0.data = gates(of_input)
        self.lstm.bias_hh_l0.data = gates(of_hidden)


def lstm(batch, steps, features, hidden, classes):
    graph = Graph("lstm")
    x = graph.input("x", (batch, steps, features), Source("float", (1.0, 0.0)))
    x = graph.node("Transpose", [x], perm=[1, 0, 2])
    bound = 1 / math.sqrt(hidden)
    names = [graph.parameter("W", (1, 4 * hidden, features), bound),
             graph.parameter("R", (1, 4 * hidden, hidden), bound),
             graph.parameter("B", (1, 8 * hidden), bound)]
    y = graph.node("LSTM", [x, *names], ["", "last"], hidden_size=hidden)
    y = graph.node("Squeeze", [y, graph.constant("axes", [0])])
    graph.linear(y, "fc", hidden, classes)
    return Network("lstm", Lstm(features, hidden, classes), graph, (batch,), classes)


# --- transformer ---


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("q", "k", "v", "o"):
            setattr(self, name, nn.Linear(width, width))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, width = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(n, t, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(width // self.heads), -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(n, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words, steps, width, heads, layers):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(steps, width))
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.fc = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, ids):
        return self.fc(self.norm(self.layers(self.words(ids) + self.places)))


def transformer(batch, steps, words, width, heads, layers):
    graph = Graph("transformer")
    shape = graph.constant("heads", [0, 0, heads, width // heads])
    whole = graph.constant("whole", [0, 0, width])
    share = graph.constant("share", 1 / math.sqrt(width // heads))

    def linear(x, name, a, b):
        bound = 1 / math.sqrt(a)
        weight = graph.parameter(f"{name}.weight", (b, a), bound)
        bias = graph.parameter(f"{name}.bias", (b,), bound)
        flipped = graph.node("Transpose", [weight], perm=[1, 0])
        return graph.node("Add", [graph.node("MatMul", [x, flipped]), bias])

    def norm(x, name):
        scale = graph.parameter(f"{name}.weight", (width,), 0.25, 1.0)
        bias = graph.parameter(f"{name}.bias", (width,), 0.25)
        return graph.node("LayerNormalization", [x, scale, bias], epsilon=1e-5)

    def split(x, perm):
        return graph.node("Transpose", [graph.node("Reshape", [x, shape])], perm=perm)

    ids = graph.input("ids", (batch, steps), Source("below", (words,)))
    x = graph.node("Gather", [graph.parameter("words.weight", (words, width), 1.0), ids])
    x = graph.node("Add", [x, graph.parameter("places", (steps, width), 0.5)])
    for i in range(layers):
        name = f"layers.{i}"
        h = norm(x, f"{name}.norm1")
        q = split(linear(h, f"{name}.q", width, width), [0, 2, 1, 3])
        k = split(linear(h, f"{name}.k", width, width), [0, 2, 3, 1])
        v = split(linear(h, f"{name}.v", width, width), [0, 2, 1, 3])
        weights = graph.node("Softmax", [graph.node("Mul", [graph.node("MatMul", [q, k]), share])])
        y = graph.node("Transpose", [graph.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
        y = graph.node("Reshape", [y, whole])
        x = graph.node("Add", [x, linear(y, f"{name}.o", width, width)])
        h = linear(norm(x, f"{name}.norm2"), f"{name}.up", width, 4 * width)
        x = graph.node("Add", [x, linear(graph.node("Gelu", [h]), f"{name}.down", 4 * width, width)])
    linear(norm(x, "norm"), "fc", width, words)
    module = Transformer(words, steps, width, heads, layers)
    return Network("transformer", module, graph, (batch, steps), words)


def start(network):
    """Sets the module's parameters to the values of the graph's initialisers."""
    values = {n: source.make(n, shape) for n, (shape, source) in network.graph.parameters.items()}
    state = network.module.state_dict()
    for name, value in values.items():
        if name in state:
            state[name].copy_(torch.from_numpy(value))
    network.module.load_state_dict(state)
    if hasattr(network.module, "set_onnx"):
        network.module.set_onnx(values)
    return values
