# SPDX-License-Identifier: Apache-2.0
"""A graph that grows node by node. ONNX's reference evaluator evaluates every node when it is
added, so that the types, shapes and values available to the next node are known."""

import dataclasses

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes

from operator_recipes import BFLOAT16
from operator_recipes.draw import array, flip, is_float, pick, strange

COARSENESS = [np.dtype(t) for t in (np.float64, np.float32, np.float16, BFLOAT16)]
MOST_ELEMENTS = 400
LARGEST = {np.dtype(np.float16): 2e3, np.dtype(BFLOAT16): 2e3}


class Refused(Exception):
    """The random choice gives no valid model, or one whose results test nothing."""


def flattened(value):
    return [v for e in value for v in flattened(e)] if isinstance(value, list) else [value]


def moderate(value):
    """True unless the value has integers so large that their sums would overflow."""
    if isinstance(value, list) or value.dtype.kind != "i" or value.size == 0 or value.itemsize < 4:
        return True
    return np.abs(value.astype(np.float64)).max() < 1e6


def coarsest(types):
    return max(types, key=COARSENESS.index, default=None)


def dim(rng):
    return int(rng.choice([0, 1, 2, 3, 5, 7, 11, 13], p=[0.03, 0.22, 0.2, 0.2, 0.15, 0.1, 0.05, 0.05]))


def shape(rng, least=0, most=4):
    dims = [dim(rng) for _ in range(rng.integers(least, most + 1))]
    while np.prod(dims, dtype=np.int64) > MOST_ELEMENTS // 2:
        dims[int(np.argmax(dims))] = 1
    return dims


def declare(name, value, any_size=False, any_rank=False):
    if isinstance(value, list):
        kind = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else onnx.TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(name, kind, None)
    dims = [f"{name}_{i}" for i in range(value.ndim)] if any_size else value.shape
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, None if any_rank else dims)


def ir_version(opset):
    return 8 if opset < 21 else 10 if opset < 25 else 13


@dataclasses.dataclass
class Step:
    """A node and its evaluation: `run` takes a lookup function for outer values and returns the
    outputs."""

    proto: onnx.NodeProto
    run: object
    grain: object  # float type of the lowest precision in the computation


class Model:
    """The state shared by all graphs of a model."""

    def __init__(self, rng, opset, floats, integers):
        self.rng, self.opset = rng, opset
        self.types = (*floats, *integers, np.bool_)
        self.floats, self.integers = floats, integers
        self.inputs, self.initializers = {}, {}  # of the outermost graph
        self.names = 0

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"


