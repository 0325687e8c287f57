#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random single-node models with the results of ONNX's reference evaluator.

    pip install onnx numpy [onnxruntime]
    scripts/compare_operators.py FOLDER [--match REGEX] [--cases 200] [--seed 0]
    build/tests/onnx_node_cases FOLDER                   # the naive evaluator, without a device
    build/tartan verify FOLDER --jobs 12 --quiet         # the compiler and a device
    scripts/compare_operators.py FOLDER --device build/tartan --share 12
    scripts/compare_operators.py FOLDER --against onnxruntime    # its results instead

Attributes, shapes (zeros and ones among them), element types and operator sets (the newest, and
sometimes an older form) are random; the same seed gives the same cases. Folders are
FOLDER/OPERATOR_N/model.onnx and FOLDER/OPERATOR_N/test_data_set_0/{input,output}_N.pb.

A case is replaced by another one if the reference evaluator refuses it, if ONNX's shape inference
contradicts the result, or if the result depends on float32 rounding. 16-bit floats are computed in
float32 and rounded at the end. If the evaluator lacks a form or is wrong, onnxruntime's results are
used: recipes name the reason. operator_recipes/ has the random attributes and operands of each
operator, and its exceptions.py the operators that are not compared, and why.

With --against onnxruntime all results are onnxruntime's, and cases that it does not run are not
written. frontend/onnx/README.md has the rule for differences between it and ONNX's evaluator, and
docs/operators.md the decision for each operator.

With --device nothing is written: that program runs the first SHARE cases of each operator in
FOLDER, one process per operator, and failures are printed.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import warnings
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from operator_recipes import (
    BFLOAT16,
    DOMAINS,
    EXCEPTIONS,
    MICROSOFT,
    ML,
    RECIPES,
    WIDER,
    Case,
    at_version,
    with_other_type,
)

HALVES = (np.dtype(np.float16), np.dtype(BFLOAT16))
BESIDE_OTHER_DOMAINS = 17  # the operator set of ai.onnx in models of other domains
ONNXRUNTIME_NEWEST = 26  # the newest operator set of ai.onnx that onnxruntime supports
KEEP_TYPE = ("Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear")


def is_half(value):
    return isinstance(value, np.ndarray) and value.dtype in HALVES


def cast_all(values, condition, dtype):
    """The values, including sequences, cast to `dtype` if they meet the condition."""
    cast = []
    for value in values:
        if isinstance(value, list):
            value = cast_all(value, condition, dtype)
        elif isinstance(value, np.ndarray) and condition(value):
            value = value.astype(dtype)
        cast.append(value)
    return cast


def is_float(value):
    return isinstance(value, np.ndarray) and (value.dtype.kind == "f" or is_half(value))


def flattened(values):
    for value in values:
        yield from flattened(value) if isinstance(value, list) else (value,)


def declare(name, value):
    if isinstance(value, list):
        kind = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else onnx.TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(name, kind, None)
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
    )


def make_model(key, case, operands, results, opset, constants=()):
    """A model of the case; operands numbered in `constants` are initializers."""
    domain, name = key
    names = ["" if value is None else f"x{i}" for i, value in enumerate(operands)]
    there = [(i, value) for i, value in enumerate(operands) if value is not None]
    inputs = [declare(f"x{i}", value) for i, value in there if i not in constants]
    fixed = [numpy_helper.from_array(value, f"x{i}") for i, value in there if i in constants]
    asked = [f"y{i}" for i in range(case.outputs) if i not in case.left_out]
    if results is None:
        outputs = [helper.make_value_info(y, onnx.TypeProto()) for y in asked]
    else:
        outputs = [declare(y, value) for y, value in zip(asked, results)]
    made = ["" if i in case.left_out else f"y{i}" for i in range(case.outputs)]
    nodes = case.nodes or [helper.make_node(name, names, made, domain=domain, **case.attributes)]
    sets = {"": BESIDE_OTHER_DOMAINS, domain: opset}
    graph = helper.make_graph(nodes, name, inputs, outputs, initializer=fixed)
    imports = [helper.make_opsetid(*item) for item in sets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=10 if opset < 25 else 13)


def evaluate(key, case, operands, opset):
    if case.oracle_attributes is not None:
        case = dataclasses.replace(case, attributes=case.oracle_attributes)
    model = make_model(key, case, operands, None, opset)
    feeds = {f"x{i}": value for i, value in enumerate(operands) if value is not None}
    if case.oracle == "onnxruntime":
        return run_onnxruntime(model, feeds)
    results = [tidy(value) for value in ReferenceEvaluator(model).run(None, feeds)]
    return case.finish(results) if case.finish else results


