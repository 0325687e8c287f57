# SPDX-License-Identifier: Apache-2.0
"""The ONNX graph being written: nodes, constants, and their names."""

import dataclasses

import numpy as np
from keras_tartan.src.onnx_export.sizes import is_fixed, solve
from tartan import _dtypes
from tartan._onnx_types import NUMBERS


@dataclasses.dataclass(eq=False)
class Node:
    op: str
    inputs: list  # names, "" for omitted inputs
    outputs: list
    attributes: dict
    name: str


class Graph:
    """Values are names. `symbols` has the values of every open size in each run."""

    def __init__(self, alignment, symbols, opset):
        self.alignment = alignment
        self.symbols = symbols
        self.opset = opset
        self.nodes = []
        self.constants = {}  # name → array
        self.weights = set()  # names of variables and of constants derived from one
        self.values = {}  # entry → name
        self.outputs = []
        self._names = set()
        self._known = {}  # dtype, shape and bytes of a small constant → name
        self._sizes = {}  # expression → name of a one-element vector

    # --- Names.

    def reserve(self, name):
        """Returns the name, with a number appended if it is taken."""
        chosen, number = name, 0
        while chosen in self._names:
            number += 1
            chosen = f"{name}_{number}"
        self._names.add(chosen)
        return chosen

    # --- Values.

    def emit(self, op, inputs, where, count=1, **attributes):
        """Appends a node. Returns the name of its value, or a list if `count` is not 1."""
        name = self.reserve(f"{where}/{op}" if where else op)
        outputs = [name] if count == 1 else [self.reserve(f"{name}:{i}") for i in range(count)]
        self.nodes.append(Node(op, list(inputs), outputs, attributes, name))
        return outputs[0] if count == 1 else outputs

    def constant(self, array, name="", is_weight=False):
        """Adds a constant and returns its name; small constants without a name are shared."""
        array = np.asarray(array)
        key = (array.dtype.name, array.shape, array.tobytes()) if not name and array.size <= 64 else None
        if key in self._known:
            return self._known[key]
        chosen = self.reserve(name or _constant_name(array))
        self.constants[chosen] = array
        if is_weight:
            self.weights.add(chosen)
        if key is not None:
            self._known[key] = chosen
        return chosen

    def changed(self, name, array, uses):
        """Replaces a constant with `uses` uses by another array; returns its name."""
        if uses > 1:
            return self.constant(array, name, name in self.weights)
        self._known = {key: known for key, known in self._known.items() if known != name}
        self.constants[name] = array
        return name

    def scalar(self, number, dtype):
        return self.constant(np.asarray(number).astype(_dtypes.numpy_dtype(dtype)))

    def ints(self, values):
        return self.constant(np.array(values, "int64"))

    def cast(self, value, dtype, where):
        return self.emit("Cast", [value], where, to=NUMBERS[_dtypes.as_dtype(dtype)])

    def operand(self, entry, step):
        """Returns the name of an operand."""
        found = self.values.get(entry)
        if found is not None:
            return found
        if entry.is_fixed:
            name = entry.name
            if not name and entry.array().size > 64:
                name = f"{step.where}/constant"
            found = self.constant(entry.array(), name, bool(entry.name))
        elif entry.step is None:
            found = self._following(entry, step)
        else:
            raise step.refused("one of its operands is missing")
        self.values[entry] = found
        return found

    def _following(self, entry, step):
        """Writes a constant of integers that depend on the sizes of the inputs."""
        shapes = [tuple(t.shape) for t in entry.tensors]
        repeated = self._repeated(entry, shapes, step)
        if repeated is not None:
            return repeated
        arrays = [entry.array(run).reshape(-1) for run in range(len(entry.tensors))]
        if not is_fixed(shapes) or len(shapes[0]) > 1 or arrays[0].size > 64 or entry.dtype == "bool" or any(
                not np.array_equal(a, np.floor(a)) for a in arrays):
            raise step.refused(f"its values follow {self.symbol_names()}, which must be fixed: give "
                               "`input_signature`")
        name = self.sizes(list(zip(*[[int(v) for v in a] for a in arrays])), step)
        if entry.dtype != "int64":
            name = self.cast(name, entry.dtype, step.where)
        return name if shapes[0] else self.emit("Squeeze", [name, self.ints([0])], step.where)

    def bind(self, name, entry):
        """Gives an existing value the name of an output."""
        value = self.values.get(entry)
        if value is None:
            value = self.values[entry] = self.constant(entry.array(), f"{name}/value")
        self.nodes.append(Node("Identity", [value], [name], {}, f"{name}/Identity"))

    def _repeated(self, entry, shapes, step):
        """Writes a constant that is uniform along dimensions of open size, or counts along its only dimension; else
        returns None."""
        if len({len(s) for s in shapes}) > 1 or is_fixed(shapes):
            return None
        arrays = [entry.array(run) for run in range(len(shapes))]
        one = tuple(slice(None) if is_fixed(dims) else slice(0, 1) for dims in zip(*shapes))
        part = arrays[0][one]
        rows = [list(row) for row in zip(*shapes)]
        if all(np.array_equal(a, np.broadcast_to(part, a.shape)) for a in arrays):
            return self.emit("Expand", [self.constant(part), self.sizes(rows, step)], step.where)
        if all(np.array_equal(a, np.arange(a.size).astype(a.dtype)) for a in arrays):
            return self._counted(rows[0], entry.dtype, step)
        if entry.dtype == "bool" and len(rows) == 2 and all(np.array_equal(a, np.tri(*a.shape)) for a in arrays):
            row, column = [self._counted(values, "int64", step) for values in rows]
            row = self.emit("Unsqueeze", [row, self.ints([1])], step.where)
            return self.emit("GreaterOrEqual", [row, column], step.where)
        return None

    def _counted(self, values, dtype, step):
        """Writes 0, 1, … up to an open size."""
        count = self.emit("Squeeze", [self.size(values, step), self.ints([0])], step.where)
        counted = self.emit("Range", [self.scalar(0, "int64"), count, self.scalar(1, "int64")], step.where)
        return counted if dtype == "int64" else self.cast(counted, dtype, step.where)

    def symbol_names(self):
        return "the sizes " + ", ".join(f"'{name}'" for name in self.symbols)

    # --- Sizes.

    def sizes(self, rows, step):
        """Returns an integer vector; each of its elements has a row of values, one per run."""
        if all(is_fixed(row) for row in rows):
            return self.ints([row[0] for row in rows])
        parts = [self.size(list(row), step) for row in rows]
        return parts[0] if len(parts) == 1 else self.emit("Concat", parts, step.where, axis=0)

    def reshape(self, value, rows, step):
        """Reshapes a value; sizes as in `sizes`."""
        if [is_fixed(row) for row in rows].count(False) == 1:
            rows = [row if is_fixed(row) else [-1] * len(row) for row in rows]
        return self.emit("Reshape", [value, self.sizes(rows, step)], step.where)

    def size(self, values, step):
        """Returns a vector of one integer."""
        expression = solve(values, self.symbols)
        if expression is None:
            found = self._size_of_operand(values, step)
            if found is not None:
                return found
            raise step.refused(f"a size follows {self.symbol_names()} in a way that is not supported: {values}")
        found = self._sizes.get(expression)
        if found is None:
            found = self._sizes[expression] = self._size(*expression)
        return found

    def _size_of_operand(self, values, step):
        """Derives a size from an operand's size if it is not an expression of the inputs' sizes (half of an odd
        size); else None."""
        for entry in step.inputs:
            if entry is None or entry not in self.values:
                continue
            for axis in range(entry.rank):
                expression = solve(values, {"size": entry.dim(axis)})
                if expression is not None:
                    part = self.emit("Shape", [self.values[entry]], step.where, start=axis, end=axis + 1)
                    return self._scaled(part, expression[0], expression[2]) if len(expression[1]) == 1 else None
        return None

    def _size(self, factor, names, addend):
        if not names:
            return self.ints([addend])
        value = None
        for name in names:
            part = self._symbol(name)
            value = part if value is None else self.emit("Mul", [value, part], "sizes")
        return self._scaled(value, factor, addend)

    def _scaled(self, value, factor, addend):
        if factor != 1:
            value = self.emit("Mul", [value, self.ints([factor])], "sizes")
        return self.emit("Add", [value, self.ints([addend])], "sizes") if addend else value

    def _symbol(self, name):
        found = self._sizes.get(name)
        if found is None:
            for entry in self.alignment.inputs:
                for axis in range(entry.rank):
                    if entry.dim(axis) == self.symbols[name]:
                        found = self.emit("Shape", [self.values[entry]], "sizes", start=axis, end=axis + 1)
                        self._sizes[name] = found
                        return found
        return found


def _constant_name(array):
    if array.size == 1:
        return f"{array.reshape(-1)[0]}"
    if array.ndim == 1 and array.size <= 6:
        return "[" + ",".join(str(v) for v in array.tolist()) + "]"
    return f"constant_{array.dtype.name}"
