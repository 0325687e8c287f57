# SPDX-License-Identifier: Apache-2.0
"""Ensembles of decision trees."""

import numpy as np
from onnx import TensorProto, helper

from .draw import ML, Case, array, between, dim, flip, given, maybe, pick, real, reals, recipe

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def grow(rng, depth, tree, nodes):
    """Appends a random tree to `nodes` and returns its root's number within the tree."""
    number = sum(1 for n in nodes if n["tree"] == tree)
    node = {"tree": tree, "id": number, "leaf": depth == 0 or (number > 0 and rng.random() < 0.25)}
    nodes.append(node)
    if not node["leaf"]:
        node["true"] = grow(rng, depth - 1, tree, nodes)
        node["false"] = grow(rng, depth - 1, tree, nodes)
    return number


def forest(rng):
    nodes = []
    for tree in range(between(rng, 1, 3)):
        grow(rng, between(rng, 0, 3), tree, nodes)
    return nodes


def old_form(rng, prefix, features, targets):
    """Attributes of TreeEnsembleClassifier and -Regressor without labels and transforms."""
    nodes = forest(rng)
    one_mode = pick(rng, MODES) if rng.random() < 0.5 else None
    leaves = [
        (n, t) for n in nodes if n["leaf"] for t in range(targets) if t == 0 or rng.random() < 0.5
    ]
    attributes = {
        "nodes_treeids": [n["tree"] for n in nodes],
        "nodes_nodeids": [n["id"] for n in nodes],
        "nodes_modes": ["LEAF" if n["leaf"] else one_mode or pick(rng, MODES) for n in nodes],
        "nodes_featureids": [0 if n["leaf"] else between(rng, 0, features - 1) for n in nodes],
        "nodes_values": [0.0 if n["leaf"] else float(between(rng, -2, 2)) for n in nodes],
        "nodes_truenodeids": [n.get("true", 0) for n in nodes],
        "nodes_falsenodeids": [n.get("false", 0) for n in nodes],
        "nodes_missing_value_tracks_true": [0 if n["leaf"] else flip(rng) for n in nodes],
        f"{prefix}_treeids": [n["tree"] for n, _ in leaves],
        f"{prefix}_nodeids": [n["id"] for n, _ in leaves],
        f"{prefix}_ids": [(t if targets == 1 else (t + n["id"]) % targets) for n, t in leaves],
        f"{prefix}_weights": reals(rng, len(leaves)),
    }
    if rng.random() < 0.3:
        attributes["base_values"] = reals(rng, targets)
    return attributes


TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def transformed(scores, transform):
    """Applies "the transform to apply to the score" to scores by row."""
    if transform == "LOGISTIC":
        return 1 / (1 + np.exp(-scores))
    if transform == "NONE":
        return scores
    takes_part = scores != 0 if transform == "SOFTMAX_ZERO" else np.ones_like(scores, bool)
    powers = np.where(takes_part, np.exp(scores - scores.max(axis=1, keepdims=True)), 0)
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30)


def finished(x, attributes, transform, opset=None):
    """Completes the evaluator's results: it has no transforms, and gives targets without a leaf
    the maximum float."""
    base = attributes.pop("base_values", None)
    if base is not None and attributes.get("aggregate_function", "SUM") in ("SUM", "AVERAGE"):
        attributes["base_values"] = base
    without = {k: v for k, v in attributes.items() if k != "post_transform"}

    def finish(results):
        scores = results[0]
        unset = np.abs(scores) >= np.finfo(scores.dtype).max
        return [transformed(np.where(unset, 0, scores), transform).astype(scores.dtype)]

    return Case([x], attributes, opset=opset, finish=finish, oracle_attributes=without)


def samples(rng, types=(np.float32, np.float32, np.float64, np.int32, np.int64)):
    """Multiples of 0.5, so that equal values occur."""
    x = array(rng, [dim(rng, False), between(rng, 1, 4)], np.int64, -6, 6) / 2
    return x.astype(pick(rng, types))


@recipe("TreeEnsembleRegressor", domain=ML)
def regressor(rng, _):
    x = samples(rng, (np.float32, np.float32, np.float64))
    targets = between(rng, 1, 3)
    attributes = old_form(rng, "target", x.shape[1], targets)
    attributes.update(
        given(
            n_targets=targets,
            aggregate_function=maybe(rng, pick(rng, ("SUM", "AVERAGE", "MIN", "MAX"))),
            post_transform=maybe(rng, pick(rng, TRANSFORMS), 0.3),
        )
    )
    return finished(x, attributes, attributes.get("post_transform", "NONE"), 3)


