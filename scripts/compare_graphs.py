#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random graphs with the results of ONNX's reference evaluator and of onnxruntime.

    pip install onnx numpy onnxruntime
    scripts/compare_graphs.py FOLDER [--cases 1000] [--seed 0]
    build/tests/onnx_node_cases --graphs FOLDER                 # the naive evaluator, no device
    scripts/compare_graphs.py FOLDER --device build/tartan [--share 300]
    scripts/compare_graphs.py FOLDER --pack FILE [--share 50]   # for tests/frontend/onnx

A graph has 3 to 15 nodes. Shapes contain zeros, ones and primes. The branches and bodies of If,
Loop, Scan and SequenceMap capture outer values. Shapes, axes, pads, k and the like are inputs,
constants or computed. Case N of a seed is the same on every run. Folders are
FOLDER/graph_N_TYPE/model.onnx with test_data_set_0; TYPE is the float type of the lowest precision.

The reference evaluator of a node's operator set evaluates every node, and bodies iteration by
iteration. If onnxruntime runs the model too, both must agree. Otherwise the case is printed and not
written: decide which is right (frontend/onnx/README.md has the rule) and adapt the node's function
in graph_recipes/, as for Slice and Erf. A graph whose results change when its inputs change by one
or two roundings is not written, since its results depend on the rounding of sums.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

from compare_operators import count_cases, run_onnxruntime
from graph_recipes import COARSENESS, Graph, Model, Refused, add_node, coarsest, flattened
from operator_recipes.draw import BFLOAT16, between, is_float, pick

# Relative and absolute tolerance by the type of an output, as in tests/frontend/onnx/node_case.h.
TOLERANCES = {
    np.dtype(np.float64): (1e-9, 1e-12),
    np.dtype(np.float32): (2e-5, 1e-6),
    np.dtype(np.float16): (8e-3, 1e-3),
    np.dtype(BFLOAT16): (6e-2, 1e-2),
}
EPSILON = dict(zip(COARSENESS, (2.0**-52, 2.0**-23, 2.0**-10, 2.0**-7)))
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def draw(rng):
    floats = pick(
        rng,
        ((np.float32,), (np.float32,), (np.float32, np.float64), (np.float64,), (np.float16,),
         (np.float32, np.float16), (BFLOAT16,), (np.float32, BFLOAT16)),
    )  # fmt: skip
    opset = between(rng, 9 if BFLOAT16 not in floats else 13, 25)
    integers = (np.int64, np.int32) + ((pick(rng, INTEGERS),) if rng.random() < 0.3 else ())
    graph = Graph(Model(rng, opset, floats, integers))
    for _ in range(between(rng, 1, 4)):
        graph.new_array()
    graph.new_array(dtype=floats[0])
    wanted = between(rng, 3, 15)
    for _ in range(10 * wanted):
        if len(graph.steps) >= wanted:
            break
        add_node(graph)
    if len(graph.steps) < 3:
        raise Refused("too few nodes")
    return graph, outputs_of(graph)


def outputs_of(graph):
    """Selects outputs among the values that nothing reads, and casts them to the lowest
    precision they were computed from."""
    made = [o for s in graph.steps for o in s.proto.output]
    ends = [n for n in made if n not in graph.used][-3:]
    ends += [n for n in (pick(graph.rng, made),) if n not in ends]
    outputs = []
    for name in ends:
        value, grain = graph.find(name), graph.grain(name)
        if isinstance(value, list):
            if value and value[0].dtype in COARSENESS and value[0].dtype != grain:
                continue
        elif is_float(value) and value.dtype != grain:
            name = graph.add("Cast", [name], to=onnx.helper.np_dtype_to_tensor_dtype(grain))[0]
        outputs.append(name)
    if not outputs:
        raise Refused("no outputs")
    return outputs


def difference(actual, expected, share=1.0):
    """Describes the difference between the values, or returns None. `share` scales the
    tolerances of the types."""
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return "another sequence"
        found = [difference(a, e, share) for a, e in zip(actual, expected)]
        return next((f for f in found if f), None)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape} for {expected.dtype}{expected.shape}"
    if not is_float(expected):
        unlike = actual != expected
    else:
        relative, absolute = TOLERANCES[expected.dtype]
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        near = np.abs(a - e) <= share * (absolute + relative * np.abs(e))
        unlike = ~(near | (a == e) | (np.isnan(a) & np.isnan(e)))
    if not np.any(unlike):
        return None
    first = tuple(int(i) for i in np.argwhere(unlike)[0])
    return f"{actual[first]} for {expected[first]} at {list(first)}"


def check_condition(graph, outputs, expected):
    """Refuses a graph whose results depend on rounding."""
    given = {**graph.model.inputs, **graph.model.initializers}
    for _ in range(3):
        moved = {}
        for name, value in given.items():
            if is_float(value):
                step = 2 * EPSILON[value.dtype] * graph.rng.uniform(-1, 1, value.shape)
                value = np.asarray(value.astype(np.float64) * (1 + step)).astype(value.dtype)
            moved[name] = value
        values = graph.run(moved)
        for name, value in zip(outputs, expected):
            if difference(values[name], value, 0.4):
                raise Refused("results depend on rounding")


