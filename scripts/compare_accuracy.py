#!/usr/bin/env python3
"""Errors of Tartan and of onnxruntime side by side, both against a run in float64.

    scripts/compare_accuracy.py [--tartan build/tartan] [--match RE] [--json FILE] PATH...

Each PATH is a model folder (model.onnx, test_data_set_*/input_*.pb) or a tree of them. For every
data set onnxruntime (one thread, default options) answers first; `tartan verify --reference float64`
then measures its answers beside Tartan's. Errors are in units in the last place at the exact value or,
nearer to 0, at the output's scale; RMS is relative to the scale (docs/CLI.md). Ends with 1 where
Tartan's RMS error exceeds onnxruntime's by more than --factor. Needs onnx, onnxruntime and numpy.
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
    """Inputs by name where each file bears the name of another one, else by order."""
    names = [spec.name for spec in session.get_inputs()]
    tensors = [read_tensor(path) for path in numbered(folder, "input")]
    given = [tensor.name for tensor in tensors]
    if len(set(given)) < len(given) or not set(given) <= set(names):
        given = names[: len(tensors)]
    return {name: numpy_helper.to_array(tensor) for name, tensor in zip(given, tensors)}


def link_or_copy(path, to):
    """External data must not be a symbolic link out of the model's folder."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copy(path, to)


def answer_with_onnxruntime(model, copy):
    """A folder with the model's files, its inputs and onnxruntime's outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(model / "model.onnx"), options, providers=["CPUExecutionProvider"])
    copy.mkdir(parents=True)
    for path in model.iterdir():
        if path.is_file():
            link_or_copy(path, copy / path.name)
    for data in sorted(model.glob("test_data_set_*")):
        to = copy / data.name
        to.mkdir()
        for path in numbered(data, "input"):
            (to / path.name).symlink_to(path.resolve())
        outputs = session.run(None, read_feeds(session, data))
        for i, (spec, value) in enumerate(zip(session.get_outputs(), outputs)):
            tensor = numpy_helper.from_array(value, spec.name)
            (to / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


def measure(tartan, folder):
    command = [tartan, "--format", "json", "--quiet", "verify", str(folder), "--reference", "float64",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--tartan", default="build/tartan")
    parser.add_argument("--match", default="", help="only models whose name holds a match")
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
                answer_with_onnxruntime(model, copy)
                figures[name] = measure(args.tartan, copy)
            except Exception as error:  # one model that cannot be compared is no reason to stop
                print(f"{name:34.34} {str(error).splitlines()[0][:120]}", flush=True)
                worst = float("inf")
                continue
        for row in figures[name]:
            if row.get("published") is None:
                continue  # an element of a sequence
            worst = max(worst, show(name, row))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))
    sys.exit(1 if worst > args.factor else 0)


if __name__ == "__main__":
    main()