def run_onnxruntime(model, feeds):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [tidy(value) for value in session.run(None, feeds)]


def tidy(value):
    if isinstance(value, list):
        return [tidy(v) for v in value]
    value = np.asarray(value)
    return value.astype(object) if value.dtype.kind in "UT" else value


def reference(key, case, opset):
    """The results of a case from its oracle."""
    if key[0] == ML:  # its float results are float32 for all operand types
        kinds = [o.type_str for o in onnx.defs.get_schema(key[1], opset, ML).outputs]
        results = evaluate(key, case, case.operands, opset)
        return [r.astype(np.float32) if k == "tensor(float)" else r for r, k in zip(results, kinds)]
    halves = {v.dtype for v in flattened(case.operands) if is_half(v)}
    if case.exact or not halves or key[1] in KEEP_TYPE or case.oracle != "onnx":
        return evaluate(key, case, case.operands, opset)
    wide = cast_all(case.operands, is_half, np.float32)
    results = evaluate(key, case, wide, opset)
    return cast_all(results, lambda v: v.dtype == np.float32, halves.pop())


def check_condition(key, case, results, opset):
    """Refuses a case whose results depend on float32 rounding, or are too large."""
    for value in flattened(results):
        if not is_float(value) or value.size == 0:
            continue
        runaway = key[0] == MICROSOFT and not np.isfinite(value).all()
        if runaway or np.abs(np.nan_to_num(value, posinf=0, neginf=0)).max() > 1e12:
            raise ValueError("results beyond all measure")
        size = np.abs(value.astype(np.float64))
        if case.oracle != "onnx" and np.any((size > 0) & (size < 2e-4 * size.max())):
            raise ValueError("results depend on rounding")  # the remainders of sums of larger terms
    if key[1] in KEEP_TYPE or case.oracle != "onnx":
        return
    singles = (np.dtype(np.float32), *HALVES)
    if not any(getattr(v, "dtype", None) in singles for v in flattened(case.operands)):
        return
    try:
        wide = cast_all(case.operands, lambda v: v.dtype in singles, np.float64)
        precise = list(flattened(evaluate(key, case, wide, opset)))
        if any(is_half(v) for v in flattened(results)):
            single = evaluate(key, case, cast_all(case.operands, is_half, np.float32), opset)
            results = list(flattened(results)) + list(flattened(single))
            precise = precise * 2
    except Exception:  # not an operator of float64
        return
    for value, better in zip(flattened(results), precise):
        if value.dtype == object or value.shape != better.shape:
            continue
        if is_half(value):  # must round to the same value from both sides
            ends = [(better * (1 + e)).astype(value.dtype) for e in (-4e-6, 4e-6)]
            if (
                value.dtype == np.dtype(BFLOAT16)
                and np.any(ends[0] != ends[1])
                and np.all(ends[0] == ends[0])
            ):
                raise ValueError("results depend on rounding")
            better = better.astype(value.dtype)
        difference = np.abs(value.astype(np.float64) - better.astype(np.float64))
        if np.any(difference > 2.5e-8 + 2.5e-4 * np.abs(better.astype(np.float64))):
            raise ValueError("results depend on rounding")


def save(folder, model, case, results, constants):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    inputs = [v for i, v in enumerate(case.operands) if v is not None and i not in constants]
    for prefix, values in (("input", inputs), ("output", results)):
        for number, value in enumerate(values):
            write = numpy_helper.from_list if isinstance(value, list) else numpy_helper.from_array
            (data / f"{prefix}_{number}.pb").write_bytes(write(value).SerializeToString())


def folder_name(key, number):
    domain, name = key
    short = domain.split(".")[-1]
    return f"{short}.{name}_{number:03}" if short else f"{name}_{number:03}"


def versions_of(key):
    domain, name = key
    newest = DOMAINS[domain]
    found = [
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == name and schema.domain == domain and schema.since_version <= newest
    ]
    return sorted(found)


