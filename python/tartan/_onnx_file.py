# SPDX-License-Identifier: Apache-2.0
"""Reads the parts of an ONNX file that Keras layers need, without the package onnx. Source of the field numbers:
onnx.proto."""

import dataclasses


@dataclasses.dataclass
class Node:
    op: str = ""
    inputs: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Initializer:
    name: str = ""
    data: tuple = None  # start and end of its bytes in the file
    is_external: bool = False


@dataclasses.dataclass
class Graph:
    """The main graph, without subgraphs."""

    nodes: list = dataclasses.field(default_factory=list)
    initializers: list = dataclasses.field(default_factory=list)


def read(data):
    """Returns the graph of a model. ValueError for bytes that are not a model."""
    graph = Graph()
    for number, value in _fields(data, 0, len(data)):
        if number == 7 and isinstance(value, tuple):
            for inner, part in _fields(data, *value):
                if inner == 1 and isinstance(part, tuple):
                    graph.nodes.append(_node(data, *part))
                elif inner == 5 and isinstance(part, tuple):
                    graph.initializers.append(_initializer(data, *part))
    return graph


def without_data(data, names):
    """Returns the bytes of a model with the elements of some initializers set to 0. They are stored elsewhere, and
    zeros compress well."""
    result = bytearray(data)
    for initializer in read(data).initializers:
        if initializer.name in names and initializer.data is not None:
            begin, end = initializer.data
            result[begin:end] = bytes(end - begin)
    return bytes(result)


def _node(data, begin, end):
    node = Node()
    for number, value in _fields(data, begin, end):
        if number == 1:
            node.inputs.append(_text(data, value))
        elif number == 4:
            node.op = _text(data, value)
    return node


def _initializer(data, begin, end):
    result = Initializer()
    for number, value in _fields(data, begin, end):
        if number == 8:
            result.name = _text(data, value)
        elif number == 9:
            result.data = value
        elif number == 14:
            result.is_external = value == 1
    return result


def _text(data, place):
    return bytes(data[slice(*place)]).decode("utf-8")


def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the bytes are not an ONNX model")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data, at, end):
    """Yields field numbers with values: integers, or the start and end of a string's or message's bytes."""
    while at < end:
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = (at, at + size), at + size
        elif kind in (1, 5):
            value, at = None, at + (8 if kind == 1 else 4)
        else:
            raise ValueError("the bytes are not an ONNX model")
        if at > end:
            raise ValueError("the bytes are not an ONNX model")
        yield number, value
