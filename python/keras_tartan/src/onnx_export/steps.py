# SPDX-License-Identifier: Apache-2.0
"""Aligns runs of a model with different sizes: finds which steps are equal in all runs and which depend on sizes."""

import dataclasses
import re

from keras.src import tree
from keras_tartan.src.onnx_export.sizes import is_fixed
from tartan._tensor import Tensor


@dataclasses.dataclass(eq=False)
class Entry:
    """A tensor of the model in all runs."""

    tensors: list  # one per run
    step: object = None  # the producing step; None for inputs and constants
    input: int = None  # position, for inputs
    name: str = ""  # path of the variable that it is or is derived from
    is_fixed: bool = False  # equal in all runs

    @property
    def dtype(self):
        return str(self.tensors[0].dtype)

    @property
    def rank(self):
        return len(self.tensors[0].shape)

    @property
    def shape(self):
        return self.tensors[0].shape

    def dim(self, axis):
        return [t.shape[axis] for t in self.tensors]

    def array(self, run=0):
        return _values(self.tensors[run])

    def has_fixed_shape(self):
        return is_fixed([tuple(t.shape) for t in self.tensors])


@dataclasses.dataclass(eq=False)
class Step:
    """An operation in all runs."""

    notes: list
    inputs: list  # entries, None for omitted inputs
    outputs: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        return self.notes[0].name

    @property
    def where(self):
        return self.notes[0].where

    @property
    def is_tile(self):
        return self.notes[0].attributes is None

    def attribute(self, name, default=None):
        values = [note.attributes.get(name, default) for note in self.notes]
        if any(str(value) != str(values[0]) for value in values):
            raise self.refused(f"its attribute '{name}' follows the sizes of the inputs")
        return values[0]

    def title(self):
        if not self.is_tile:
            return self.name
        body = " ".join(self.name.partition("{")[2].split())
        return f"the formula '{body.rstrip('} ')}'"

    def refused(self, why):
        return NotImplementedError(f"export to ONNX: {self.title()} of the layer '{self.where}' cannot be written: {why}")


class Alignment:
    """The aligned steps of several recordings."""

    def __init__(self, recordings):
        self.recordings = recordings
        self.entries = [{} for _ in recordings]  # value → entry, per run
        self.constants = {}
        self.inputs = []
        for i, tensors in enumerate(zip(*[r.inputs for r in recordings])):
            self.inputs.append(self._known(Entry(list(tensors), input=i)))
        self.steps = []
        if len({len(r.notes) for r in recordings}) > 1:
            raise self._differs(next((n for n in zip(*[r.notes for r in recordings]) if not _is_one(n)), None))
        for notes in zip(*[r.notes for r in recordings]):
            self._add(notes)
        flat = [tree.flatten(r.outputs) for r in recordings]
        self.outputs = [self._entry(list(tensors)) for tensors in zip(*flat)]

    def _differs(self, notes):
        what = f"at {notes[0].name} of the layer '{notes[0].where}'" if notes else ""
        return NotImplementedError(f"export to ONNX: the model computes other things for other sizes of its inputs {what}: "
                                   "give fixed sizes in `input_signature`")

    def _known(self, entry):
        for run, tensor in enumerate(entry.tensors):
            self.entries[run][tensor._value] = entry
        return entry

    def _add(self, notes):
        if not _is_one(notes):
            raise self._differs(notes)
        step = Step(list(notes), [None if parts[0] is None else self._entry(list(parts))
                                  for parts in zip(*[n.inputs for n in notes])])
        for tensors in zip(*[n.outputs for n in notes]):
            if tensors[0]._value in self.entries[0] or tensors[0]._value.known is not None:
                continue  # an operand itself, or a number
            entry = Entry(list(tensors), step)
            used = [x for x in step.inputs if x is not None]
            names = {x.name for x in used if x.name}
            entry.is_fixed = (all(x.is_fixed for x in used) and entry.has_fixed_shape() and _same_attributes(notes))
            entry.name = names.pop() if entry.is_fixed and len(names) == 1 else ""
            step.outputs.append(self._known(entry))
        if step.outputs:
            self.steps.append(step)

    def _entry(self, tensors):
        found = [entries.get(t._value) for t, entries in zip(tensors, self.entries)]
        if any(e is not found[0] for e in found):
            raise self._differs(None)
        if found[0] is not None:
            return found[0]
        # A value from outside: a variable, a number, or the state of a layer.
        name = self.recordings[0].names.get(tensors[0]._value, "")
        entry = Entry(tensors, name=name)
        entry.is_fixed = entry.has_fixed_shape() and (bool(name) or _same_values(tensors))
        return self._known(entry)


def _is_one(notes):
    first = notes[0]
    if first.attributes is None:
        return all(n.attributes is None and _without_numbers(n.name) == _without_numbers(first.name) for n in notes)
    return all(n.attributes is not None and n.name == first.name and len(n.inputs) == len(first.inputs) for n in notes)


def _without_numbers(text):
    return re.sub(r"\d+", "0", text)


def _same_attributes(notes):
    return all(str(n.attributes) == str(notes[0].attributes) and n.name == notes[0].name for n in notes)


def _same_values(tensors):
    if all(t._value == tensors[0]._value for t in tensors):
        return True
    first = _values(tensors[0]).tobytes()
    return all(first == _values(t).tobytes() for t in tensors[1:])


def _values(tensor):
    """Returns the tensor's values and leaves its recorded value unchanged."""
    return Tensor(tensor._value).numpy()


def needed(alignment):
    """Returns the steps needed for the outputs, except steps that are equal in all runs, which become constants."""
    wanted, result = {id(e) for e in alignment.outputs}, []
    for step in reversed(alignment.steps):
        if any(id(e) in wanted and not e.is_fixed for e in step.outputs):
            result.append(step)
            wanted.update(id(x) for x in step.inputs if x is not None)
    return result[::-1]


__all__ = ["Alignment", "Entry", "Step", "needed"]