def draw(key, make, rng, versions, against):
    """A case and its operator set: mostly the newest, sometimes one of an older form."""
    case = make(rng)
    case = case if isinstance(case, Case) else Case(*case)
    newest = DOMAINS[key[0]]
    if against == "onnxruntime":
        newest = min(newest, ONNXRUNTIME_NEWEST)
        versions = [v for v in versions if v <= newest]
    older = [v - 1 for v in versions[1:] if key[0] or v > 8]
    if case.opset:
        return case, case.opset
    if rng.random() < 0.3:
        case = with_other_type(key, case, newest, rng)
    if older and not case.nodes and rng.random() < 0.3:
        opset = older[rng.integers(len(older))]
        form = at_version(key, case, opset)
        if form is not None:
            return form, opset
    return case, newest


def write_one(key, make, rng, versions, folder, against):
    case, opset = draw(key, make, rng, versions, against)
    if against != "onnx":
        case = dataclasses.replace(case, oracle=against, oracle_attributes=None, finish=None)
    constants = set()
    if rng.random() < 0.25:  # operands that are part of the model
        constants = {i for i, v in enumerate(case.operands) if i > 0 and isinstance(v, np.ndarray)}
    results = reference(key, case, opset)
    check_condition(key, case, results, opset)
    model = make_model(key, case, case.operands, results, opset, constants)
    if key[0] != MICROSOFT and case.oracle == "onnx":
        # Also refuses results of a wrong shape or type.
        onnx.checker.check_model(model, full_check=True)
    save(folder, model, case, results, constants)


def compare(key, make, arguments):
    """Writes the cases of one operator and prints their number."""
    refused = collections.Counter()
    written = 0
    versions = versions_of(key)
    for number in range(3 * arguments.cases):
        seed = zlib.crc32(f"{folder_name(key, number)} {arguments.seed}".encode())
        folder = arguments.folder / folder_name(key, written)
        try:
            write_one(key, make, np.random.default_rng(seed), versions, folder, arguments.against)
            written += 1
        except Exception as error:  # any failure of the evaluator
            words = str(error).strip().splitlines() or [type(error).__name__]
            refused[f"{type(error).__name__}: {words[-1][:120]}"] += 1
        if written == arguments.cases:
            break
    print(f"{folder_name(key, 0)[:-4]}: {written} cases, {sum(refused.values())} refused")
    if arguments.verbose:
        for message, count in refused.most_common(6):
            print(f"    {count} refused: {message}")
    sys.stdout.flush()


def count_cases(name, command, totals):
    """Runs `tartan --format json verify`, adds its cases to totals by status, and prints
    failures."""
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        print(f"{name}: ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        totals["ended"] += 1
        return
    for case in report.get("cases", []):
        totals[case["status"]] += 1
        if case["status"] != "pass":
            print(f"{case['status']} {case['name']}: {case.get('message', '')[:300]}")
    sys.stdout.flush()


def run_on_device(arguments):
    """Runs the first cases of each operator, one process per operator, so that a crash affects
    only that one."""
    operators = collections.defaultdict(int)
    for folder in arguments.folder.iterdir():
        operators[folder.name.rpartition("_")[0]] += 1
    totals = collections.Counter()
    for name in sorted(operators):
        if not re.search(arguments.match, name):
            continue
        numbers = "|".join(f"{n:03}" for n in range(arguments.share))
        command = [arguments.device, "--quiet", "--format", "json", "--tier", "exact", "verify", str(arguments.folder)]
        command += ["--match", f"(^|/){re.escape(name)}_({numbers})$"]
        count_cases(name, command, totals)
    print(", ".join(f"{count} {status}" for status, count in totals.most_common()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--match", default="", help="only operators whose name contains a match")
    parser.add_argument("--cases", type=int, default=200, help="cases for each operator (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--against",
        default="onnx",
        choices=("onnx", "onnxruntime"),
        help="whose results to write (onnx: the reference evaluator's)",
    )
    parser.add_argument("--verbose", action="store_true", help="what was refused, and why")
    parser.add_argument(
        "--device", metavar="TARTAN", help="run the cases of FOLDER with this program"
    )
    parser.add_argument(
        "--share", type=int, default=12, help="with --device, cases of each operator"
    )
    arguments = parser.parse_args()
    if arguments.device:
        run_on_device(arguments)
        return
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    recipes = RECIPES if arguments.against == "onnx" else {**RECIPES, **WIDER}
    for key in sorted(recipes):
        if re.search(arguments.match, folder_name(key, 0)[:-4]):
            compare(key, recipes[key], arguments)
    for name, reason in EXCEPTIONS.items():
        if re.search(arguments.match, name):
            print(f"{name}: not compared: {reason}")


if __name__ == "__main__":
    main()
