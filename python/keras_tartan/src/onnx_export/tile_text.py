# SPDX-License-Identifier: Apache-2.0
"""Writes Tile texts as ONNX nodes."""

from keras_tartan.src.onnx_export import contractions, formulas, views
from keras_tartan.src.onnx_export.elementwise import Elements, Value
from tartan import _core

_TENSORS = {"cumsum", "sort", "argsort", "stop_gradient", "ident", "reshape", "gather"}


def write(step, graph):
    """Writes the nodes of a step that applies a text."""
    functions = [_core.parse_tile(note.name) for note in step.notes]
    function = functions[0]
    if function.has_rules:
        raise step.refused("it has a gradient of its own")
    inputs = [Value(graph.operand(x, step), x.dtype) for x in step.inputs]
    outputs = _known(step, graph, functions, inputs)
    dtypes = dict(zip(function.outputs, [str(t.dtype) for t in step.notes[0].outputs]))
    by_value = {t._value: name for t, name in zip(step.notes[0].outputs, function.outputs)}
    for entry in step.outputs:
        name = by_value[entry.tensors[0]._value]
        graph.values[entry] = outputs[name].as_type(dtypes[name], graph, step)


def _known(step, graph, functions, inputs):
    function = functions[0]
    scope = dict(zip(function.inputs, inputs))
    found = formulas.write(step, graph, inputs) or views.joined(functions, step, graph, scope)
    if found is not None:
        return {function.outputs[0]: found}
    elements = Elements(step, graph, scope)
    for number, statement in enumerate(function.statements):
        if statement.contraction is not None:
            parts = [f.statements[number].contraction for f in functions]
            scope[statement.target] = contractions.write(parts, function, step, graph, scope)
        elif statement.value.function in _TENSORS:
            scope[statement.target] = _of_tensors(statement.value, step, graph, elements)
        else:
            scope[statement.target] = elements.value(statement.value)
    return scope


def _of_tensors(call, step, graph, elements):
    function, arguments = call.function, call.arguments
    x = elements.value(arguments[0])
    numbers = [a.number for a in arguments[1:]]
    if function in ("stop_gradient", "ident"):
        return x
    if function == "reshape" and x.name is not None:
        shapes = [list(note.outputs[0].shape) for note in step.notes]  # the text has a single output
        return Value(graph.reshape(x.name, [list(row) for row in zip(*shapes)], step), x.dtype)
    if function == "gather" and x.name is not None:
        axis = numbers[1] if len(arguments) > 2 else 0
        return Value(graph.emit("Gather", [x.name, elements.value(arguments[1]).name], step.where, axis=axis), x.dtype)
    if None in numbers or x.name is None:
        raise step.refused(f"the function '{function}' of Tile is not supported")
    axis = numbers[0]
    if function == "cumsum":
        more = dict(zip(("exclusive", "reverse"), numbers[1:]))
        return Value(graph.emit("CumSum", [x.name, graph.scalar(axis, "int64")], step.where, **more), x.dtype)
    count = graph.sizes([step.inputs[0].dim(axis)], step)
    is_descending = bool(numbers[1]) if len(numbers) > 1 else False
    values, positions = graph.emit("TopK", [x.name, count], step.where, 2, axis=axis, largest=int(is_descending),
                                   sorted=1)
    return Value(values, x.dtype) if function == "sort" else Value(positions, "int64")
