#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the large networks in every precision by `tartan train`, and compares with PyTorch.

    pip install torch numpy onnx
    scripts/training_matrix.py [--tartan build/tartan] [--only NAME,NAME] [--steps 200] [--compared 100]
        [--precisions float32,tf32,bfloat16,float16] [--optimizers sgd,adamw] [--jobs 4]
        [--bounds STEPS] [--gradients] [--torch-device cuda]

Prints a line for each network, precision and optimizer, with the losses of the first and the last step.
Next comes the largest relative difference between Tartan's and PyTorch's losses in the compared steps.
Its scale is the difference between PyTorch's losses in this precision and in float32.
--bounds repeats the first steps with kernels that check each access. --gradients compares the gradients
of the first step with float64. It prints the mean over the parameters of Tartan's error by PyTorch's
error in the same precision. Exits with 1 if a run fails, or if a loss is not finite."""

import argparse
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

import large_networks

BATCHES = 4  # used cyclically
RATES = {"sgd": 1e-2, "adamw": 1e-4}
GRADIENT_RATE = 1024.0  # one step of SGD shows the gradients without loss of digits
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
GRADIENT_SCALE = 1024.0  # of losses in float16


def run_tartan(arguments, folder, network, precision, steps, options, **environment):
    """Returns the losses, or the text of the error."""
    command = network.command(arguments.tartan, folder, precision, steps, *options)
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    losses = [line["loss"] for line in lines if "step_ms" in line]
    if result.returncode == 0 and len(losses) == steps and all(map(math.isfinite, losses)):
        return losses
    return f"exit {result.returncode} after {len(losses)} steps: {result.stderr.strip()[-300:]}"


@contextlib.contextmanager
def torch_precision(precision):
    """Matmuls of float32 values in TF32 or not, as PyTorch's users switch it."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    yield
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def torch_loss(module, x, target, device, precision):
    with torch.autocast(device, HALVES.get(precision, torch.bfloat16), enabled=precision in HALVES):
        scores = module(x)
        return F.cross_entropy(scores.flatten(0, -2), target.flatten())


def torch_curve(make, state, arguments, precision, optimizer):
    device = arguments.torch_device
    network = make()
    network.module.load_state_dict(state)
    module = network.module.train().to(device)
    data = [(x.to(device), target.to(device)) for x, target in map(network.data, range(BATCHES))]
    parameters = module.parameters()
    rate = RATES[optimizer]
    update = torch.optim.SGD(parameters, rate) if optimizer == "sgd" else torch.optim.AdamW(parameters, rate, weight_decay=0)
    scaler = torch.amp.GradScaler(device, enabled=precision == "float16")
    losses = []
    with torch_precision(precision):
        for step in range(min(arguments.steps, arguments.compared)):
            loss = torch_loss(module, *data[step % BATCHES], device, precision)
            update.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(update)
            scaler.update()
            losses.append(loss.item())
    return losses


def torch_gradients(make, state, arguments, precision):
    """Gradients of the first step by parameter, in float64. The precision may be float64."""
    device = arguments.torch_device
    network = make()
    network.module.load_state_dict(state)
    module = network.module.train().to(device)
    x, target = (t.to(device) for t in network.data(0))
    if precision == "float64":
        module, x = module.double(), x.double() if x.is_floating_point() else x
    scale = GRADIENT_SCALE if precision == "float16" else 1.0
    with torch_precision(precision):
        (torch_loss(module, x, target, device, precision) * scale).backward()
    return {name: p.grad.double().cpu().numpy() / scale for name, p in module.named_parameters()}


def tartan_gradients(arguments, folder, network, precision):
    """Gradients by parameter, or the text of the error."""
    trained = folder / f"{precision}.onnx"
    options = ["--optimizer", "sgd", "--lr", GRADIENT_RATE, "--export", trained]
    if precision == "float16":
        options += ["--loss-scale", GRADIENT_SCALE]
    losses = run_tartan(arguments, folder, network, precision, 1, options)
    if isinstance(losses, str):
        return losses
    before, after = ({i.name: numpy_helper.to_array(i).astype(np.float64) for i in onnx.load(path).graph.initializer}
                     for path in (folder / "model.onnx", trained))
    trained.unlink()
    return {name: (before[name] - after[name]) / GRADIENT_RATE for name in before if name in after}


