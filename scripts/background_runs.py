#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares run times while exact kernels compile in the background with run times of ready kernels.

    PYTHONPATH=build/python scripts/background_runs.py MODEL [--size width=320]... [--seconds 60] [--pause 0.05]

A ready kernel takes dynamic shapes, an exact kernel is specialised for one shape. Each loop of
runs is a process with its own cache, which is empty at first. The processes run alternately for
a second each while the other one is stopped, so that other load on the machine slows both alike.
For each part of the time the script prints the medians and means of both loops, and their ratio.
The target is a ratio of means of 1.15 until exact kernels arrive. --seconds: duration of each
loop; --pause: seconds between two runs."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

_TURN = 1.0
_STOPPED = 500 * _TURN  # milliseconds: a longer run contains a stop of the process
_NUMBERS = {"float": "float32", "double": "float64"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--size", action="append", default=[], help="NAME=NUMBER; others are 1")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--loop", metavar="TIER", help=argparse.SUPPRESS)
    return parser.parse_args()


def loop(options):
    """Prints a line after the first run, and at the end the milliseconds of each run."""
    import tartan

    session = tartan.InferenceSession(options.model, tier=options.loop)
    sizes = dict(size.split("=") for size in options.size)
    feed = {}
    for node in session.get_inputs():
        dims = [dim if isinstance(dim, int) else int(sizes.get(dim, 1)) for dim in node.shape]
        name = node.type[len("tensor("):-1]
        feed[node.name] = np.ones(dims, _NUMBERS.get(name, name))
    session.run(None, feed)
    print("begins", flush=True)
    runs = []
    while not runs or sum(runs) < 1000 * options.seconds:
        begin = time.perf_counter()
        session.run(None, feed)
        runs.append(1000 * (time.perf_counter() - begin))
        time.sleep(options.pause)
        if runs[-1] > _STOPPED:
            runs.pop()
    print(json.dumps(runs), file=sys.stderr)


def start(tier, cache):
    """Starts the process of a loop and returns it, stopped after its first run."""
    places = {"TARTAN_CACHE_DIR": cache, "POCL_CACHE_DIR": os.path.join(cache, "driver")}
    process = subprocess.Popen([sys.executable, *sys.argv, "--loop", tier], env={**os.environ, **places},
                               stdout=subprocess.PIPE, stderr=open(os.path.join(cache, "runs"), "w"), text=True,
                               start_new_session=True)
    if not process.stdout.readline():
        sys.exit(open(os.path.join(cache, "runs")).read())
    os.killpg(process.pid, signal.SIGSTOP)
    return process


def run_in_turns(loops):
    """Runs the loops alternately until one of them ends; the others then continue alone."""
    while all(loop.poll() is None for loop in loops):
        for loop in loops:
            os.killpg(loop.pid, signal.SIGCONT)
            try:
                loop.wait(_TURN)
            except subprocess.TimeoutExpired:
                os.killpg(loop.pid, signal.SIGSTOP)
    for loop in loops:
        if loop.poll() is None:
            os.killpg(loop.pid, signal.SIGCONT)
            loop.wait()


def part(runs, number, count):
    """The runs in part `number` of `count` equal parts of the time."""
    found, passed, total = [], 0, sum(runs)
    for ms in runs:
        if number <= count * passed / total < number + 1:
            found.append(ms)
        passed += ms
    return found


def compare(options):
    with tempfile.TemporaryDirectory() as ready_cache, tempfile.TemporaryDirectory() as auto_cache:
        run_in_turns([start("ready", ready_cache), start("auto", auto_cache)])
        ready, auto = (json.loads(pathlib.Path(cache, "runs").read_text()) for cache in (ready_cache, auto_cache))
    print("part  ready: median  mean  default: median  mean  of ready: median  mean")
    for number in range(options.parts):
        figures = [(statistics.median(runs), statistics.fmean(runs))
                   for runs in (part(ready, number, options.parts), part(auto, number, options.parts))]
        (ready_median, ready_mean), (median, mean) = figures
        print(f"{number:4} {ready_median:14.2f} {ready_mean:5.2f} {median:16.2f} {mean:5.2f} "
              f"{median / ready_median:17.2f} {mean / ready_mean:5.2f}")


if __name__ == "__main__":
    options = arguments()
    loop(options) if options.loop else compare(options)
