# SPDX-License-Identifier: Apache-2.0
"""Variants of a case: with another element type, or in the form of an older operator set, where
some operands were attributes."""

import dataclasses

import numpy as np
import onnx

from .draw import BFLOAT16, ML

# Operands that were attributes before the given operator set, by operator.
MOVED = {
    "Clip": (11, {1: "min", 2: "max"}),
    "Pad": (11, {1: "pads", 2: "value"}),
    "ReduceSum": (13, {1: "axes"}),
    "Slice": (10, {1: "starts", 2: "ends", 3: "axes"}),
    "Split": (13, {1: "split"}),
    "Squeeze": (13, {1: "axes"}),
    "TopK": (10, {1: "k"}),
    "Unsqueeze": (13, {1: "axes"}),
    **{
        f"Reduce{kind}": (18, {1: "axes"})
        for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod SumSquare".split()
    },
}

# Operators whose results are integers for integer operands, also in the evaluator.
TAKES_INTEGERS = {
    "CenterCropPad", "DepthToSpace", "Einsum", "Flatten", "Gemm", "MaxPool", "ReverseSequence", "SpaceToDepth"
}  # fmt: skip

# Before the given operator set the evaluator computes the meaning of a newer one.
EVALUATED_SINCE = {
    "Softmax": 13,
    "LogSoftmax": 13,
    "Hardmax": 13,  # "coerced into 2-dimensional"
    "BatchNormalization": 14,  # always in training mode, whatever the outputs are
    "RoiAlign": 16,  # half_pixel is new, and default
    "Resize": 13,  # 10: one operand less; 11: other modes
}


RETYPED = {
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(bfloat16)": BFLOAT16,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
}


def type_names(schema, count):
    """The type parameter of each operand; the last one of the schema may be variadic."""
    last = len(schema.inputs) - 1
    return [schema.inputs[min(i, last)].type_str for i in range(count)]


def with_other_type(key, case, opset, rng):
    """A float32 case in another type that the operator accepts, if a single type parameter is
    concerned."""
    domain, name = key
    single = [getattr(v, "dtype", None) == np.float32 for v in case.operands]
    if case.nodes or case.finish or case.oracle != "onnx" or domain == ML or not any(single):
        return case
    schema = onnx.defs.get_schema(name, opset, domain)
    names = type_names(schema, len(case.operands))
    concerned = {n for n, is_single in zip(names, single) if is_single}
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    if len(concerned) != 1 or names[0] not in concerned or names[0] not in allowed:
        return case
    types = [t for t in RETYPED if t in allowed[names[0]]]
    if not types:
        return case
    dtype = RETYPED[types[rng.integers(len(types))]]
    if np.issubdtype(dtype, np.integer) and name not in TAKES_INTEGERS:
        return case
    operands = [v.astype(dtype) if s else v for v, s in zip(case.operands, single)]
    return dataclasses.replace(case, operands=operands)


def as_attribute(value):
    return value.tolist() if value.ndim == 0 or value.size != 1 else [value.item()]


def at_version(key, case, opset):
    """The case in the form of an older operator set; None if that form cannot express it."""
    domain, name = key
    if domain == "" and opset < EVALUATED_SINCE.get(name, 0):
        return None
    operands, attributes = list(case.operands), dict(case.attributes)
    since, moved = MOVED.get(name, (0, {})) if domain == "" else (0, {})
    if opset < since:
        for position, attribute in sorted(moved.items()):
            if position < len(operands) and operands[position] is not None:
                value = as_attribute(operands[position])
                single = attribute in ("min", "max", "value", "k")
                attributes[attribute] = value[0] if single and isinstance(value, list) else value
        operands = operands[: min(moved)]
    schema = onnx.defs.get_schema(name, opset, domain)
    if len(operands) > schema.max_input or case.outputs > schema.max_output:
        return None
    if any(a not in schema.attributes for a in attributes if a not in ("noop_with_empty_axes",)):
        return None
    attributes = {k: v for k, v in attributes.items() if k in schema.attributes}
    return dataclasses.replace(case, operands=operands, attributes=attributes)
