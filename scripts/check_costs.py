#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of index checks: runs with and without checks alternate in one process per
model.

    scripts/check_costs.py [--tartan build/tartan] [--match RE] [--time S] [--threads N] [--limit PERCENT]

Writes small models of operators with indices, both given as inputs and computed, and measures each
by `tartan bench --check-cost`. Times are of whole runs, from inputs to outputs on the host. Exits
with 1 if a cost is above --limit. Needs onnx and numpy.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MILLION = 1_000_000


class Model:
    """A model under construction: its inputs with the measured values."""

    def __init__(self, seed=1):
        self.random = np.random.default_rng(seed)
        self.nodes, self.inputs, self.constants = [], {}, []
        self.names = 0

    def input(self, value):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = value
        return name

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op, *operands, **attributes):
        self.names += 1
        name = f"t{self.names}"
        self.nodes.append(helper.make_node(op, operands, [name], name=name, **attributes))
        return name

    def floats(self, *shape):
        return self.random.random(shape, dtype=np.float32)

    def indices(self, bound, *shape):
        return self.random.integers(0, bound, shape)

    def computed(self, bound, *shape):
        """Indices computed by a kernel, whose range is unknown."""
        return self.node("Cast", self.input(self.indices(bound, *shape).astype(np.float32)),
                         to=TensorProto.INT64)

    def write(self, folder, output):
        def declare(name, value):
            return helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

        graph = helper.make_graph(
            self.nodes, "costs", [declare(*item) for item in self.inputs.items()],
            [helper.make_empty_tensor_value_info(output)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, folder / "model.onnx")
        flags = []
        for name, value in self.inputs.items():
            np.save(folder / f"{name}.npy", value)
            flags += ["--input", f"{name}=@{folder / name}.npy"]
        return flags


def gather_input(m):
    return m.node("Gather", m.input(m.floats(MILLION)), m.input(m.indices(MILLION, MILLION)))


def gather_int32_input(m):
    return m.node("Gather", m.input(m.floats(MILLION)),
                  m.input(m.indices(MILLION, MILLION).astype(np.int32)))


def gather_computed(m):
    return m.node("Gather", m.input(m.floats(MILLION)), m.computed(MILLION, MILLION))


def gather_summed(m):
    """Little memory traffic besides the indices: the hardest case for a check."""
    return m.node("ReduceSum", m.node("Gather", m.constant(m.floats(1024)),
                                      m.input(m.indices(1024, MILLION))), keepdims=0)


def gather_computed_summed(m):
    return m.node("ReduceSum", m.node("Gather", m.constant(m.floats(1024)),
                                      m.computed(1024, MILLION)), keepdims=0)


def gather_elements_input(m):
    return m.node("GatherElements", m.input(m.floats(1000, 1000)),
                  m.input(m.indices(1000, 1000, 1000)), axis=1)


def gather_elements_computed(m):
    return m.node("GatherElements", m.input(m.floats(1000, 1000)),
                  m.computed(1000, 1000, 1000), axis=1)


def gather_nd_input(m):
    return m.node("GatherND", m.input(m.floats(1000, 1000)), m.input(m.indices(1000, 500_000, 2)))


def scatter_nd_input(m):
    return m.node("ScatterND", m.input(m.floats(MILLION)), m.input(m.indices(MILLION, MILLION, 1)),
                  m.input(m.floats(MILLION)))


def scatter_nd_rows_computed(m):
    return m.node("ScatterND", m.input(m.floats(4096, 256)), m.computed(4096, 4096, 1),
                  m.input(m.floats(4096, 256)))


def scatter_elements_input(m):
    return m.node("ScatterElements", m.input(m.floats(1000, 1000)),
                  m.input(m.indices(1000, 1000, 1000)), m.input(m.floats(1000, 1000)), axis=1)


def scatter_elements_computed(m):
    return m.node("ScatterElements", m.input(m.floats(1000, 1000)),
                  m.computed(1000, 1000, 1000), m.input(m.floats(1000, 1000)), axis=1)


def embedding(tokens):
    """The embedding of BERT: words, positions and segments, normalised."""
    def build(m):
        words = m.node("Gather", m.constant(m.floats(30522, 768)),
                       m.input(m.indices(30522, 1, tokens)))
        positions = m.node("Gather", m.constant(m.floats(4096, 768)),
                           m.input(m.indices(4096, 1, tokens)))
        segments = m.node("Gather", m.constant(m.floats(2, 768)),
                          m.input(m.indices(2, 1, tokens)))
        total = m.node("Add", m.node("Add", words, positions), segments)
        return m.node("LayerNormalization", total, m.constant(m.floats(768)),
                      m.constant(m.floats(768)))
    return build


def small_input(m):
    """Two small matmuls on a few rows selected by indices."""
    rows = m.node("Gather", m.constant(m.floats(100, 64)), m.input(m.indices(100, 16)))
    return small_layers(m, rows)


def small_computed(m):
    rows = m.node("Gather", m.constant(m.floats(100, 64)), m.computed(100, 16))
    return small_layers(m, rows)


def small_layers(m, rows):
    hidden = m.node("Relu", m.node("MatMul", rows, m.constant(m.floats(64, 64))))
    return m.node("Softmax", m.node("MatMul", hidden, m.constant(m.floats(64, 64))))


def tiny_computed(m):
    """Only a Gather of a few computed indices: the maximum relative cost of one more kernel."""
    return m.node("Gather", m.constant(m.floats(100)), m.computed(100, 16))


CASES = {
    "Gather of 1M, input": gather_input,
    "Gather of 1M, input in int32": gather_int32_input,
    "Gather of 1M, computed": gather_computed,
    "Gather of 1M summed, input": gather_summed,
    "Gather of 1M summed, computed": gather_computed_summed,
    "GatherElements of 1M, input": gather_elements_input,
    "GatherElements of 1M, computed": gather_elements_computed,
    "GatherND of 500k, input": gather_nd_input,
    "ScatterND of 1M, input": scatter_nd_input,
    "ScatterND of 4096 rows, computed": scatter_nd_rows_computed,
    "ScatterElements of 1M, input": scatter_elements_input,
    "ScatterElements of 1M, computed": scatter_elements_computed,
    "Embedding of 128 tokens": embedding(128),
    "Embedding of 1024 tokens": embedding(1024),
    "Embedding of 4096 tokens": embedding(4096),
    "Small model, input": small_input,
    "Small model, computed": small_computed,
    "Gather of 16, computed": tiny_computed,
}


def measure(args, build):
    model = Model()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        flags = model.write(folder, build(model))
        command = [args.tartan, "--format", "json", "bench", str(folder / "model.onnx"),
                   "--check-cost", "--time", str(args.time), *flags]
        if args.threads:
            command += ["--threads", str(args.threads)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tartan", default="build/tartan")
    parser.add_argument("--match", default="", help="only models whose name contains a match")
    parser.add_argument("--time", type=float, default=5, help="seconds for each model")
    parser.add_argument("--threads", type=int, default=0, help="threads of a CPU device")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="PERCENT")
    args = parser.parse_args()
    print(f"{'model':34} {'unchecked':>11} {'checked':>11} {'cost':>8} {'runs':>6}")
    worst = 0
    for name, build in CASES.items():
        if not re.search(args.match, name):
            continue
        report = measure(args, build)
        cost = 100 * report["check_cost"]
        print(f"{name:34} {report['unchecked_median_ms']:8.4f} ms {report['median_ms']:8.4f} ms "
              f"{cost:6.2f} % {report['runs']:6}", flush=True)
        worst = max(worst, cost)
    sys.exit(1 if worst > args.limit else 0)


if __name__ == "__main__":
    main()
