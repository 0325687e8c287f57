#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the length of an exported LLaMA dynamic: free_length.py MODEL OUT.

MODEL is the benchmark LLaMA of 135M parameters, traced for 64 tokens. OUT must be in the same
folder, because it shares the weights of MODEL. Its length comes from the input and may be 1 to
64, so that bench/lengths can run many lengths.
"""

import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

LENGTH = 64
# Dimension of the length in each shape that the trace made constant.
PLACES = {(1, 64, -1, 64): 1, (1, 3, 3, 64, 64): 3, (1, 9, 64, 64): 2, (1, 64, -1): 1}


def main():
    source, target = sys.argv[1:]
    if os.path.dirname(os.path.abspath(source)) != os.path.dirname(os.path.abspath(target)):
        sys.exit("the two models share their weights: they must be in one folder")
    model = onnx.load(source, load_external_data=False)
    graph = model.graph
    added = []

    def constant(name, values):
        graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def node(op, inputs, output, **attributes):
        added.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    ids = graph.input[0]
    ids.type.tensor_type.shape.dim[1].dim_param = "length"
    logits = graph.output[0]
    logits.type.tensor_type.shape.dim[1].dim_param = "length"
    node("Shape", [ids.name], "ids_shape")
    node("Gather", ["ids_shape", constant("axis_1", [1])], "length_1", axis=0)
    constant("begin_0", [0])
    constant("axis_2", [2])
    constant("axis_3", [3])
    shapes = {}
    renamed = {}
    for initializer in list(graph.initializer):
        dims = list(initializer.dims)
        if dims == [1, 1, LENGTH, LENGTH]:  # a mask, or position angles
            name = initializer.name
            cut = node("Slice", [name, "begin_0", "length_1", "axis_2"], name + "_cut")
            if name == "where":
                cut = node("Slice", [cut, "begin_0", "length_1", "axis_3"], name + "_square")
            renamed[name] = cut
        elif initializer.data_type == onnx.TensorProto.INT64 and len(dims) == 1:
            values = tuple(numpy_helper.to_array(initializer).tolist())
            if values in PLACES:
                shapes[initializer.name] = values
    for name, values in shapes.items():
        parts = []
        for place, value in enumerate(values):
            is_length = place == PLACES[values]
            parts.append("length_1" if is_length else constant(f"{name}_{place}", [value]))
        renamed[name] = node("Concat", parts, name + "_free", axis=0)
    for old in graph.node:
        for position, name in enumerate(old.input):
            if name in renamed:
                old.input[position] = renamed[name]
    old_nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend(added + old_nodes)
    del graph.value_info[:]
    onnx.save(model, target)


if __name__ == "__main__":
    main()
