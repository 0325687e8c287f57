#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of large networks by `tartan train` and by PyTorch in one run: AdamW, batch
statistics, the loss read after each step.

    pip install torch numpy onnx
    scripts/bench_large_training.py [--tartan build/tartan] [--only NAME,NAME] [--steps N]
        [--precisions float32,tf32,bfloat16,float16] [--torch-device cuda] [--no-compile]
        [--profile FOLDER]

Prints the median milliseconds of a step after the first four, PyTorch eager and compiled, the
ratio of the faster one to Tartan, the peak memory of both on a GPU, the largest relative
difference between the losses of the first steps, and the seconds until Tartan's first step was
complete."""

import argparse
import gc
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
from torch.nn import functional as F

import large_networks

RATE = 1e-4


def run_tartan(arguments, folder, network, precision, extra=()):
    command = network.command(arguments.tartan, folder, precision, arguments.steps, "--lr", RATE, *extra)
    begin = time.perf_counter()
    first = math.nan  # seconds until the line of the first step
    text = []
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        for line in process.stdout:
            if math.isnan(first) and line.startswith("{"):
                first = time.perf_counter() - begin
            text.append(line)
        if process.wait() != 0:
            errors.seek(0)
            print(f"tartan train failed: {errors.read().strip()[-300:]}", file=sys.stderr)
            return None
    lines = [json.loads(line) for line in text if line.startswith("{")]
    steps = [line for line in lines if "step_ms" in line]
    return {"times": [s["step_ms"] for s in steps], "losses": [s["loss"] for s in steps], "first": first,
            "peak": int(lines[-1].get("peak_device_bytes", 0)), "text": "".join(text)}


def run_torch(network, arguments, precision, compiled):
    device = arguments.torch_device
    torch._dynamo.reset()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    module = network.module.train().to(device)
    x, target = (t.to(device) for t in network.data())
    optimizer = torch.optim.AdamW(module.parameters(), RATE, weight_decay=0, fused=device == "cuda")
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision)
    scaler = torch.amp.GradScaler(device, enabled=precision == "float16")

    def loss_of():
        with torch.autocast(device, half or torch.bfloat16, enabled=half is not None):
            return F.cross_entropy(module(x).flatten(0, -2), target.flatten())

    if compiled:
        loss_of = torch.compile(loss_of, mode="max-autotune" if arguments.autotune else None)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times, losses = [], []
    for _ in range(arguments.steps):
        begin = time.perf_counter()
        loss = loss_of()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        times.append((time.perf_counter() - begin) * 1e3)
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    return {"times": times, "losses": losses, "peak": peak}


def try_torch(make, arguments, precision, compiled, state):
    """Returns nothing if this PyTorch cannot compile. All runs begin with the parameters `state`."""
    network = make()
    network.module.load_state_dict(state)
    try:
        return run_torch(network, arguments, precision, compiled)
    except Exception as error:  # any exception of its compilers
        print(f"PyTorch, compiled {compiled}: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)
        return None
    finally:
        del network
        gc.collect()
        if arguments.torch_device == "cuda":
            torch.cuda.empty_cache()


def median(run):
    return statistics.median(run["times"][4:] or run["times"]) if run else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).parent.parent
    parser.add_argument("--tartan", default=root / "build/tartan")
    parser.add_argument("--only", default="resnet50,vit_b_16,gpt,bert")
    parser.add_argument("--precisions", default="float32,tf32,bfloat16")
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--torch-device", default="cuda")
    parser.add_argument("--no-compile", action="store_true", help="PyTorch eager only")
    parser.add_argument("--no-torch", action="store_true", help="Tartan only")
    parser.add_argument("--autotune", action="store_true", help="torch.compile with max-autotune")
    parser.add_argument("--profile", metavar="FOLDER", help="write Tartan's time of each kernel")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'network':10} {'precision':9} {'Tartan':>8} {'eager':>8} {'compiled':>8} {'ratio':>6}"
          f" {'MiB':>7} {'PyTorch':>7} {'losses':>8} {'first s':>7}")
    for name in arguments.only.split(","):
        make = large_networks.NETWORKS[name]
        torch.manual_seed(0)
        network = make()
        state = {n: t.clone() for n, t in network.module.state_dict().items()}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            network.write(folder)
            for precision in arguments.precisions.split(","):
                ours = run_tartan(arguments, folder, network, precision)
                if arguments.profile and ours:
                    pathlib.Path(arguments.profile, f"{name}_{precision}.txt").write_text(
                        run_tartan(arguments, folder, network, precision, ["--profile"])["text"])
                runs = [] if arguments.no_torch else [
                    try_torch(make, arguments, precision, compiled, state)
                    for compiled in ([False] if arguments.no_compile else [False, True])]
                runs += [None] * (2 - len(runs))
                a, b, c = (median(run) for run in [ours, *runs])
                best = min((t for t in (b, c) if not math.isnan(t)), default=math.nan)
                apart = max((abs(p - q) / abs(q) for p, q in zip(ours["losses"], runs[0]["losses"])),
                            default=math.nan) if ours and runs[0] else math.nan
                peaks = [(run["peak"] if run else 0) / 2**20 for run in [ours, runs[0]]]
                print(f"{name:10} {precision:9} {a:8.2f} {b:8.2f} {c:8.2f} {best / a:6.2f} {peaks[0]:7.0f}"
                      f" {peaks[1]:7.0f} {apart:8.1e} {ours['first'] if ours else math.nan:7.1f}", flush=True)


if __name__ == "__main__":
    main()
