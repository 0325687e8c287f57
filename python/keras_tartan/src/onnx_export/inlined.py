# SPDX-License-Identifier: Apache-2.0
"""Exports layers that are ONNX models (tartan.from_onnx): their nodes become nodes of the exported model."""

import os

import onnx
from keras_tartan.src.onnx_export.graph import Node
from tartan import _dtypes


def write(step, graph):
    """Appends the nodes of the layer's model, with the layer's variables as initializers."""
    attributes = step.notes[0].attributes
    model = _converted(_loaded(attributes), step, graph)
    names = {name: graph.operand(entry, step) for name, entry in zip(attributes["names"], step.inputs)}
    for tensor in model.graph.initializer:
        if tensor.name not in names:
            array = onnx.numpy_helper.to_array(tensor)
            if array.dtype.name not in _dtypes.ALL:
                raise step.refused(f"its constant '{tensor.name}' is of {array.dtype}")
            names[tensor.name] = graph.constant(array, f"{step.where}/{tensor.name}")
    for node in model.graph.node:
        _copied(node, names, step, graph)
    outputs = [names[value.name] for value in model.graph.output]
    by_value = {t._value: name for t, name in zip(step.notes[0].outputs, outputs)}
    for entry in step.outputs:
        graph.values[entry] = by_value[entry.tensors[0]._value]


def _loaded(attributes):
    if attributes["path"] is None:
        return onnx.load_from_string(attributes["data"])
    return onnx.load(os.fspath(attributes["path"]))


def _converted(model, step, graph):
    """Converts the layer's model to the opset of the exported one."""
    versions = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
    others = sorted({node.domain for node in model.graph.node} - {"", "ai.onnx"})
    if others or len(model.functions):
        raise step.refused(f"its model has operators of {', '.join(others) or 'its own'}")
    if versions.get("ai.onnx") == graph.opset:
        return model
    try:
        return onnx.version_converter.convert_version(model, graph.opset)
    except Exception as error:
        raise step.refused(f"its model is of opset {versions.get('ai.onnx')}, which cannot be converted to {graph.opset}: "
                           f"{error}") from error


def _copied(node, names, step, graph):
    attributes = {}
    for attribute in node.attribute:
        if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            raise step.refused(f"its model has the operator {node.op_type}, which contains a graph")
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value)
        attributes[attribute.name] = list(value) if hasattr(value, "extend") else value
    inputs = [names[name] if name else "" for name in node.input]
    if node.op_type == "Constant" and "value" in attributes and attributes["value"].dtype.name in _dtypes.ALL:
        names[node.output[0]] = graph.constant(attributes["value"])
        return
    name = graph.reserve(f"{step.where}/{node.name or node.op_type}")
    outputs = [graph.reserve(f"{step.where}/{output}") if output else "" for output in node.output]
    names.update(zip(node.output, outputs))
    graph.nodes.append(Node(node.op_type, inputs, outputs, attributes, name))
