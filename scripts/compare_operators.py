#!/usr/bin/env python3
"""Writes random single-node models with the results of ONNX's reference evaluator.

    pip install onnx numpy
    scripts/compare_operators.py FOLDER [--match REGEX] [--cases 200] [--seed 0] [--opset 22]
    build/tests/onnx_node_cases FOLDER        # the naive evaluator on each, without a device
    build/tartan verify FOLDER --match Conv   # the compiler and a device

Attributes, shapes (zeros and ones among them) and element types are random; the same seed gives the
same cases. FOLDER/OPERATOR_N/model.onnx and FOLDER/OPERATOR_N/test_data_set_0/{input,output}_N.pb.
A case that the reference evaluator refuses, or answers with something that is no tensor, is not
written; how many is printed. Float16 cases are computed in float32 and rounded at the end.
operator_recipes.py says what is random of each operator.
"""

import argparse
import pathlib
import re
import sys
import warnings
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from operator_recipes import RECIPES


def make_model(name, arrays, results, attributes, opset, outputs):
    """A model of one node; `arrays` has None for an operand that is left out."""
    inputs = []
    names = []
    for i, array in enumerate(arrays):
        names.append("" if array is None else f"x{i}")
        if array is not None:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(f"x{i}", kind, array.shape))
    declared = []
    for i in range(outputs):
        if results is None:
            declared.append(helper.make_value_info(f"y{i}", onnx.TypeProto()))
        else:
            kind = helper.np_dtype_to_tensor_dtype(results[i].dtype)
            declared.append(helper.make_tensor_value_info(f"y{i}", kind, results[i].shape))
    node = helper.make_node(name, names, [f"y{i}" for i in range(outputs)], **attributes)
    graph = helper.make_graph([node], name, inputs, declared)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
    )


def evaluate(model, arrays):
    feeds = {f"x{i}": array for i, array in enumerate(arrays) if array is not None}
    return [np.asarray(value) for value in ReferenceEvaluator(model).run(None, feeds)]


def reference(name, recipe, opset):
    """The results of one recipe by the reference evaluator."""
    arrays, attributes, outputs = recipe
    half = any(a is not None and a.dtype == np.float16 for a in arrays)
    wide = [a.astype(np.float32) if a is not None and a.dtype == np.float16 else a for a in arrays]
    results = evaluate(make_model(name, wide, None, attributes, opset, outputs), wide)
    keeps_type = name in ("QuantizeLinear", "DequantizeLinear", "Cast", "CastLike")
    if half and keeps_type:
        return evaluate(make_model(name, arrays, None, attributes, opset, outputs), arrays)
    return [r.astype(np.float16) if half and r.dtype == np.float32 else r for r in results]


def save(folder, model, arrays, results):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    given = [a for a in arrays if a is not None]
    for prefix, values in (("input", given), ("output", results)):
        for number, value in enumerate(values):
            path = data / f"{prefix}_{number}.pb"
            path.write_bytes(numpy_helper.from_array(value).SerializeToString())


def compare(name, make, arguments):
    """Writes the cases of one operator; returns how many the reference evaluator refused."""
    opset = arguments.opset
    refused = {}
    written = 0
    for number in range(arguments.cases):
        key = zlib.crc32(f"{name} {number} {arguments.seed}".encode())
        recipe = make(np.random.default_rng(key))
        arrays, attributes, outputs = recipe
        try:
            results = reference(name, recipe, opset)
            model = make_model(name, arrays, results, attributes, opset, outputs)
            onnx.checker.check_model(model, full_check=True)  # results of a wrong shape or type too
            save(arguments.folder / f"{name}_{number:03}", model, arrays, results)
            written += 1
        except Exception as error:  # whatever the evaluator stumbles over
            words = str(error).strip().splitlines() or [type(error).__name__]
            refused.setdefault(words[-1][:100], number)
    print(f"{name}: {written} cases")
    if arguments.verbose:
        for message, number in refused.items():
            print(f"    refused, as {number}: {message}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--match", default="", help="only operators whose name holds a match")
    parser.add_argument("--cases", type=int, default=200, help="cases for each operator (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--opset", type=int, default=22, help="operator set of the models (22)")
    parser.add_argument("--verbose", action="store_true", help="what the evaluator refused, and why")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    for name in sorted(RECIPES):
        if not re.search(arguments.match, name):
            continue
        if not onnx.defs.has(name, arguments.opset):
            print(f"{name}: not in operator set {arguments.opset}")
            continue
        compare(name, RECIPES[name], arguments)


if __name__ == "__main__":
    main()
