# SPDX-License-Identifier: Apache-2.0
"""Eliminates transposes by moving them down the graph until they meet their inverses. Networks with channels last
are thus written with channels first, as ONNX convolutions and pools require."""

import numpy as np
from keras_tartan.src.onnx_export.graph import Node

_ELEMENTWISE = {
    "Abs", "Add", "And", "Cast", "Ceil", "Celu", "Clip", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu",
    "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log",
    "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
    "Softplus", "Softsign", "Sqrt", "Sub", "Tanh", "Where", "Xor"}
_REDUCTIONS = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"}


def simplify(graph):
    """Returns the nodes of the graph with no more transposes than before, and without identity transposes."""
    before = [_copy(n) for n in graph.nodes], dict(graph.constants)
    worker = _Worker(graph)
    for _ in range(200):
        if not worker.sweep():
            break
    worker.drop_unused()
    if _count(graph.nodes) > _count(before[0]):
        graph.nodes, graph.constants = before


def _copy(n):
    return Node(n.op, list(n.inputs), list(n.outputs), dict(n.attributes), n.name)


def _count(nodes):
    return sum(n.op == "Transpose" for n in nodes)


class _Worker:
    def __init__(self, graph):
        self.graph = graph
        self._index()

    def _index(self):
        self.makers = {name: n for n in self.graph.nodes for name in n.outputs}
        self.uses = {}
        for n in self.graph.nodes:
            for name in n.inputs:
                self.uses[name] = self.uses.get(name, 0) + 1

    def sweep(self):
        """Visits every node once; returns True if one changed."""
        changed, result = False, []
        for n in self.graph.nodes:
            if n.op == "Transpose":
                changed |= self._joined(n)
                result.append(n)
                continue
            rule = (self._elementwise if n.op in _ELEMENTWISE else self._reduced if n.op in _REDUCTIONS else
                    {"Concat": self._concat, "Pad": self._pad, "Resize": self._resize}.get(n.op))
            order = rule(n) if rule is not None else None
            result.append(n)
            if order is not None:
                changed = True
                result += self._moved_transpose(n, order)
        self.graph.nodes = result
        self._skip_idle()
        self._index()
        return changed

    def _perm(self, name):
        """Returns the permutation of the transpose that makes a value, or None."""
        maker = self.makers.get(name)
        return list(maker.attributes["perm"]) if maker is not None and maker.op == "Transpose" else None

    def _source(self, name):
        return self.makers[name].inputs[0]

    def _moved_transpose(self, n, order):
        """Returns the Transpose that follows the rewritten node n, and gives n's result a new name."""
        name = n.outputs[0]
        inner = self.graph.reserve(n.name)
        n.outputs = [inner]
        turn = Node("Transpose", [inner], [name], {"perm": order}, self.graph.reserve(f"{n.name}/Transpose"))
        self.makers[name], self.makers[inner] = turn, n
        return [turn]

    def _joined(self, n):
        """Merges two transposes into one, or a transpose of size-1 dimensions into the preceding Reshape."""
        inner = self._perm(n.inputs[0])
        if inner is None:
            return self._as_reshape(n)
        n.inputs = [self._source(n.inputs[0])]
        n.attributes = {"perm": [inner[p] for p in n.attributes["perm"]]}
        return True

    def _as_reshape(self, n):
        maker = self.makers.get(n.inputs[0])
        shape = self.graph.constants.get(maker.inputs[1]) if maker is not None and maker.op == "Reshape" else None
        perm = list(n.attributes["perm"])
        if shape is None or len(shape) != len(perm) or 0 in shape:
            return False
        moved = [axis for axis in perm if shape[axis] != 1]
        if moved != sorted(moved):
            return False
        n.op, n.attributes = "Reshape", dict(maker.attributes)
        n.inputs = [maker.inputs[0], self.graph.ints([int(shape[axis]) for axis in perm])]
        return True

    def _skip_idle(self):
        """Removes identity transposes."""
        names, kept = {}, []
        for n in self.graph.nodes:
            n.inputs = [names.get(x, x) for x in n.inputs]
            perm = n.attributes.get("perm") if n.op == "Transpose" else None
            if perm is not None and list(perm) == list(range(len(perm))) and n.outputs[0] not in self.graph.outputs:
                names[n.outputs[0]] = n.inputs[0]
            else:
                kept.append(n)
        self.graph.nodes = kept

    def drop_unused(self):
        while True:
            used = {x for n in self.graph.nodes for x in n.inputs} | set(self.graph.outputs)
            kept = [n for n in self.graph.nodes if any(o in used for o in n.outputs)]
            if len(kept) == len(self.graph.nodes):
                break
            self.graph.nodes = kept

    # --- Rules: the node reads the untransposed operands. Each rule returns the order of its result.

    def _elementwise(self, n):
        orders = [self._perm(x) for x in n.inputs]
        known = [o for o in orders if o is not None]
        if not known or any(o != known[0] for o in known):
            return None
        order = known[0]
        turned = []
        for name, own in zip(n.inputs, orders):
            constant = self.graph.constants.get(name)
            if own is None and name and constant is None or constant is not None and constant.ndim > len(order):
                return None
            turned.append(self._source(name) if own is not None else name)
        for i, name in enumerate(n.inputs):
            if orders[i] is None and name:
                turned[i] = self._untransposed_constant(name, order)
        n.inputs = turned
        return order

    def _untransposed_constant(self, name, order):
        """Returns a constant in the order of the untransposed operands."""
        array = self.graph.constants[name]
        if array.size == 1:
            return name
        array = array.reshape((1,) * (len(order) - array.ndim) + array.shape)
        array = np.ascontiguousarray(array.transpose(np.argsort(order)))
        return self.graph.changed(name, array, self.uses.get(name, 0))

    def _reduced(self, n):
        order = self._perm(n.inputs[0])
        listed = self.graph.constants.get(n.inputs[1]) if len(n.inputs) > 1 else n.attributes.get("axes")
        if order is None or listed is None:
            return None
        axes = [int(a) % len(order) for a in listed]
        if len(n.inputs) > 1:
            n.inputs[1] = self.graph.ints(sorted(order[a] for a in axes))
        else:
            n.attributes = dict(n.attributes, axes=sorted(order[a] for a in axes))
        n.inputs[0] = self._source(n.inputs[0])
        if n.attributes.get("keepdims", 1):
            return order
        rest = [order[a] for a in range(len(order)) if a not in axes]
        return [sorted(rest).index(a) for a in rest]

    def _concat(self, n):
        orders = [self._perm(x) for x in n.inputs]
        if None in orders or any(o != orders[0] for o in orders):
            return None
        n.inputs = [self._source(x) for x in n.inputs]
        n.attributes = dict(n.attributes, axis=orders[0][n.attributes["axis"]])
        return orders[0]

    def _pad(self, n):
        order = self._perm(n.inputs[0])
        pads = self.graph.constants.get(n.inputs[1])
        if order is None or pads is None or len(n.inputs) > 3:
            return None
        turned = np.zeros_like(pads)
        for at, axis in enumerate(order):
            turned[axis], turned[axis + len(order)] = pads[at], pads[at + len(order)]
        n.inputs = [self._source(n.inputs[0]), self.graph.constant(turned), *n.inputs[2:]]
        return order

    def _resize(self, n):
        """Resize: scales or sizes are a constant or concatenated from parts."""
        order = self._perm(n.inputs[0])
        last = n.inputs[-1]
        if order is None or "axes" in n.attributes:
            return None
        back = np.argsort(order)
        parts = self.makers.get(last)
        if last in self.graph.constants:
            turned = self.graph.constant(self.graph.constants[last][back])
        elif parts is not None and parts.op == "Concat" and self.uses[last] == 1:
            parts.inputs, turned = [parts.inputs[i] for i in back], last
        else:
            return None
        n.inputs = [self._source(n.inputs[0]), *n.inputs[1:-1], turned]
        return order
