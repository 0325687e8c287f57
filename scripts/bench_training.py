#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps by `tartan train` and by PyTorch alternately: AdamW, float32, batch
statistics, the loss read after each step.

    pip install torch numpy onnx
    scripts/bench_training.py [--tartan build/tartan] [--only NAME] [--rounds N] [--threads N]
        [--torch-device cuda] [--compile]
    scripts/bench_training.py --memory [--only NAME]

Prints the median milliseconds of a step over all rounds for both, and the ratio of PyTorch's
faster mode to Tartan. With --memory it prints two maxima. The first is the device memory during
a step, with parameters and the optimizer's averages. The second is the memory of the process.
Tartan's figures are those it reports; PyTorch's are the tensors on a CPU that its profiler sees
allocated and freed."""

import argparse
import json
import math
import os
import pathlib
import resource
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
    """Writes the model and one batch of data as files."""
    model = network.graph.model()
    values = networks.start(network)
    for tensor in model.graph.initializer:
        if tensor.doc_string:
            tensor.CopyFrom(numpy_helper.from_array(values[tensor.name], tensor.name))
    onnx.save(model, folder / "model.onnx")
    columns, target = data_of(network)
    np.savez(folder / "data.npz", **columns, target=target)


def run_tartan(program, folder, batch, steps):
    command = [program, "train", folder / "model.onnx", "--data", folder / "data.npz", "--batch", batch,
               "--steps", steps, "--log-every", 1, "--lr", RATE, "--train-batch-norm", "--no-shuffle",
               "--target", "target", "--format", "json", "--tier", "exact"]
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"tartan train failed:\n{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def time_tartan(program, folder, batch, steps):
    return [line["step_ms"] for line in run_tartan(program, folder, batch, steps) if "step_ms" in line][3:]


def torch_step(network, device="cpu", compiled=False):
    """Returns a function that executes a step, and one that lists the tensors that exist between
    steps."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    networks.start(network)
    module = network.module.train().to(device)
    columns, target = data_of(network)
    inputs = [torch.from_numpy(c).to(device) for c in columns.values()]
    target = torch.from_numpy(target).to(device)
    # The fastest form of PyTorch's AdamW.
    optimizer = torch.optim.AdamW(module.parameters(), RATE, weight_decay=0,
                                  fused=device == "cuda")

    def loss_of(*x):
        return F.cross_entropy(module(*x).flatten(0, -2), target.flatten())

    if compiled:
        loss_of = torch.compile(loss_of, mode="reduce-overhead" if device == "cuda" else None)

    def step():
        loss = loss_of(*inputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    def tensors():
        parameters = list(module.parameters())
        state = [t for s in optimizer.state.values() for t in s.values() if torch.is_tensor(t)]
        return [*parameters, *(p.grad for p in parameters), *module.buffers(), *state, *inputs, target]

    return step, tensors


def time_torch(network, steps, threads, device, compiled):
    torch.set_num_threads(threads)
    step, _ = torch_step(network, device, compiled)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    return times[3:]


def time_compiled(network, arguments):
    """Returns nothing if this PyTorch cannot compile."""
    try:
        return time_torch(network, arguments.steps, arguments.threads, arguments.torch_device, True)
    except Exception as error:  # any exception of its compilers
        print(f"torch.compile: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)
        return []


def memory_of_tartan(program, folder, batch):
    """Bytes on the device by use, and bytes of the process."""
    report = run_tartan(program, folder, batch, 3)[-1]
    parts = {n: int(report[f"{n}_bytes"]) for n in ("parameter", "state", "kept", "scratch", "batch", "constant")}
    return int(report["peak_device_bytes"]), parts, int(report["peak_host_bytes"])


def peak_of_torch(name):
    """Peak bytes of tensors during one step: those that exist before it, and those that the
    profiler sees."""
    step, tensors = torch_step(NETWORKS[name]())
    for _ in range(2):
        step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()  # after this step, its allocations that the next one frees are known
        with torch.profiler.record_function("measured"):
            step()
    events = profile.profiler.kineto_results.events()
    begin = next(e.start_ns() for e in events if e.name() == "measured")
    live = most = before = 0
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        live += event.nbytes()
        if event.start_ns() < begin:
            before = most = live
        most = max(most, live)
    return most - before + sum(t.numel() * t.element_size() for t in tensors())


def memory_of_torch(name):
    """Runs peak_of_torch in a separate process, so that the memory belongs to this network
    alone."""
    command = [sys.executable, __file__, "--memory-of-torch", name]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def print_memory(arguments):
    print(f"{'network':14} {'Tartan MiB':>10} {'PyTorch MiB':>11} {'PyTorch / Tartan':>17}  processes MiB; of Tartan")
    for name, make in NETWORKS.items():
        if arguments.only not in ("", name):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            network = make()
            write(network, pathlib.Path(temporary))
            ours, parts, host = memory_of_tartan(arguments.tartan, pathlib.Path(temporary), network.target[0])
        theirs = memory_of_torch(name)
        listed = ", ".join(f"{part} {size / 2**20:.1f}" for part, size in parts.items())
        print(f"{name:14} {ours / 2**20:10.1f} {theirs['peak'] / 2**20:11.1f} {theirs['peak'] / ours:17.2f}"
              f"  {host / 2**20:.0f}, {theirs['host'] / 2**20:.0f}; {listed}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).parent.parent
    parser.add_argument("--tartan", default=root / "build/tartan")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--torch-device", default="cpu", help="cpu or cuda, with float32 throughout")
    parser.add_argument("--compile", action="store_true", help="torch.compile, too")
    parser.add_argument("--memory", action="store_true", help="bytes instead of milliseconds")
    parser.add_argument("--memory-of-torch", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # for both
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.threads])
    if arguments.memory_of_torch:
        peak = peak_of_torch(arguments.memory_of_torch)
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"peak": peak, "host": host}))
        return
    if arguments.memory:
        print_memory(arguments)
        return
    print(f"{'network':14} {'Tartan ms':>10} {'eager ms':>10} {'compiled ms':>11} {'best / Tartan':>14}")
    for name, make in NETWORKS.items():
        if arguments.only not in ("", name):
            continue
        ours, eager, compiled = [], [], []
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            network = make()
            write(network, folder)
            for _ in range(arguments.rounds):
                ours += time_tartan(arguments.tartan, folder, network.target[0], arguments.steps)
                eager += time_torch(make(), arguments.steps, arguments.threads, arguments.torch_device, False)
            if arguments.compile:
                compiled = time_compiled(make(), arguments)
        a, b = statistics.median(ours), statistics.median(eager)
        c = statistics.median(compiled) if compiled else math.inf
        print(f"{name:14} {a:10.2f} {b:10.2f} {c:11.2f} {min(b, c) / a:14.2f}", flush=True)


if __name__ == "__main__":
    main()
