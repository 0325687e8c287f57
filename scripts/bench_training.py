#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of training by `tartan train` and by PyTorch in turns: AdamW, float32, batch
statistics, the loss read after each step.

    pip install torch numpy onnx
    scripts/bench_training.py [--tartan build/tartan] [--only NAME] [--rounds N] [--threads N]

Prints the median over all rounds of a step's milliseconds in each, and PyTorch's by Tartan's."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

import training_networks as networks

RATE = 1e-4
NETWORKS = {
    "mlp": lambda: networks.mlp(128, [784, 512, 512, 10]),
    "mlp, batch 1": lambda: networks.mlp(1, [784, 512, 512, 10]),
    "cnn": lambda: networks.cnn(64, [1, 32, 64, 128], 28, 128, 10),
    "resnet18": lambda: networks.resnet18(16, 64, 64, 10),
    "lstm": lambda: networks.lstm(32, 50, 128, 128, 10),
    "transformer": lambda: networks.transformer(8, 64, 256, 256, 4, 4),
}


def data_of(network):
    columns = {n: source.make(n, shape) for n, (shape, source) in network.graph.inputs.items()}
    target = networks.Source("below", (network.classes,)).make("target", network.target)
    return columns, target


def write(network, folder):
    """The model and one batch of data as files."""
    model = network.graph.model()
    values = networks.start(network)
    for tensor in model.graph.initializer:
        if tensor.doc_string:
            tensor.CopyFrom(numpy_helper.from_array(values[tensor.name], tensor.name))
    onnx.save(model, folder / "model.onnx")
    columns, target = data_of(network)
    np.savez(folder / "data.npz", **columns, target=target)


def time_tartan(program, folder, batch, steps):
    command = [program, "train", folder / "model.onnx", "--data", folder / "data.npz", "--batch", batch,
               "--steps", steps, "--log-every", 1, "--lr", RATE, "--train-batch-norm", "--no-shuffle",
               "--target", "target", "--format", "json", "--tier", "exact"]
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"tartan train failed:\n{result.stderr}")
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return [line["step_ms"] for line in lines if "step_ms" in line][3:]


def time_torch(network, steps, threads):
    torch.set_num_threads(threads)
    networks.start(network)
    module = network.module.train()
    columns, target = data_of(network)
    inputs = [torch.from_numpy(c) for c in columns.values()]
    target = torch.from_numpy(target)
    optimizer = torch.optim.AdamW(module.parameters(), RATE, weight_decay=0)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = F.cross_entropy(module(*inputs).flatten(0, -2), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        times.append((time.perf_counter() - begin) * 1e3)
    return times[3:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).parent.parent
    parser.add_argument("--tartan", default=root / "build/tartan")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # of both
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.threads])
    print(f"{'network':14} {'Tartan ms':>10} {'PyTorch ms':>10} {'PyTorch / Tartan':>17}")
    for name, make in NETWORKS.items():
        if arguments.only not in ("", name):
            continue
        ours, theirs = [], []
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            network = make()
            write(network, folder)
            for _ in range(arguments.rounds):
                ours += time_tartan(arguments.tartan, folder, network.target[0], arguments.steps)
                theirs += time_torch(make(), arguments.steps, arguments.threads)
        a, b = statistics.median(ours), statistics.median(theirs)
        print(f"{name:14} {a:10.2f} {b:10.2f} {b / a:17.2f}", flush=True)


if __name__ == "__main__":
    main()
