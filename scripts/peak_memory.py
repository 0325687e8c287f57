#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the peak memory of a process that loads a model and runs it, compared with onnxruntime.

    scripts/peak_memory.py [--tartan PROGRAM]... [--tier ready] [--no-peer] MODEL.onnx...

Each model is loaded and run twice, each time in its own process; the second one finds compiled
kernels in the cache. The figures are the peak resident memory in MB, including mapped files. Inputs
are random, and unspecified sizes are 1.
"""
import argparse
import os
import pathlib
import subprocess
import sys

PEER = """
import sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
feeds = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], types[i.type]) for i in session.get_inputs()}
for _ in range(3):
    session.run(None, feeds)
"""


def peak_mb(command):
    """The peak memory of one process; None if it fails."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024 if process.returncode == 0 else None


def shown(value):
    return f"{'failed':>10}" if value is None else f"{value:10.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tartan", action="append", help="the program; several are compared")
    parser.add_argument("--tier", default="auto", choices=["auto", "exact", "ready"])
    parser.add_argument("--no-peer", action="store_true", help="do not run onnxruntime")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    arguments = parser.parse_args()
    programs = arguments.tartan or ["build/tartan"]
    for number, program in enumerate(programs):
        print(f"program {number + 1}: {program}")
    heads = [f"{number + 1}, first{number + 1:>4}, then" for number in range(len(programs))]
    print(f"{'MB':24} {'peer':>10} " + " ".join(f"{head:>20}" for head in heads))
    for model in arguments.models:
        peer = None if arguments.no_peer else peak_mb([sys.executable, "-c", PEER, model])
        row = [f"{pathlib.Path(model).parent.name + '/' + pathlib.Path(model).stem:24}"]
        row.append(f"{'-':>10}" if arguments.no_peer else shown(peer))
        for program in programs:
            command = [program, "--quiet", "--tier", arguments.tier, "bench", model, "--count", "3"]
            row += [shown(peak_mb(command)), shown(peak_mb(command))]
        print(" ".join(row), flush=True)


if __name__ == "__main__":
    main()
