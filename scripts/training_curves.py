#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small networks in PyTorch and writes graphs and losses for comparison in curves_test.cc.

    pip install torch numpy onnx
    scripts/training_curves.py [FOLDER] [--only NAME] [--check]

FOLDER/NAME.graph.txt is the model as text without its parameters' values (doc_string describes
their generation), FOLDER/NAME.curves.txt has the loss of each step. --check also trains in
float64, and in float32 from weights that differ by a rounding, and prints the distance of these
losses from the written ones. A curve is usable if the distance is far below the test's 1e-3.
Another order of a sum can move a value near 0 to the other side of a Relu, or select another of
two equal maxima. Deep networks and high rates amplify this, so rates are low."""

import argparse
import pathlib

import numpy as np
import torch
from google.protobuf import text_format
from torch.nn import functional as F

import recurrent_networks as recurrent
import training_networks as networks

BATCHES = 5  # used cyclically
CLIP = 1.0
DECAY = 0.01

# Network, learning rate of momentum, learning rate of AdamW, steps.
TASKS = [
    (lambda: networks.mlp(32, [20, 48, 48, 10]), 0.05, 0.003, 100),
    (lambda: networks.cnn(32, [1, 8, 16, 16], 12, 32, 10), 0.002, 0.0005, 100),
    (lambda: networks.resnet18(16, 8, 64, 10), 0.0003, 0.0001, 100),
    (lambda: networks.lstm(16, 12, 16, 32, 10), 0.1, 0.005, 100),
    (lambda: networks.transformer(4, 16, 32, 64, 4, 4), 0.02, 0.001, 100),
    (lambda: recurrent.both_ways("LSTM", 20, 6, 8, 5), 0.1, 0.01, 20),
    (lambda: recurrent.both_ways("GRU", 20, 6, 8, 5), 0.1, 0.01, 20),
    (lambda: recurrent.looped("Scan", 20, 4, 6, 8, 5), 0.05, 0.01, 20),
    (lambda: recurrent.looped("Loop", 20, 4, 6, 8, 5), 0.05, 0.01, 20),
]


def batch(network, number):
    inputs = [torch.from_numpy(source.make(f"{name}/{number}", shape))
              for name, (shape, source) in network.graph.inputs.items()]
    target = networks.Source("below", (network.classes,))
    return inputs, torch.from_numpy(target.make(f"target/{number}", network.target))


def train(network, kind, rate, steps, dtype, noise=None):
    networks.start(network)
    module = network.module.to(dtype).train()
    if noise is not None:
        generator = torch.Generator().manual_seed(noise)
        with torch.no_grad():
            for p in module.parameters():
                p *= 1 + 1.2e-7 * torch.randn(p.shape, generator=generator)
    batches = [batch(network, i) for i in range(BATCHES)]
    if kind == "momentum":
        optimizer = torch.optim.SGD(module.parameters(), rate, momentum=0.9)
        schedule = None
    else:
        optimizer = torch.optim.AdamW(module.parameters(), rate, weight_decay=DECAY)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for step in range(steps):
        inputs, target = batches[step % BATCHES]
        inputs = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
        scores = module(*inputs)
        loss = F.cross_entropy(scores.reshape(-1, network.classes), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if schedule is not None:
            torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        optimizer.step()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?",
                        default=pathlib.Path(__file__).parent.parent / "tests/frontend/train/curves")
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    for make, momentum_rate, adamw_rate, steps in TASKS:
        network = make()
        if arguments.only not in ("", network.name):
            continue
        sizes = " ".join(map(str, network.target))
        lines = [f"# scripts/training_curves.py, PyTorch {torch.__version__.split('+')[0]}, float32",
                 f"batches {BATCHES}", f"target {network.classes} {sizes}"]
        for kind, rate in (("momentum", momentum_rate), ("adamw", adamw_rate)):
            losses = train(make(), kind, rate, steps, torch.float32)
            lines += [f"run {kind} {rate}", *(f"{loss:.8g}" for loss in losses)]
            text = f"{network.name} {kind}: {losses[0]:.4f} to {losses[-1]:.4f}"
            if arguments.check:
                others = [train(make(), kind, rate, steps, torch.float64)]
                others += [train(make(), kind, rate, steps, torch.float32, noise=i) for i in range(4)]
                apart = [np.abs(np.array(other) / losses - 1).max() for other in others]
                text += f", float64 apart by {apart[0]:.1e}, roundings by {max(apart[1:]):.1e}"
            print(text, flush=True)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        graph = text_format.MessageToString(network.graph.model())
        (arguments.folder / f"{network.name}.graph.txt").write_text(graph)
        (arguments.folder / f"{network.name}.curves.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
