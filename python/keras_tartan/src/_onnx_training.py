# SPDX-License-Identifier: Apache-2.0
"""ONNX models in training mode."""

import os


def with_statistics(model):
    """Returns the bytes of a model with BatchNormalizations in training mode, and the names of the running statistics.
    These are additional outputs in this order. `model` is a path or bytes."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("tartan.from_onnx(training=True) needs the package onnx: pip install onnx") from error
    proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(os.fspath(model))
    version = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 0)
    statistics = []
    types = {tensor.name: tensor.data_type for tensor in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Dropout":
            raise NotImplementedError("tartan.from_onnx(training=True): the model has a Dropout, which would drop nothing: "
                                      "use training=False")
        if node.op_type != "BatchNormalization" or any(name not in types for name in node.input[3:5]):
            continue
        if version < 14:
            raise NotImplementedError(f"tartan.from_onnx(training=True): BatchNormalization of opset {version}; training needs "
                                      "opset 14 or later")
        kept = [a for a in node.attribute if a.name != "training_mode"]
        del node.attribute[:]
        node.attribute.extend(kept)
        node.attribute.append(onnx.helper.make_attribute("training_mode", 1))
        del node.output[1:]
        for name in node.input[3:5]:
            node.output.append(f"{node.output[0]}:{name}:next")
            proto.graph.output.append(onnx.helper.make_tensor_value_info(node.output[-1], types[name], None))
            statistics.append(name)
    return proto.SerializeToString(), statistics