def print_gradients(make, state, arguments, folder, network, name):
    exact = torch_gradients(make, state, arguments, "float64")
    for precision in arguments.precisions:
        ours = tartan_gradients(arguments, folder, network, precision)
        if isinstance(ours, str):
            print(f"{name:10} {precision:9} gradients: {ours}", flush=True)
            continue
        theirs = torch_gradients(make, state, arguments, precision)
        ratios, errors = [], []
        for parameter, value in exact.items():
            if parameter in ours and np.abs(value).max() > 0:
                ours_off, theirs_off = (np.linalg.norm(g[parameter] - value) for g in (ours, theirs))
                ratios.append(ours_off / max(theirs_off, 1e-30))
                errors.append(ours_off / np.linalg.norm(value))
        print(f"{name:10} {precision:9} gradients: median error {np.median(errors):.1e}, of PyTorch's error"
              f" {np.mean(ratios):.2f} in the mean, {np.max(ratios):.2f} at most, {len(ratios)} parameters", flush=True)


def apart(losses, others):
    return max((abs(a - b) / abs(b) for a, b in zip(losses, others)), default=math.nan)


def run_network(name, arguments, pool):
    """Returns whether all runs ended well."""
    make = large_networks.NETWORKS[name]
    torch.manual_seed(0)
    network = make()
    state = {n: t.clone() for n, t in network.module.state_dict().items()}
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        network.write(folder, BATCHES)
        runs, checks = {}, {}
        for precision in arguments.precisions:
            for optimizer in arguments.optimizers:
                options = ["--optimizer", optimizer, "--lr", RATES[optimizer]]
                runs[precision, optimizer] = pool.submit(run_tartan, arguments, folder, network, precision,
                                                         arguments.steps, options)
                if arguments.bounds:
                    checks[precision, optimizer] = pool.submit(run_tartan, arguments, folder, network, precision,
                                                               arguments.bounds, options, TARTAN_CHECK_BOUNDS="1")
        plain = {optimizer: torch_curve(make, state, arguments, "float32", optimizer) for optimizer in arguments.optimizers}
        for (precision, optimizer), run in runs.items():
            same = precision == "float32" or (precision == "tf32" and arguments.torch_device == "cpu")
            theirs = plain[optimizer] if same else torch_curve(make, state, arguments, precision, optimizer)
            ours = run.result()
            text = ours if isinstance(ours, str) else (
                f"{ours[0]:.4f} to {ours[-1]:.4f}, from PyTorch's losses {apart(ours, theirs):.1e}, these from float32's"
                f" {apart(theirs, plain[optimizer]):.1e}")
            checked = checks[precision, optimizer].result() if arguments.bounds else []
            if isinstance(checked, str):
                text += f"; check of bounds: {checked}"
            good &= not isinstance(ours, str) and not isinstance(checked, str)
            print(f"{name:10} {precision:9} {optimizer:6} {text}", flush=True)
        if arguments.gradients:
            print_gradients(make, state, arguments, folder, network, name)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    def names(text):
        return text.split(",")
    parser.add_argument("--tartan", default=pathlib.Path(__file__).parent.parent / "build/tartan")
    parser.add_argument("--only", type=names, default=list(large_networks.MATRIX))
    parser.add_argument("--precisions", type=names, default=["float32", "tf32", "bfloat16", "float16"])
    parser.add_argument("--optimizers", type=names, default=["sgd", "adamw"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--compared", type=int, default=100, help="steps whose losses are compared")
    parser.add_argument("--jobs", type=int, default=4, help="runs of Tartan at once")
    parser.add_argument("--bounds", type=int, default=0, metavar="STEPS")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--torch-device", default="cuda")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        good = [run_network(name, arguments, pool) for name in arguments.only]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