class Graph:
    """The model's graph, or one in an attribute of a node of `outer`."""

    def __init__(self, model, outer=None):
        self.model, self.rng, self.opset, self.outer = model, model.rng, model.opset, outer
        self.depth = 0 if outer is None else outer.depth + 1
        self.values, self.grains = {}, {}  # of the names defined here
        self.steps, self.used = [], set()
        # True for a loop's body and graphs in it.
        self.repeated = outer is not None and outer.repeated

    # --- Visible values

    def find(self, name):
        return self.values[name] if name in self.values else self.outer.find(name)

    def grain(self, name):
        return self.grains[name] if name in self.values else self.outer.grain(name)

    def visible(self):
        return (self.outer.visible() if self.outer else []) + list(self.values)

    def choose(self, condition=lambda v: True):
        """A name whose value meets the condition, preferably a recent one; an array by default."""
        names = [n for n in self.visible() if moderate(self.find(n)) and condition(self.find(n))]
        if not names:
            raise Refused("nothing of that kind")
        return names[max(self.rng.integers(len(names)) for _ in range(2))]

    def choose_array(self, condition=lambda v: True):
        return self.choose(lambda v: isinstance(v, np.ndarray) and condition(v))

    # --- Additions

    def add_input(self, value, as_constant=False):
        model, value = self.model, np.asarray(value)
        name = model.name("c" if as_constant else "x")
        (model.initializers if as_constant else model.inputs)[name] = value
        root = self
        while root.outer:
            root = root.outer
        root.values[name] = value
        root.grains[name] = value.dtype if is_float(value) else None
        return name

    def new_array(self, dims=None, dtype=None):
        dtype = dtype or pick(self.rng, self.model.types)
        dims = shape(self.rng) if dims is None else dims
        value = array(self.rng, dims, dtype, -3, 3)
        if self.rng.random() < 0.15:
            value = strange(self.rng, value)
        return self.add_input(value, self.rng.random() < 0.2)

    def operand(self, value):
        """A value that decides shapes: an input, a constant, or computed from an input."""
        chance = self.rng.random()
        if chance < 0.25:
            return self.add_input(value, as_constant=True)
        if chance < 0.4:
            narrow = self.add_input(value.astype(np.int32))
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            return self.add("Cast", [narrow], to=kind)[0]
        if chance < 0.5 and value.ndim == 1 and value.size > 1:
            parts = [self.add_input(part) for part in (value[:1], value[1:])]
            return self.add("Concat", parts, axis=0)[0]
        return self.add_input(value)

    def add(self, operator, operands, outputs=1, run=None, grain=None, **attributes):
        """Adds the node and evaluates it; returns the names of its outputs."""
        names = [self.model.name("v") for _ in range(outputs)]
        proto = helper.make_node(operator, operands, names, **attributes)
        step = Step(proto, run or self.evaluator(proto), grain)
        results = step.run(self.find)
        self.check(results)
        types = [self.grain(n) for n in operands if n] + [grain]
        types += [r.dtype for r in flattened(list(results)) if is_float(r)]
        step.grain = coarsest([t for t in types if t is not None])
        for name, value in zip(names, results):
            self.values[name], self.grains[name] = value, step.grain
        self.used.update(operands)
        self.steps.append(step)
        return names

    def mark(self):
        """The current state of this graph and its outer graphs, for return_to."""
        model, outer = self.model, self.outer.mark() if self.outer else None
        there = [dict(d) for d in (model.inputs, model.initializers, self.values, self.grains)]
        return there, len(self.steps), set(self.used), outer

    def return_to(self, mark):
        there, steps, self.used, outer = mark
        self.model.inputs, self.model.initializers, self.values, self.grains = there
        del self.steps[steps:]
        if self.outer:
            self.outer.return_to(outer)

    def check(self, results):
        for value in flattened(list(results)):
            if not isinstance(value, np.ndarray):
                raise Refused("no array")
            if value.size > MOST_ELEMENTS or value.ndim > 6:
                raise Refused("too large")
            if value.dtype == np.bool_ or value.size == 0:
                continue
            if value.dtype.kind not in "fiu" and value.dtype != np.dtype(BFLOAT16):
                raise Refused("no numbers")
            if value.dtype.kind == "u" or (value.dtype.kind == "i" and value.itemsize < 4):
                continue
            known = np.nan_to_num(value.astype(np.float64), posinf=0, neginf=0)
            if np.abs(known).max() > LARGEST.get(value.dtype, 1e6):
                raise Refused("beyond all measure")

    def evaluator(self, proto):
        """Evaluates one node without subgraphs."""
        names = [n for n in dict.fromkeys(proto.input) if n]
        infos = [declare(n, self.find(n)) for n in names]
        outputs = [helper.make_value_info(n, onnx.TypeProto()) for n in proto.output]
        graph = helper.make_graph([proto], "g", infos, outputs)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=ir_version(self.opset),
        )
        reference = ReferenceEvaluator(model)
        known = {v.name: v.type for v in infer_shapes(model, check_type=True, strict_mode=True).graph.output}
        kinds = [known[n].tensor_type.elem_type for n in proto.output]

        def tidy(result, kind):  # numpy's sums of int32 are int64, unlike the standard's
            if isinstance(result, list):
                return result
            result = np.asarray(result)
            return result.astype(helper.tensor_dtype_to_np_dtype(kind)) if kind else result

        def run(find):
            results = reference.run(None, {n: find(n) for n in names})
            return [tidy(r, k) for r, k in zip(results, kinds)]

        return run

    # --- Results

    def run(self, inputs, find_outer=None):
        """The values of all names defined here, for these inputs."""
        values = dict(inputs)

        def find(name):
            return values[name] if name in values else find_outer(name)

        for step in self.steps:
            results = step.run(find)
            self.check(results)
            values.update(zip(step.proto.output, results))
        return values

    def body(self, name, inputs, outputs):
        """The graph as an attribute."""
        infos = [declare(n, self.find(n)) for n in inputs]
        made = [declare(n, self.find(n), any_rank=True) for n in outputs]
        return helper.make_graph([s.proto for s in self.steps], name, infos, made, value_info=self.shapes(outputs))

    def shapes(self, outputs):
        """The shapes of the nodes' results, for comparison. Branches of If may differ, so it has
        none."""
        steps = [s for s in self.steps if s.proto.op_type != "If"]
        names = [n for s in steps for n in s.proto.output if n not in outputs]
        return [declare(n, self.values[n]) for n in names if isinstance(self.values[n], np.ndarray)]

    def to_model(self, outputs):
        rng, model = self.rng, self.model
        inputs = [declare(n, v, rng.random() < 0.3) for n, v in model.inputs.items()]
        fixed = [numpy_helper.from_array(v, n) for n, v in model.initializers.items()]
        # Their results may have several ranks.
        branches = any(s.proto.op_type == "If" for s in self.steps)
        made = [declare(n, self.values[n], any_rank=branches or flip(rng)) for n in outputs]
        steps = [s.proto for s in self.steps]
        graph = helper.make_graph(steps, "random", inputs, made, fixed, value_info=self.shapes(outputs))
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=ir_version(self.opset),
        )
