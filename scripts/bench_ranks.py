#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of large networks on one device and on several ranks in one run, with the same
batch per rank.

    pip install torch numpy onnx
    scripts/bench_ranks.py [--ranks 2,4] [--only resnet50,gpt] [--precisions bfloat16]
        [--transports nccl,host] [--buckets 1G,4M] [--steps N] [--mpirun "mpirun --oversubscribe"]
        [--torch] [--traces FOLDER]

Prints the median milliseconds of a step after the first four, the time of it that is lost to
communication, and the throughput of all ranks relative to one device. `--torch` adds rows of
PyTorch, whose ranks DistributedDataParallel joins. A run that fails is a row with its exit
code or signal and the end of its error; with `--traces` the folder has the whole error. The networks
are in large_networks.py; `--transports` and `--buckets` are options of `tartan train`."""

import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile

import large_networks
import numpy as np
import torch_ranks


def ending(code, error):
    """Describes how a process ended: its code or signal, and the end of its error."""
    lines = error.strip().splitlines()
    lines = [line for line in lines if "tartan:" in line or "signal" in line] or lines  # mpirun adds its own
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
    return f"{how}: " + " | ".join(lines[-6:])


def run_train(arguments, folder, ranks, network, precision, extra=()):
    """Returns the steps' times and the summary of a run, or the last lines of its error."""
    launcher = [*arguments.mpirun.split(), "-n", ranks] if ranks > 1 else []
    tartan, *train = network.command(arguments.tartan, folder, precision, arguments.steps, "--lr", 1e-4, *extra,
                                     data=f"data{ranks}.npz", ranks=ranks)
    command = [*launcher, tartan, "-v", *train]
    label = "_".join([folder.name, precision, str(ranks), *(str(word).strip("-") for word in extra)])
    if arguments.traces and ranks > 1:
        command += ["--trace", pathlib.Path(arguments.traces, label + ".json")]
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return [], f"no end in {arguments.timeout} s"
    if arguments.traces:
        pathlib.Path(arguments.traces, label + ".log").write_text(done.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines or "done" not in lines[-1]:
        return [], ending(done.returncode, done.stderr)
    return [line["step_ms"] for line in lines if "step_ms" in line], lines[-1]


def run_torch(name, ranks, precision, steps):
    try:
        return torch_ranks.step_times(name, precision, ranks, steps), {}
    except Exception as error:  # any exception of a process
        return [], str(error).strip().splitlines()[-1]


def print_row(name, precision, ranks, way, times, summary, one):
    """Prints a row, and returns the median time of a step; None for a run that failed."""
    label = f"{name:10} {precision:9} {ranks:5} {way:12}"
    if not times:
        print(label, summary, flush=True)
        return None
    median = statistics.median(times[4:] or times)
    speed = f"{ranks * one / median:6.2f}" if one else ""
    print(label, f"{median:8.2f} {float(summary.get('lost_ms') or 0):8.2f} {speed}", flush=True)
    return median


def compare(arguments, name, folder):
    network = large_networks.NETWORKS[name]()
    network.write(folder)
    data = np.load(folder / "data.npz")
    counts = [int(n) for n in arguments.ranks.split(",")]
    for ranks in [1, *counts]:
        np.savez(folder / f"data{ranks}.npz", **{key: np.concatenate([data[key]] * ranks) for key in data.files})
    for precision in arguments.precisions.split(","):
        one = print_row(name, precision, 1, "", *run_train(arguments, folder, 1, network, precision), None)
        for ranks in counts:
            for transport in arguments.transports.split(","):
                for bucket in arguments.buckets.split(",") if arguments.buckets else [""]:
                    extra = ["--transport", transport, *(["--bucket", bucket] if bucket else [])]
                    print_row(name, precision, ranks, f"{transport} {bucket}",
                              *run_train(arguments, folder, ranks, network, precision, extra), one)
        if arguments.torch:
            one = print_row(name, precision, 1, "PyTorch", *run_torch(name, 1, precision, arguments.steps), None)
            for ranks in counts:
                print_row(name, precision, ranks, "PyTorch", *run_torch(name, ranks, precision, arguments.steps), one)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tartan", default=pathlib.Path(__file__).parent.parent / "build/tartan")
    parser.add_argument("--only", default="resnet50,gpt")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--precisions", default="bfloat16")
    parser.add_argument("--transports", default="nccl,host")
    parser.add_argument("--buckets", default="")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--torch", action="store_true", help="also PyTorch, on GPUs")
    parser.add_argument("--traces", metavar="FOLDER", help="write time lines of the ranks, and errors")
    parser.add_argument("--timeout", type=float, default=120, help="seconds of a run")
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    arguments = parser.parse_args()
    print(f"{'network':10} {'precision':9} ranks {'transport':12} {'step ms':>8} {'lost ms':>8} {'speed':>6}")
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary, name)
            folder.mkdir()
            compare(arguments, name, folder)


if __name__ == "__main__":
    main()
