# SPDX-License-Identifier: Apache-2.0
"""Writes recorded ONNX operators as nodes of the model's opset."""

import onnx
from keras_tartan.src.onnx_export import inlined
from keras_tartan.src.onnx_export.sizes import is_fixed
from tartan import _core, _dtypes
from tartan._values import array_of

_SPELLED = {"float32": "float", "float64": "double"}
_AXES_WERE_ATTRIBUTES = {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                         "ReduceLogSumExp", "ReduceSumSquare"}  # before opset 18


def spelled(dtype):
    return f"tensor({_SPELLED.get(dtype, dtype)})"


def write(step, graph):
    """Writes the nodes of a step."""
    if step.notes[0].domain == "tartan.model":
        inlined.write(step, graph)
        return
    _HANDLERS.get(step.name, _plain)(step, graph)


def _schema(step, graph):
    domain = step.notes[0].domain
    if domain:
        raise step.refused(f"its domain is '{domain}', not ONNX's")
    try:
        return onnx.defs.get_schema(step.name, graph.opset, "")
    except onnx.defs.SchemaError:
        raise step.refused(f"opset {graph.opset} does not have it") from None


def _attributes(step):
    result = {}
    for name in dict.fromkeys(key for note in step.notes for key in note.attributes):
        value = step.attribute(name)
        result[name] = array_of(value) if isinstance(value, _core.HostTensor) else value
    return result


def _plain(step, graph):
    node(step, graph, [None if x is None else graph.operand(x, step) for x in step.inputs], _attributes(step))


def node(step, graph, inputs, attributes):
    """Writes a node; converts its operands to dtypes that the operator accepts."""
    schema = _schema(step, graph)
    if len(inputs) > schema.max_input:
        raise step.refused(f"opset {graph.opset} has it with fewer operands")
    wide = _wider(step, schema)
    for i, entry in enumerate(step.inputs[:len(inputs)]):
        kind = schema.inputs[min(i, len(schema.inputs) - 1)].type_str
        if entry is not None and kind in wide:
            inputs[i] = graph.cast(inputs[i], wide[kind], step.where)
    unknown = [name for name in attributes if name not in schema.attributes]
    for name in unknown:
        raise step.refused(f"opset {graph.opset} has it without '{name}'")
    count = max(len(step.notes[0].outputs), 1)
    names = graph.emit(step.name, [x or "" for x in inputs], step.where, count, **attributes)
    by_value = dict(zip([t._value for t in step.notes[0].outputs], [names] if count == 1 else names))
    for entry in step.outputs:
        name = by_value[entry.tensors[0]._value]
        number = [t._value for t in step.notes[0].outputs].index(entry.tensors[0]._value)
        kind = schema.outputs[min(number, len(schema.outputs) - 1)].type_str
        graph.values[entry] = graph.cast(name, entry.dtype, step.where) if kind in wide else name


def _wider(step, schema):
    """Returns computation dtypes by type constraint if the operator does not accept the operands' dtypes."""
    result = {}
    for i, entry in enumerate(step.inputs):
        parameter = schema.inputs[min(i, len(schema.inputs) - 1)]
        if entry is None or spelled(entry.dtype) in parameter.types:
            continue
        choices = ("float32",) if _dtypes.is_float(entry.dtype) else ("int32", "int64", "float32")
        fitting = [c for c in choices if spelled(c) in parameter.types]
        if not fitting:
            raise step.refused(f"it does not take {entry.dtype}")
        result[parameter.type_str] = fitting[0]
    return result


def _reshape(step, graph):
    source, target = step.inputs
    rows = list(zip(*[target.array(run).reshape(-1).tolist() for run in range(len(target.tensors))]))
    inputs = [graph.operand(source, step)]
    if all(is_fixed(row) for row in rows):
        dims = [row[0] for row in rows]
        return node(step, graph, inputs + [graph.ints(dims)], {"allowzero": 1} if 0 in dims else {})
    dims = [row[0] if is_fixed(row) else None for row in rows]
    if dims.count(None) > 1:
        for axis, row in enumerate(rows):
            if dims[axis] is None and axis < source.rank and source.dim(axis) == list(row):
                dims[axis] = 0  # 0 copies the input's size
    if dims.count(None) == 0:
        dims[dims.index(0)] = -1
    if dims.count(None) <= 1 and (0 not in [row[0] for row in rows]):
        return node(step, graph, inputs + [graph.ints([-1 if d is None else d for d in dims])], {})
    return node(step, graph, inputs + [graph.sizes(rows, step)], {})


def _reduced(step, graph):
    attributes = _attributes(step)
    inputs = [graph.operand(step.inputs[0], step)]
    if len(step.inputs) > 1 and step.inputs[1] is not None:
        axes = step.inputs[1]
        if graph.opset < 18 and step.name in _AXES_WERE_ATTRIBUTES:
            attributes["axes"] = axes.array().tolist()
        else:
            inputs.append(graph.operand(axes, step))
    node(step, graph, inputs, attributes)


def _windows(step, graph):
    """Writes a windowed operator; pads that depend on sizes must match 'same'."""
    pads = [note.attributes.get("pads") for note in step.notes]
    if is_fixed(pads):
        return _plain(step, graph)
    for note in step.notes:
        note.attributes = {k: v for k, v in note.attributes.items() if k != "pads"}
    for run, given in enumerate(pads):
        if given != _same_pads(step, run):
            raise step.refused("its pads follow the sizes of the inputs")
    attributes = dict(_attributes(step), auto_pad="SAME_UPPER")
    return node(step, graph, [graph.operand(x, step) for x in step.inputs], attributes)


def _same_pads(step, run):
    sizes = step.inputs[0].tensors[run].shape[2:]
    windows, n = step.attribute("kernel_shape"), len(sizes)
    strides, dilations = step.attribute("strides") or [1] * n, step.attribute("dilations") or [1] * n
    totals = [max((-(-size // s) - 1) * s + (w - 1) * d + 1 - size, 0)
              for size, w, s, d in zip(sizes, windows, strides, dilations)]
    return [t // 2 for t in totals] + [t - t // 2 for t in totals]


def _cast(step, graph):
    value = graph.operand(step.inputs[0], step)
    graph.values[step.outputs[0]] = graph.emit("Cast", [value], step.where, to=step.attribute("to"))


def _alias(step, graph):
    graph.values[step.outputs[0]] = graph.operand(step.inputs[0], step)


_HANDLERS = {"Reshape": _reshape, "Cast": _cast, "Conv": _windows, "MaxPool": _windows, "AveragePool": _windows,
             "Identity": _alias, **{name: _reduced for name in _AXES_WERE_ATTRIBUTES}}

