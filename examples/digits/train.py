# SPDX-License-Identifier: Apache-2.0
"""Trains the digit model and writes digits.onnx, seven.png and labels.txt beside this file.

    python3 -m pip install numpy onnx pillow torch
    python3 examples/digits/train.py

Deterministic: the same versions of the packages give the same files. Takes about four minutes on one core.
"""

import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from torch import nn

from draw import SIZE, dataset

HERE = pathlib.Path(__file__).resolve().parent
TRAIN_SEED, HELD_BACK_SEED = 1, 2
TRAIN_COUNT, HELD_BACK_COUNT = 40000, 10000
EPOCHS, BATCH = 5, 100


class DigitNet(nn.Module):
    """conv 5x5 - pool - conv 3x3 - pool - dense - dense, logits for ten digits."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 5, padding=2)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 7 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def train(net, images, labels):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for epoch in range(EPOCHS):
        order = torch.randperm(len(images))
        total = 0.0
        for i in range(0, len(images) - BATCH + 1, BATCH):
            pick = order[i:i + BATCH]
            loss = nn.functional.cross_entropy(net(images[pick]), labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/{EPOCHS}: loss {total * BATCH / len(images):.4f}", flush=True)


def to_onnx(net):
    """The trained network as an ONNX model: x float32[N, 1, 28, 28] -> scores float32[N, 10]."""
    weights = [numpy_helper.from_array(value.numpy(), name)
               for name, value in net.state_dict().items()]
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "conv1.weight", "conv1.bias"], ["c1"], "conv1",
             kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("MaxPool", ["r1"], ["p1"], "pool1", **pool),
        node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2",
             kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c2"], ["r2"], "relu2"),
        node("MaxPool", ["r2"], ["p2"], "pool2", **pool),
        node("Flatten", ["p2"], ["f"], "flatten", axis=1),
        node("Gemm", ["f", "fc1.weight", "fc1.bias"], ["g1"], "fc1", transB=1),
        node("Relu", ["g1"], ["r3"], "relu3"),
        node("Gemm", ["r3", "fc2.weight", "fc2.bias"], ["logits"], "fc2", transB=1),
        node("Softmax", ["logits"], ["scores"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])], weights)
    model = helper.make_model(graph, producer_name="tartan-digits",
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    images, labels = dataset(TRAIN_SEED, TRAIN_COUNT)
    net = DigitNet()
    train(net, torch.from_numpy(images), torch.from_numpy(labels))

    held_images, held_labels = dataset(HELD_BACK_SEED, HELD_BACK_COUNT)
    with torch.no_grad():
        scores = torch.softmax(net(torch.from_numpy(held_images)), 1).numpy()
    right = scores.argmax(1) == held_labels
    print(f"accuracy on {HELD_BACK_COUNT} drawings held back: {100 * right.mean():.2f} %")

    onnx.save(to_onnx(net), HERE / "digits.onnx")
    (HERE / "labels.txt").write_text(
        "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
    seven = int(np.flatnonzero(right & (held_labels == 7))[0])
    pixels = np.round(held_images[seven, 0] * 255).astype(np.uint8)
    Image.fromarray(pixels, "L").save(HERE / "seven.png")
    print(f"seven.png is drawing {seven}: {100 * scores[seven, 7]:.2f} % seven")


if __name__ == "__main__":
    main()
