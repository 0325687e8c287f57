# SPDX-License-Identifier: Apache-2.0
"""Nodes with subgraphs. The reference evaluator's Loop and Scan lack many features, so these
nodes are evaluated here, iteration by iteration, from the nodes of their bodies."""

import numpy as np
from onnx import helper

from operator_recipes.draw import between, flip, pick

from .builder import Graph, Refused, coarsest

DEEPEST = 3


def grow(graph, add_node, least, most):
    """Adds between `least` and `most` nodes. Attempts that do not fit are skipped."""
    wanted, before = between(graph.rng, least, most), len(graph.steps)
    for _ in range(20):
        if len(graph.steps) - before >= wanted:
            return
        add_node(graph)
    if len(graph.steps) - before < least:
        raise Refused("too few nodes")


def grain_of(graph):
    return coarsest([s.grain for s in graph.steps if s.grain is not None])


def handed_on(graph, name):
    """Returns a name that a node of this graph computes, with an Identity if needed: outputs of
    a body must be computed in it."""
    if any(name in s.proto.output for s in graph.steps):
        return name
    return graph.add("Identity", [name])[0]


def distinct(graph, names):
    """Each name once, since two outputs of a graph may not have the same name."""
    return [n if n not in names[:i] else graph.add("Identity", [n])[0] for i, n in enumerate(names)]


def some_of(graph, dtype=None):
    """A value computed in the body, or an outer one; mostly the most recent."""
    names = [o for s in graph.steps for o in s.proto.output]
    names = [
        n
        for n in names
        if isinstance(graph.find(n), np.ndarray) and (dtype is None or graph.find(n).dtype == dtype)
    ]
    if names and graph.rng.random() < 0.8:
        return names[-1]
    return handed_on(graph, graph.choose_array(lambda v: dtype is None or v.dtype == dtype))


def view_of(graph, name):
    """The same elements in another shape, for which compilers emit no kernel."""
    rng, value = graph.rng, graph.find(name)
    ones = [d for d, size in enumerate(value.shape) if size == 1]
    forms = ["Unsqueeze", "Reshape", "Identity"] + ["Gather", "Squeeze"] * (2 * bool(ones))
    form = pick(rng, forms)
    if form == "Gather":
        return graph.add("Gather", [name, graph.operand(np.array(0, np.int64))], axis=pick(rng, ones))[0]
    if form == "Reshape":
        return graph.add("Reshape", [name, graph.operand(np.array([-1], np.int64))])[0]
    if form == "Identity":
        return graph.add(form, [name])[0]
    axes = np.array([pick(rng, ones) if form == "Squeeze" else between(rng, 0, value.ndim)], np.int64)
    if graph.opset < 13:
        return graph.add(form, [name], axes=axes.tolist())[0]
    return graph.add(form, [name, graph.operand(axes)])[0]


def perhaps_view(graph, name):
    """The value, or a view of it with probability 1/2, or a view of that view, and so on."""
    while flip(graph.rng) and graph.find(name).size > 0:
        name = view_of(graph, name)
    return name


def with_ones(graph, fits):
    """An array that fits; sometimes a new one of any rank with many axes of size 1."""
    if graph.rng.random() < 0.6:
        return graph.choose_array(fits)
    dims = [1 if flip(graph.rng) else between(graph.rng, 2, 5) for _ in range(between(graph.rng, 0, 4))]
    return graph.new_array(dims, pick(graph.rng, graph.model.floats))


def condition(graph):
    """A bool that is a constant, an input, or computed."""
    rng = graph.rng
    chance = rng.random()
    if chance < 0.6:
        value = np.array(rng.random() < 0.5).reshape([1] * flip(rng))
        return graph.add_input(value, as_constant=chance < 0.3)
    if chance < 0.75:
        return graph.choose_array(lambda v: v.dtype == np.bool_ and v.size == 1)
    name = graph.choose_array(lambda v: v.dtype == np.float32 and v.size > 0)
    if graph.opset >= 13:
        least = graph.add("ReduceSum", [name], keepdims=0)[0]
    else:
        least = graph.add("ReduceMax", [name], keepdims=0)[0]
    return graph.add("Less", [least, graph.new_array([], np.float32)])[0]


def branches(graph, add_node):
    chosen = condition(graph)
    graphs = [Graph(graph.model, graph) for _ in range(2)]
    outputs = []
    for inner in graphs:
        grow(inner, add_node, 1, 3)
    first = [perhaps_view(graphs[0], some_of(graphs[0])) for _ in range(between(graph.rng, 1, 2))]
    outputs.append(first)
    outputs.append([some_of(graphs[1], graphs[0].find(n).dtype) for n in first])
    outputs = [distinct(g, names) for g, names in zip(graphs, outputs)]
    protos = [g.body(n, [], o) for g, n, o in zip(graphs, ("then", "else"), outputs)]

    def run(find):
        taken = 0 if find(chosen).item() else 1
        values = graphs[taken].run({}, find)
        return [values[n] if n in values else find(n) for n in outputs[taken]]

    return graph.add(
        "If",
        [chosen],
        len(first),
        run,
        coarsest([g for g in map(grain_of, graphs) if g is not None]),
        then_branch=protos[0],
        else_branch=protos[1],
    )


def start_body(graph):
    inner = Graph(graph.model, graph)
    inner.repeated = True
    return inner


def take(inner, prefix, value, grain):
    name = inner.model.name(prefix)
    inner.values[name], inner.grains[name] = value, grain
    return name


