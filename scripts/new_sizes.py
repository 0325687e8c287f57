#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures runs with sizes that a session has not seen before.

    PYTHONPATH=build/python scripts/new_sizes.py MODEL --size width=96:800:8 [--size nodes=500:900] [--fix height=48]
        [--below ids=nodes] [--count 30] [--tier ready] [--exact 3]

Every named dimension of the model's inputs has a range in --size, or a number in --fix. One new
session runs --count random sizes in sequence. For each size the first call and the median of the
next ones are timed. --below limits the elements of an integer input by a number or by a
dimension's size. For comparison, sessions with exact kernels run --exact of those sizes, spread
over the range. The target for a first call is 1.5 times their median plus 20 ms."""

import argparse
import random
import statistics
import time

import numpy as np
import tartan

_NUMBERS = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--size", action="append", default=[], help="NAME=MINIMUM:MAXIMUM[:STEP]")
    parser.add_argument("--fix", action="append", default=[], help="NAME=NUMBER")
    parser.add_argument("--below", action="append", default=[], help="INPUT=NUMBER or INPUT=DIMENSION")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--tier", default="ready")
    parser.add_argument("--exact", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def feed(session, sizes, below, numbers):
    """Random inputs, and the sizes of the dimensions."""
    result = {}
    for node in session.get_inputs():
        dims = [dim if isinstance(dim, int) else sizes[dim] for dim in node.shape]
        name = node.type[len("tensor(") : -1]
        kind = np.dtype(_NUMBERS.get(name, name))
        if kind.kind in "iu":
            bound = below.get(node.name, "2")
            bound = int(bound) if bound.isdigit() else sizes[bound]
            result[node.name] = numbers.integers(0, bound, dims).astype(kind)
        else:
            result[node.name] = numbers.standard_normal(dims).astype(kind)
    return result


def timed(session, inputs):
    """Wall and processor milliseconds of a run."""
    wall, processor = time.perf_counter(), time.process_time()
    session.run(None, inputs)
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)


def steady(session, inputs, runs):
    return statistics.median(timed(session, inputs)[0] for _ in range(runs))


def main():
    options = arguments()
    pick = random.Random(options.seed)
    numbers = np.random.default_rng(options.seed)
    below = dict(item.split("=") for item in options.below)
    fixed = {name: int(value) for name, value in (item.split("=") for item in options.fix)}
    ranges = {}
    for item in options.size:
        name, bounds = item.split("=")
        least, greatest, *step = map(int, bounds.split(":"))
        ranges[name] = range(least, greatest + 1, *step)
    session = tartan.InferenceSession(options.model, tier=options.tier)
    firsts, all_sizes = [], []
    for number in range(options.count):
        sizes = {**fixed, **{name: pick.choice(values) for name, values in ranges.items()}}
        inputs = feed(session, sizes, below, numbers)
        wall, processor = timed(session, inputs)
        median = steady(session, inputs, 5)
        print(f"{number} {sizes}: first {wall:.1f} ms ({processor:.1f} ms of processors), then {median:.1f} ms")
        if sizes not in all_sizes:
            all_sizes.append(sizes)
            firsts.append(wall)
    print(f"median of first calls: {statistics.median(firsts):.1f} ms, "
          f"of all but the first: {statistics.median(firsts[1:]):.1f} ms")
    if options.exact < 1:
        return
    order = sorted(range(len(firsts)), key=lambda i: firsts[i])
    chosen = [order[(2 * i + 1) * len(order) // (2 * options.exact)] for i in range(options.exact)]
    exact = []
    for i in chosen:
        inputs = feed(session, all_sizes[i], below, numbers)
        exact_session = tartan.InferenceSession(options.model, tier="exact")
        exact_session.run(None, inputs)
        exact.append(steady(exact_session, inputs, 20))
        print(f"exact kernels of {all_sizes[i]}: {exact[-1]:.1f} ms; the first call took {firsts[i]:.1f} ms")
    limit = 1.5 * statistics.median(exact) + 20
    print(f"the target for the median of first calls is {limit:.1f} ms")


if __name__ == "__main__":
    main()
