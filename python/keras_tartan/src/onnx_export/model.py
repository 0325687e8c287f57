# SPDX-License-Identifier: Apache-2.0
"""Builds an ONNX model from a Keras model."""

import onnx
from keras.src import tree
from keras_tartan.src.onnx_export import operators, tile_text
from keras_tartan.src.onnx_export.folding import fold_biases, name_outputs
from keras_tartan.src.onnx_export.graph import Graph, Node
from keras_tartan.src.onnx_export.recorder import record
from keras_tartan.src.onnx_export.sizes import RUNS, assignments, is_fixed, solve
from keras_tartan.src.onnx_export.steps import Alignment, needed
from keras_tartan.src.onnx_export.transposes import simplify
from tartan import _dtypes
from tartan._onnx_types import NUMBERS

_OLDEST = 15
_LARGEST = 2**31 - 2**24  # bytes of weights; leaves room for the graph below protobuf's limit of 2 GiB
_FILE_VERSIONS = ((23, 11), (21, 10), (19, 9), (15, 8))  # (opset, version of the file format) pairs


def build(model, signature, opset):
    """Returns the model as a checked protocol buffer."""
    newest = onnx.defs.onnx_opset_version()
    if not _OLDEST <= opset <= newest:
        raise ValueError(f"opset_version must be from {_OLDEST} to {newest}. Received: opset_version={opset}")
    specs = tree.flatten(signature)
    symbols, recordings = _recordings(model, signature, specs)
    graph = Graph(Alignment(recordings), symbols, opset)
    inputs = [graph.reserve(getattr(spec, "name", None) or f"input_{i}") for i, spec in enumerate(specs)]
    outputs = [graph.reserve(name) for name in _output_names(model, len(graph.alignment.outputs))]
    graph.outputs = outputs
    graph.values.update(zip(graph.alignment.inputs, inputs))
    for step in needed(graph.alignment):
        if step.is_tile:
            tile_text.write(step, graph)
        else:
            operators.write(step, graph)
    for name, entry in zip(outputs, graph.alignment.outputs):
        graph.bind(name, entry)
    simplify(graph)
    fold_biases(graph)
    name_outputs(graph)
    size = sum(array.nbytes for array in graph.constants.values())
    if size > _LARGEST:
        raise NotImplementedError(f"export to ONNX: the weights take {size} bytes, but an ONNX file can have at most 2 GiB")
    proto = _proto(model, graph, inputs, specs, outputs)
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NotImplementedError(f"export to ONNX: the written model is not valid: {error}") from error
    return proto


def _recordings(model, signature, specs):
    """Records runs of the model for several values of the open sizes."""
    error = None
    for shared in (False, True):
        names = [[_symbol(i, axis, shared) if dim is None else dim for axis, dim in enumerate(spec.shape)]
                 for i, spec in enumerate(specs)]
        symbols = sorted({n for row in names for n in row if isinstance(n, str)}, key=lambda n: (n != "batch", n))
        if shared and all(n == "batch" for n in symbols):
            break
        for values in assignments(symbols):
            try:
                return values, [_run(model, signature, specs, names, values, run) for run in range(RUNS if symbols else 1)]
            except (ValueError, TypeError, IndexError) as found:
                error = error or found
    raise error


def _symbol(number, axis, shared):
    if axis == 0:
        return "batch"
    return f"dim_{axis}" if shared else f"dim_{number}_{axis}"


def _run(model, signature, specs, names, values, run):
    shapes = [[values[n][run] if isinstance(n, str) else n for n in row] for row in names]
    return record(model, signature, shapes, [_dtypes.as_dtype(spec.dtype) for spec in specs])


def _output_names(model, count):
    names = getattr(model, "output_names", None)
    if names and len(names) == count:
        return list(names)
    return ["output"] if count == 1 else [f"output_{i}" for i in range(count)]


def _info(name, entry, symbols):
    dims = []
    for axis in range(entry.rank):
        values = entry.dim(axis)
        found = solve(values, symbols)
        if is_fixed(values):
            dims.append(values[0])
        elif found is not None and found[0] == 1 and len(found[1]) == 1 and found[2] == 0:
            dims.append(found[1][0])
        else:
            dims.append(f"{name}_{axis}")
    return onnx.helper.make_tensor_value_info(name, NUMBERS[_dtypes.as_dtype(entry.dtype)], dims)


def _tensor(name, array):
    number = NUMBERS[_dtypes.as_dtype(array.dtype)]
    return onnx.helper.make_tensor(name, number, array.shape, array.tobytes(), raw=True)


def _node(node):
    attributes = {key: _tensor(key, value) if hasattr(value, "dtype") else value
                  for key, value in node.attributes.items()}
    return onnx.helper.make_node(node.op, node.inputs, node.outputs, name=node.name, **attributes)


def _proto(model, graph, inputs, specs, outputs):
    used = {x for node in graph.nodes for x in node.inputs}
    kept = {name: array for name, array in graph.constants.items() if name in used}
    # Only weights are initializers; other constants are not trainable.
    constants = [Node("Constant", [], [name], {"value": array}, name) for name, array in kept.items()
                 if name not in graph.weights]
    body = onnx.helper.make_graph(
        [_node(n) for n in constants + graph.nodes], model.name,
        [_info(name, entry, graph.symbols) for name, entry in zip(inputs, graph.alignment.inputs)],
        [_info(name, entry, graph.symbols) for name, entry in zip(outputs, graph.alignment.outputs)],
        [_tensor(name, array) for name, array in kept.items() if name in graph.weights])
    version = next(v for oldest, v in _FILE_VERSIONS if graph.opset >= oldest)
    return onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", graph.opset)], ir_version=version,
                                  producer_name="tartan")