def next_state(inner, state):
    """A value of the state's type and shape."""
    value = inner.find(state)

    def fits(v):
        if v.dtype != value.dtype or v.ndim > value.ndim:
            return False
        return all(a in (1, b) for a, b in zip(v.shape[::-1], value.shape[::-1]))

    other = inner.choose_array(fits)
    if value.dtype == np.bool_:
        return inner.add(pick(inner.rng, ("And", "Or", "Xor")), [state, other])[0]
    return inner.add(pick(inner.rng, ("Add", "Sub")), [state, other])[0]


def arithmetic_type(graph, value):
    wide = (np.float32, np.float64, np.int32, np.int64, np.bool_)
    return value.dtype in graph.model.floats or value.dtype in wide


def loop(graph, add_node):
    rng = graph.rng
    states = [
        with_ones(graph, lambda v: arithmetic_type(graph, v)) for _ in range(between(rng, 1, 2))
    ]
    count = np.array(between(rng, 1, 9), np.int64).reshape([1] * flip(rng))
    turns = graph.operand(count) if rng.random() < 0.9 else graph.add_input(count * 0)
    first = condition(graph) if rng.random() < 0.2 else ""
    inner = start_body(graph)
    turn = take(inner, "turn", np.array(0, np.int64), None)
    going = take(inner, "on", np.ones_like(graph.find(first)) if first else np.array(True), None)
    inside = [take(inner, "s", graph.find(n), graph.grain(n)) for n in states]
    grow(inner, add_node, 1, 3)
    if inner.find(going).ndim == 0 and rng.random() < 0.3:
        limit = np.array(between(rng, 1, 4), np.int64)
        still = inner.add("Less", [turn, inner.operand(limit)])[0]
    else:
        still = inner.add("Identity", [going])[0]
    after = [next_state(inner, n) for n in inside]
    seen = [pick(rng, after) if rng.random() < 0.4 else some_of(inner) for _ in range(between(rng, 0, 2))]
    rows = [perhaps_view(inner, n) for n in seen]
    if graph.find(turns).item() == 0 or (first and not graph.find(first).item()):
        rows = []  # the sizes of rows without iterations are undefined
    made = distinct(inner, after + rows)
    after, rows = made[: len(after)], made[len(after) :]
    body = inner.body("body", [turn, going, *inside], [still, *after, *rows])

    def going_on(on):
        return np.full_like(inner.find(going), on)

    def run(find):
        values = [find(n) for n in states]
        on = bool(find(first).item()) if first else True
        stacks, t = [[] for _ in rows], 0
        while on and t < find(turns).item():
            given = {turn: np.array(t, np.int64), going: going_on(on), **dict(zip(inside, values))}
            made = inner.run(given, find)
            values = [made[n] for n in after]
            for stack, n in zip(stacks, rows):
                stack.append(made[n])
            on, t = bool(made[still].item()), t + 1
        if any(not s or any(r.shape != s[0].shape for r in s) for s in stacks):
            raise Refused("rows of different shapes")
        return values + [np.stack(s) for s in stacks]

    outputs = len(states) + len(rows)
    return graph.add("Loop", [turns, first, *states], outputs, run, grain_of(inner), body=body)


def scan(graph, add_node):
    rng = graph.rng
    state = with_ones(graph, lambda v: arithmetic_type(graph, v))
    rows = graph.choose_array(lambda v: v.ndim > 0 and 0 < v.shape[0] < 8)
    axis = between(rng, 0, graph.find(rows).ndim - 1)
    backwards = flip(rng)
    if graph.find(rows).shape[axis] == 0:
        raise Refused("nothing to scan")

    def row(value, t):
        return np.asarray(np.take(value, t, axis))

    inner = start_body(graph)
    inside = take(inner, "s", graph.find(state), graph.grain(state))
    part = take(inner, "r", row(graph.find(rows), 0), graph.grain(rows))
    grow(inner, add_node, 1, 3)
    after = next_state(inner, inside)
    seen = perhaps_view(inner, pick(rng, (after, some_of(inner))))
    after, seen = distinct(inner, [after, seen])
    body = inner.body("body", [inside, part], [after, seen])

    def run(find):
        value, stack = find(state), []
        turns = range(find(rows).shape[axis])
        for t in reversed(turns) if backwards else turns:
            made = inner.run({inside: value, part: row(find(rows), t)}, find)
            value = made[after]
            stack.append(made[seen])
        if any(r.shape != stack[0].shape for r in stack):
            raise Refused("rows of different shapes")
        return [value, np.stack(stack)]

    attributes = {"num_scan_inputs": 1, "scan_input_axes": [axis]}
    attributes["scan_input_directions"] = [backwards]
    return graph.add("Scan", [state, rows], 2, run, grain_of(inner), body=body, **attributes)


def map_sequence(graph, add_node):
    if graph.opset < 17:
        raise Refused("no SequenceMap yet")
    sequence = graph.choose(lambda v: isinstance(v, list) and len(v) > 0)
    inner = start_body(graph)
    part = take(inner, "e", graph.find(sequence)[0], graph.grain(sequence))
    grow(inner, add_node, 1, 3)
    seen = some_of(inner)
    body = inner.body("body", [], [seen])
    body.input.append(helper.make_tensor_value_info(
        part, helper.np_dtype_to_tensor_dtype(inner.find(part).dtype), None
    ))

    def run(find):
        made = []
        for element in find(sequence):
            values = inner.run({part: element}, find)
            made.append(values[seen])
        return [made]

    return graph.add("SequenceMap", [sequence], 1, run, grain_of(inner), body=body)


def add_body(graph, add_node):
    if graph.depth >= DEEPEST:
        raise Refused("deep enough")
    kind = pick(graph.rng, (branches, branches, loop, loop, scan, map_sequence))
    return kind(graph, add_node)