@recipe("TreeEnsembleClassifier", domain=ML)
def classifier(rng, _):
    x = samples(rng)
    # Two classes, or weights of only one class, have special rules, on which evaluators differ.
    classes = between(rng, 3, 4)
    attributes = old_form(rng, "class", x.shape[1], classes)
    while len(set(attributes["class_ids"])) < 2:
        attributes = old_form(rng, "class", x.shape[1], classes)
    if flip(rng):
        attributes["classlabels_strings"] = ["no", "yes", "maybe", "never"][:classes]
    else:
        attributes["classlabels_int64s"] = [int(n) for n in rng.permutation(9)[:classes]]
    # SOFTMAX_ZERO changes the order of scores: the evaluator chooses the label afterwards,
    # onnxruntime and Tartan before.
    attributes.update(given(post_transform=maybe(rng, pick(rng, TRANSFORMS[:3]), 0.4)))
    return Case([x], attributes, outputs=2, opset=3)


def new_tree(rng, depth, members):
    """A nested (feature, split, mode, true, false), or a leaf (target, weight)."""
    if depth == 0 or rng.random() < 0.15:
        return None
    mode = between(rng, 0, 6 if members else 5)
    return {
        "mode": mode,
        "true": new_tree(rng, depth - 1, members),
        "false": new_tree(rng, depth - 1, members),
    }


class Flat:
    """The attributes of TreeEnsemble, filled node by node."""

    def __init__(self, rng, dtype, features, targets):
        self.rng, self.dtype, self.features, self.targets = rng, dtype, features, targets
        self.nodes, self.leaves, self.sets = [], [], []

    def leaf(self):
        self.leaves.append((between(self.rng, 0, self.targets - 1), real(self.rng, -2, 2)))
        return len(self.leaves) - 1

    def add(self, tree):
        number = len(self.nodes)
        self.nodes.append(None)
        split = float(between(self.rng, -2, 2))
        if tree["mode"] == 6:
            split = float("nan")
            # A member 0 ends a set in the evaluator.
            members = {between(self.rng, -4, 4) for _ in range(3)} - {0}
            self.sets.append([float(v) for v in sorted(members | {1})])
        ends = []
        for side in ("true", "false"):
            child = tree[side]
            ends += [1, self.leaf()] if child is None else [0, self.add(child)]
        self.nodes[number] = (
            tree["mode"],
            between(self.rng, 0, self.features - 1),
            split,
            *ends,
            flip(self.rng),
        )
        return number

    def column(self, index):
        return [int(n[index]) for n in self.nodes]

    def tensor(self, name, values, kind=None):
        kind = kind or helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        return helper.make_tensor(name, kind, [len(values)], np.asarray(values))


@recipe("TreeEnsemble", domain=ML)
def tree_ensemble(rng, _):
    x = samples(rng, (np.float32, np.float32, np.float64))
    targets = between(rng, 1, 3)
    flat = Flat(rng, x.dtype, x.shape[1], targets)
    members = rng.random() < 0.3
    roots = []
    for _ in range(between(rng, 1, 3)):
        tree = None
        while tree is None:
            tree = new_tree(rng, between(rng, 1, 3), members)
        roots.append(flat.add(tree))
    attributes = {
        "n_targets": targets,
        "tree_roots": roots,
        "aggregate_function": between(rng, 0, 3),
        "nodes_modes": helper.make_tensor(
            "modes", TensorProto.UINT8, [len(flat.nodes)], flat.column(0)
        ),
        "nodes_featureids": flat.column(1),
        "nodes_splits": flat.tensor("splits", [n[2] for n in flat.nodes]),
        "nodes_trueleafs": flat.column(3),
        "nodes_truenodeids": flat.column(4),
        "nodes_falseleafs": flat.column(5),
        "nodes_falsenodeids": flat.column(6),
        "nodes_missing_value_tracks_true": flat.column(7),
        "leaf_targetids": [t for t, _ in flat.leaves],
        "leaf_weights": flat.tensor("weights", [w for _, w in flat.leaves]),
    }
    if flat.sets:
        values = [v for group in flat.sets for v in group + [float("nan")]]
        attributes["membership_values"] = flat.tensor("members", values)
    attributes["post_transform"] = pick(rng, (0, 0, 0, 1, 2, 3))
    return finished(x, attributes, TRANSFORMS[attributes["post_transform"]])
