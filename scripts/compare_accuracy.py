#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the errors of Tartan and onnxruntime, both against a run in float64.

    scripts/compare_accuracy.py [--tartan build/tartan] [--match RE] [--nodes RE] [--draws N]
                                [--json FILE] PATH...

Each PATH is a model folder (model.onnx, test_data_set_*/input_*.pb) or a tree of them. For every
data set onnxruntime (one thread, default options) computes its outputs first; then `tartan verify
--reference float64` measures both. Errors are in units in the last place at the exact value or,
nearer to 0, at the output's scale; RMS is relative to the scale (docs/CLI.md). Exits with 1 if
Tartan's RMS error exceeds onnxruntime's by more than --factor.

--nodes makes the values of those nodes outputs too, in the graph's order, to find where an error
begins. The error of an output of few elements is a matter of chance: --draws adds data sets with
slightly different float inputs, and a line for all of them together. Needs onnx, onnxruntime and
numpy.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def find_models(paths):
    for path in map(pathlib.Path, paths):
        if (path / "model.onnx").exists():
            yield path.name, path
            continue
        for model in sorted(path.rglob("model.onnx")):
            yield str(model.parent.relative_to(path)), model.parent


def numbered(folder, prefix):
    files = []
    while (folder / f"{prefix}_{len(files)}.pb").exists():
        files.append(folder / f"{prefix}_{len(files)}.pb")
    return files


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def read_feeds(session, folder):
    """Inputs by name if each file has the name of a different input, else by order."""
    names = [spec.name for spec in session.get_inputs()]
    tensors = [read_tensor(path) for path in numbered(folder, "input")]
    given = [tensor.name for tensor in tensors]
    if len(set(given)) < len(given) or not set(given) <= set(names):
        given = names[: len(tensors)]
    return {name: numpy_helper.to_array(tensor) for name, tensor in zip(given, tensors)}


def link_or_copy(path, to):
    """Links a file, or copies it: external data may not be a symbolic link out of the model's
    folder."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copy(path, to)


def add_outputs(path, match):
    """Makes float32 values outputs of the model if their node's operator and output names match."""
    model = onnx.load(path, load_external_data=False)
    inferred = onnx.shape_inference.infer_shapes(model)
    values = {value.name: value for value in inferred.graph.value_info}
    outputs = [output.name for output in model.graph.output]
    kept = {output.name: output for output in model.graph.output}
    del model.graph.output[:]
    for node in model.graph.node:
        for name in node.output:
            value = values.get(name)
            if value is None or not re.search(match, f"{node.op_type} {name}"):
                continue
            if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
                model.graph.output.append(value)
    model.graph.output.extend(kept[name] for name in outputs)
    path.unlink()
    path.write_bytes(model.SerializeToString())


def write_draws(data, to, draws):
    """Copies a data set's inputs, and writes `draws` additional sets with other floats."""
    random = np.random.default_rng(1)
    for draw in range(draws + 1):
        folder = to.with_name(f"{to.name}_draw_{draw}") if draw else to
        folder.mkdir()
        for path in numbered(data, "input"):
            tensor = read_tensor(path)
            if draw and tensor.data_type == onnx.TensorProto.FLOAT:
                value = numpy_helper.to_array(tensor)
                value = value * (1 + 0.05 * random.standard_normal(value.shape))
                tensor = numpy_helper.from_array(value.astype(np.float32), tensor.name)
            (folder / path.name).write_bytes(tensor.SerializeToString())
        yield folder


def answer_with_onnxruntime(model, copy, nodes, draws):
    """Creates a folder with the model's files, its inputs and onnxruntime's outputs."""
    copy.mkdir(parents=True)
    for path in model.iterdir():
        if path.is_file():
            link_or_copy(path, copy / path.name)
    if nodes:
        add_outputs(copy / "model.onnx", nodes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(copy / "model.onnx"), options, providers=["CPUExecutionProvider"])
    for data in sorted(model.glob("test_data_set_*")):
        for to in write_draws(data, copy / data.name, draws):
            outputs = session.run(None, read_feeds(session, to))
            for i, (spec, value) in enumerate(zip(session.get_outputs(), outputs)):
                tensor = numpy_helper.from_array(value, spec.name)
                (to / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


def measure(tartan, folder):
    command = [tartan, "--format", "json", "--quiet", "--tier", "exact", "verify", str(folder), "--reference", "float64",
               "--atol", "1e-5"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip() or f"tartan ended with {done.returncode}")
    case = json.loads(done.stdout)["cases"][0]
    if case["status"] not in ("pass", "fail"):
        raise RuntimeError(f"{case['status']}: {case['message']}")
    return case["accuracy"]


def number(value):
    return float(value)  # JSON has infinities as strings


def show(name, row):
    ours, theirs = row["actual"], row["published"]
    ratio = number(ours["rms_error"]) / max(number(theirs["rms_error"]), 1e-30)
    worse = number(ours["rms_error"]) > 0 and ratio > 1
    print(f"{name:34.34} {row['output']:24.24} {number(ours['max_ulps']):10.3g} "
          f"{number(theirs['max_ulps']):10.3g} {number(ours['rms_error']):10.3g} "
          f"{number(theirs['rms_error']):10.3g} {int(ours['beyond']):7} {int(theirs['beyond']):7}"
          f"{f'  {ratio:.2f}' if worse else ''}", flush=True)
    return ratio if worse else 0


def join(rows):
    """One row for all data sets of an output: RMS errors relative to their scales, and the
    maxima of the others."""
    joined = {"output": f"{rows[0]['output'][:16]} of {len(rows)}"}
    for who in ("actual", "published"):
        figures = [row[who] for row in rows]
        squares = [number(figure["rms_error"]) ** 2 for figure in figures]
        joined[who] = {
            "rms_error": (sum(squares) / len(squares)) ** 0.5,
            "max_ulps": max(number(figure["max_ulps"]) for figure in figures),
            "beyond": sum(int(figure["beyond"]) for figure in figures),
        }
    return joined


def show_all(name, rows):
    """The maximum error ratio over the outputs. All data sets of an output count as one."""
    sets = {}
    for row in rows:
        if row.get("published") is not None:  # otherwise an element of a sequence
            sets.setdefault(row["output"], []).append(row)
    worst = 0
    for rows in sets.values():
        ratio = show(name, rows[0])
        if len(rows) > 1:
            ratio = show(name, join(rows))
        worst = max(worst, ratio)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--tartan", default="build/tartan")
    parser.add_argument("--match", default="", help="only models whose name contains a match")
    parser.add_argument("--nodes", help="also the values of nodes whose operator and output match")
    parser.add_argument("--draws", type=int, default=0, help="number of additional data sets with random floats")
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    args = parser.parse_args()
    print(f"{'model':34} {'output':24} {'max ulp':>10} {'of ort':>10} {'RMS':>10} {'of ort':>10} "
          f"{'beyond':>7} {'of ort':>7}")
    figures = {}
    worst = 0
    for name, model in find_models(args.paths):
        if not re.search(args.match, name):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            copy = pathlib.Path(temporary) / model.name
            try:
                answer_with_onnxruntime(model, copy, args.nodes, args.draws)
                figures[name] = measure(args.tartan, copy)
            except Exception as error:  # continue with the next model
                print(f"{name:34.34} {str(error).splitlines()[0][:120]}", flush=True)
                worst = float("inf")
                continue
        worst = max(worst, show_all(name, figures[name]))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))
    sys.exit(1 if worst > args.factor else 0)


if __name__ == "__main__":
    main()
