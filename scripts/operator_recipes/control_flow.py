# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan with small bodies.

The evaluator's Loop runs no iteration without a condition and concatenates values that it should
stack. Its Scan supports only the first axis in forward direction. The expected results are
onnxruntime's.
"""

import numpy as np
from onnx import helper

from .draw import Case, array, between, dim, flip, maybe, pick, recipe, shape

TYPES = (np.float32, np.float32, np.float64, np.int32, np.int64)
OPERATORS = ("Add", "Sub", "Mul", "Max", "Min")


def info(name, dtype, dims=None):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims
    )


@recipe("If")
def branches(rng, _):
    """Branches of one or two nodes that read the outer values x1 and x2."""
    dtype = pick(rng, TYPES)
    dims = shape(rng)
    graphs = []
    for name in ("then", "else"):
        operator = pick(rng, OPERATORS)
        nodes = [helper.make_node(operator, ["x1", "x2"], [f"{name}_a"])]
        if rng.random() < 0.5:
            nodes.append(helper.make_node(pick(rng, OPERATORS), [f"{name}_a", "x1"], [f"{name}_b"]))
        graphs.append(helper.make_graph(nodes, name, [], [info(nodes[-1].output[0], dtype, dims)]))
    node = helper.make_node("If", ["x0"], ["y0"], then_branch=graphs[0], else_branch=graphs[1])
    condition = np.array(rng.random() < 0.5).reshape([1] * flip(rng))
    return Case([condition, array(rng, dims, dtype), array(rng, dims, dtype)], nodes=[node])


@recipe("Loop")
def loop(rng, _):
    """One state and one value per iteration. The loop ends by its count or when the state's sum
    exceeds a limit."""
    dtype = pick(rng, (np.float32, np.float64, np.int32, np.int64))
    dims = shape(rng, 0, 3)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    limit = helper.make_tensor("limit", kind, [], np.asarray([between(rng, 5, 60)]).astype(dtype))
    nodes = [
        helper.make_node("Cast", ["turn"], ["number"], to=kind),
        helper.make_node(pick(rng, ("Add", "Sub")), ["before", "x3"], ["moved"]),
        helper.make_node("Add", ["moved", "number"], ["after"]),
        helper.make_node("ReduceSum", ["after"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["less"]),
        helper.make_node("And" if flip(rng) else "Or", ["less", "going"], ["on"]),
        helper.make_node("Mul", ["before", "after"], ["seen"]),
    ]
    scans = [info("seen", dtype, dims)] if rng.random() < 0.7 else []
    body = helper.make_graph(
        nodes,
        "body",
        [info("turn", np.int64, []), info("going", np.bool_, []), info("before", dtype, dims)],
        [info("on", np.bool_, []), info("after", dtype, dims), *scans],
        [limit],
    )
    turns = np.array(between(rng, 0, 9), np.int64)
    condition = maybe(rng, np.array(rng.random() < 0.9))
    names = ["x0", "x1" if condition is not None else "", "x2"]
    outputs = [f"y{i}" for i in range(1 + len(scans))]
    node = helper.make_node("Loop", names, outputs, body=body)
    return Case(
        [turns, condition, array(rng, dims, dtype), array(rng, dims, dtype)],
        outputs=len(outputs),
        nodes=[node],
        opset=16,
        oracle="onnxruntime",
    )


@recipe("Scan")
def scan(rng, _):
    """One or two states, one or two sequences along any axis in either direction."""
    dtype = pick(rng, (np.float32, np.float64, np.int32))
    dims = shape(rng, 0, 3)
    turns = dim(rng, False)
    sequences = between(rng, 1, 2)
    axes = [between(rng, 0, len(dims)) for _ in range(sequences)]
    operands = [array(rng, dims, dtype)]
    for axis in axes:
        operands.append(array(rng, dims[:axis] + [turns] + dims[axis:], dtype))
    names = [f"part{i}" for i in range(sequences)]
    nodes = [helper.make_node(pick(rng, OPERATORS), ["before", "part0"], ["middle"])]
    nodes.append(helper.make_node("Add", ["middle", names[-1]], ["after"]))
    nodes.append(helper.make_node(pick(rng, OPERATORS), ["after", "before"], ["seen"]))
    body = helper.make_graph(
        nodes,
        "body",
        [info(name, dtype, dims) for name in ["before", *names]],
        [info("after", dtype, dims), info("seen", dtype, dims)],
    )
    attributes = {"body": body, "num_scan_inputs": sequences}
    attributes["scan_input_axes"] = axes
    if rng.random() < 0.5:
        attributes["scan_input_directions"] = [flip(rng) for _ in range(sequences)]
    if rng.random() < 0.4:
        attributes["scan_output_directions"] = [flip(rng)]
    if rng.random() < 0.4:
        attributes["scan_output_axes"] = [between(rng, 0, len(dims))]
    return Case(operands, attributes, 2, opset=16, oracle="onnxruntime")