def reference(graph, outputs, model, where):
    """The results, and onnxruntime's verdict on them."""
    expected = [graph.find(n) for n in outputs]
    try:
        actual = run_onnxruntime(model, dict(graph.model.inputs))
    except Exception as error:
        lacking = "NOT_IMPLEMENTED|Type Error|INVALID_GRAPH|Numpy_type 256|Tensor Type. bfloat16"
        if re.search(lacking, str(error)):
            return expected, "onnxruntime lacks it"
        if not re.search("ShapeInferenceError|must have the shape set", str(error)):
            print(f"{where}: onnxruntime fails: {str(error)[:300]}")
        return expected, "onnxruntime fails"
    found = [(n, difference(a, e)) for n, a, e in zip(outputs, actual, expected)]
    found = [(n, d) for n, d in found if d]
    if not found:
        return expected, "both agree"
    operators = {node.op_type for node in all_nodes(model.graph)}
    names = ", ".join(sorted(operators))
    print(f"{where}: onnxruntime differs: {found[0][0]}: {found[0][1]} ({names})")
    raise Refused("the references differ")


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def type_of(graph, outputs):
    grains = [s.grain for s in graph.steps if s.grain is not None]
    grains += [v.dtype for n in outputs for v in flattened(graph.find(n)) if is_float(v)]
    return str(coarsest(grains) or "int")


def write_one(rng, number, arguments):
    graph, outputs = draw(rng)
    expected = [graph.find(n) for n in outputs]
    check_condition(graph, outputs, expected)
    model = graph.to_model(outputs)
    expected, how = reference(graph, outputs, model, f"case {number}")
    folder = arguments.folder / f"graph_{number:05}_{type_of(graph, outputs)}"
    data = folder / "test_data_set_0"
    shutil.rmtree(folder, ignore_errors=True)
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for prefix, values in (("input", graph.model.inputs.values()), ("output", expected)):
        for i, value in enumerate(values):
            write = numpy_helper.from_list if isinstance(value, list) else numpy_helper.from_array
            (data / f"{prefix}_{i}.pb").write_bytes(write(value).SerializeToString())
    return how, {node.op_type for node in all_nodes(model.graph)}


def write_some(numbers, arguments):
    counts = {"outcomes": collections.Counter(), "refused": collections.Counter()}
    counts["operators"] = collections.Counter()
    for number in numbers:
        try:
            how, used = write_one(np.random.default_rng([arguments.seed, number]), number, arguments)
            counts["outcomes"][how] += 1
            counts["operators"].update(used)
        except Exception as error:
            words = str(error).strip().splitlines() or [""]
            counts["refused"][f"{type(error).__name__}: {words[-1][:100]}"] += 1
    return counts


def in_a_child(work):
    """The result of `work`, computed in a child process, because onnxruntime may terminate it."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            json.dump(work(), pipe)
        sys.stdout.flush()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 else None


def write_cases(arguments):
    print(f"seed {arguments.seed}")
    counts = collections.defaultdict(collections.Counter)
    end = arguments.first + arguments.cases
    for first in range(arguments.first, end, 25):
        numbers = range(first, min(first + 25, end))
        found = in_a_child(lambda: write_some(numbers, arguments))
        if found is None:
            print(f"cases {numbers.start} to {numbers.stop - 1}: the process ended")
        for name, counter in (found or {}).items():
            counts[name].update(counter)
    outcomes = counts["outcomes"]
    print(f"{sum(outcomes.values())} cases: " + ", ".join(f"{n} {how}" for how, n in outcomes.items()))
    for message, count in counts["refused"].most_common(12 if arguments.verbose else 3):
        print(f"    {count} refused: {message}")
    if arguments.verbose:
        print("    " + ", ".join(f"{n} {name}" for name, n in counts["operators"].most_common()))


def cases_in(folder, share):
    return sorted(p for p in folder.iterdir() if (p / "model.onnx").exists())[:share]


def run_on_device(arguments):
    """Runs the cases in processes of 25, so that a crash affects few. Tolerances depend on the
    type."""
    names = collections.defaultdict(list)
    for case in cases_in(arguments.folder, arguments.share):
        names[case.name.rpartition("_")[2]].append(case.name)
    totals = collections.Counter()
    for kind, cases in names.items():
        dtype = np.dtype(BFLOAT16) if kind == "bfloat16" else np.dtype(kind if kind != "int" else "float64")
        relative, absolute = TOLERANCES[dtype]
        for begin in range(0, len(cases), 25):
            part = "|".join(cases[begin : begin + 25])
            command = [arguments.device, "--quiet", "--format", "json", "--tier", "exact", "verify", str(arguments.folder)]
            command += ["--match", f"(^|/)({part})$", "--rtol", str(relative), "--atol", str(absolute)]
            count_cases(part, command, totals)
    print(", ".join(f"{count} {status}" for status, count in totals.most_common()))


def pack(arguments):
    """Writes all cases to one file: for each its name, model, inputs and outputs. A size in 4
    bytes precedes each item, and a count precedes the inputs and the outputs."""
    packed, number = b"", 0

    def sized(data):
        return struct.pack("<I", len(data)) + data

    for folder in cases_in(arguments.folder, None):
        data = folder / "test_data_set_0"
        case = sized(folder.name.encode()) + sized((folder / "model.onnx").read_bytes())
        for prefix in ("input", "output"):
            files = sorted(data.glob(f"{prefix}_*.pb"), key=lambda p: int(re.search(r"\d+", p.stem)[0]))
            case += struct.pack("<I", len(files)) + b"".join(sized(f.read_bytes()) for f in files)
        if len(case) > 6000 or number >= arguments.share:
            continue
        packed, number = packed + case, number + 1
    arguments.pack.write_bytes(packed)
    print(f"{number} cases in {len(packed)} bytes")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=1000, help="number of cases to try (1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="report refused cases and operators")
    parser.add_argument("--device", metavar="TARTAN", help="run the cases with this program")
    parser.add_argument("--pack", metavar="FILE", type=pathlib.Path, help="write the cases to one file")
    parser.add_argument("--share", type=int, default=50, help="number of cases to run or pack (50)")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    if arguments.device:
        run_on_device(arguments)
    elif arguments.pack:
        pack(arguments)
    else:
        write_cases(arguments)


if __name__ == "__main__":
    main()
