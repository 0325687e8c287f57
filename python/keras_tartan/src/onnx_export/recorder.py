# SPDX-License-Identifier: Apache-2.0
"""Runs a model with tensors without values, and records every operation."""

import contextlib
import dataclasses

from keras.src import tree
from keras.src.backend.common.name_scope import current_path
from keras.src.backend.common.stateless_scope import StatelessScope
from keras_tartan.src._values import placeholder
from tartan._tensor import ConcretizationError, state


@dataclasses.dataclass
class Note:
    """One operation; `attributes` is None if `name` is a Tile text."""

    name: str
    inputs: list
    outputs: list
    attributes: dict
    domain: str
    where: str  # path of the layer


class _Constants:
    """Replaces a captured function: variables read as their current values."""

    def __init__(self):
        self.names = {}  # value of a variable → its path
        self.writes = {}  # empty; code that inspects captured functions reads it

    def read(self, variable):
        tensor = variable.held()
        self.names[tensor._value] = variable.name
        return tensor

    def write(self, variable, value):
        raise _assigned(variable.name)


def _assigned(path):
    return NotImplementedError(
        f"export to ONNX: the model assigns to its variable '{path}' when it is called (a state, or random numbers), "
        "but an ONNX model has no variables")


class Recording:
    """The operations of one run of a model."""

    def __init__(self):
        self.notes = []
        self.inputs = []
        self.outputs = None  # a structure of tensors
        self.names = {}

    def add(self, name, inputs, results, attributes, domain):
        self.notes.append(Note(name, list(inputs), list(results), attributes, domain, current_path()))


@contextlib.contextmanager
def _noting(recording, trace):
    before = (state.notes, state.trace, state.has_open_sizes)
    state.notes, state.trace, state.has_open_sizes = recording, trace, True
    try:
        yield
    finally:
        state.notes, state.trace, state.has_open_sizes = before


def record(model, signature, shapes, dtypes):
    """Records an inference run of the model with inputs of these shapes."""
    for layer in model._flatten_layers():
        if getattr(layer, "stateful", False):
            raise NotImplementedError(f"export to ONNX: the layer '{layer.path}' keeps a state from call to call, but an ONNX "
                                      "model has no variables")
    recording, trace = Recording(), _Constants()
    recording.inputs = [placeholder(shape, dtype, f"x{i}") for i, (shape, dtype) in enumerate(zip(shapes, dtypes))]
    args = tree.pack_sequence_as(signature, recording.inputs)
    options = {"training": False} if getattr(model, "_call_has_training_arg", False) else {}
    with StatelessScope(collect_losses=True) as scope, _noting(recording, trace):
        try:
            recording.outputs = model(*args, **options)
        except ConcretizationError as error:
            where = recording.notes[-1].where if recording.notes else model.name
            raise NotImplementedError(f"export to ONNX: the layer '{where}', or the one after it, requests values of "
                                      f"tensors: {error}") from error
        if scope.state_mapping:
            paths = {id(v): v.path for v in model.variables}
            raise _assigned(paths.get(next(iter(scope.state_mapping)), "of another object"))
    recording.names = trace.names
    return recording
