#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/frontend/generate/data/NAME.onnx and NAME.tokens. The models are tiny decoders with
random weights, in the forms in which decoders are exported. A .tokens file has a prompt, a line
with the tokens that onnxruntime chooses greedily, and a line with its scores after the last one.
Needs onnx and onnxruntime.

With --large FOLDER: decoders as large as GPT-2 (124 M parameters), for measurements."""
import argparse
import itertools
import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

FLOAT, INT = T.FLOAT, T.INT64


class Builder:
    def __init__(self, seed, vocabulary=61, width=16, heads=2, kv_heads=2, layers=2, positions=96):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.vocabulary, self.width, self.heads, self.kv_heads = vocabulary, width, heads, kv_heads
        self.layers, self.positions, self.size = layers, positions, width // heads
        self.count = 0

    def name(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def const(self, value, dtype=np.int64):
        name = self.name("c")
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, *shape, scale=None):
        scale = scale if scale is not None else 1.2 / np.sqrt(shape[0])
        name = self.name("w")
        value = (self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        made = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(h.make_node(kind, list(inputs), made, **attributes))
        return made[0] if outputs == 1 else made

    def give(self, value, name):
        self.nodes.append(h.make_node("Identity", [value], [name]))

    def input(self, name, kind, dims):
        self.inputs.append(h.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, name, kind, dims):
        self.outputs.append(h.make_tensor_value_info(name, kind, dims))

    def size_of(self, value, axis):
        return self.op("Shape", value, start=axis, end=axis + 1)

    def scalar(self, value):
        return self.op("Squeeze", value, self.const([0]))

    def norm(self, x):
        return self.op("LayerNormalization", x, self.const(np.ones(self.width), np.float32),
                       self.const(np.zeros(self.width), np.float32), axis=-1)

    def split(self, x, heads):  # [B, S, H * D] -> [B, H, S, D]
        shape = self.op("Reshape", x, self.const([0, 0, heads, self.size]))
        return self.op("Transpose", shape, perm=[0, 2, 1, 3])

    def rotate(self, x, positions):
        half = self.size // 2
        speed = self.const([[1.0 / 100 ** (i / half) for i in range(half)]], np.float32)
        angle = self.op("Mul", self.op("Unsqueeze", self.op("Cast", positions, to=FLOAT), self.const([2])), speed)
        cos, sin = (self.op("Unsqueeze", self.op(f, angle), self.const([1])) for f in ("Cos", "Sin"))
        a, b = self.op("Split", x, self.const([half, half]), outputs=2, axis=-1)
        return self.op("Concat", self.op("Sub", self.op("Mul", a, cos), self.op("Mul", b, sin)),
                       self.op("Add", self.op("Mul", b, cos), self.op("Mul", a, sin)), axis=-1)

    def attend(self, form, y, past, total):
        """An attention operator with a built-in cache; returns its result and the cache."""
        project = lambda n: self.op("MatMul", y, self.weight(self.width, n * self.size))
        query, key, value = (project(n) for n in (self.heads, self.kv_heads, self.kv_heads))
        if form == "attention":
            made = self.op("Attention", query, key, value, "", *past, outputs=3, is_causal=1,
                           q_num_heads=self.heads, kv_num_heads=self.kv_heads)
        elif form == "multihead":
            made = self.op("MultiHeadAttention", query, key, value, "", "", "", *past, outputs=3,
                           domain="com.microsoft", num_heads=self.heads, unidirectional=1)
        else:
            angles = np.arange(self.positions)[:, None] / 100 ** (np.arange(self.size // 2) / (self.size // 2))
            made = self.op("GroupQueryAttention", query, key, value, *past, *total, self.const(np.cos(angles), np.float32),
                           self.const(np.sin(angles), np.float32), outputs=3, domain="com.microsoft", do_rotary=1,
                           num_heads=self.heads, kv_num_heads=self.kv_heads,
                           **({"local_window_size": 12} if form == "window" else {}))
        return made[0], made[1:]

    def block(self, x, mask, past, rotary):
        """`past` has the names of the past key and value; returns x and the present key and
        value."""
        y = self.norm(x)
        if mask[0] == "operator":
            joined, present = self.attend(mask[1], y, past, mask[2])
            return self.after(x, joined), present
        query, key, value = (self.split(self.op("MatMul", y, self.weight(self.width, n * self.size)), n)
                             for n in (self.heads, self.kv_heads, self.kv_heads))
        if rotary:
            query, key = self.rotate(query, rotary), self.rotate(key, rotary)
        present = [key, value] if past is None else [
            self.op("Concat", before, now, axis=2) for before, now in zip(past, (key, value))]
        key, value = present
        if self.kv_heads != self.heads:
            each = self.heads // self.kv_heads
            def repeat(t):
                wide = self.op("Expand", self.op("Unsqueeze", t, self.const([2])), self.const([1, 1, each, 1, 1]))
                return self.op("Reshape", wide, self.const([0, self.heads, -1, self.size]))
            key, value = repeat(key), repeat(value)
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.const(1 / np.sqrt(self.size), np.float32))
        if mask[0] == "add":
            scores = self.op("Add", scores, mask[1])
        else:
            scores = self.op("Where", mask[1], scores, self.const(-1e9, np.float32))
        weighed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        joined = self.op("Reshape", self.op("Transpose", weighed, perm=[0, 2, 1, 3]), self.const([0, 0, self.width]))
        return self.after(x, joined), present

    def after(self, x, joined):
        x = self.op("Add", x, self.op("MatMul", joined, self.weight(self.width, self.width)))
        y = self.op("MatMul", self.norm(x), self.weight(self.width, 4 * self.width))
        gelu = self.op("Mul", y, self.op("Sigmoid", self.op("Mul", y, self.const(1.702, np.float32))))
        return self.op("Add", x, self.op("MatMul", gelu, self.weight(4 * self.width, self.width)))

    def causal(self, before, now, adds=False):
        """[S, P + S]: the tokens that each token sees; and the positions. `adds`: these are a range from 0 to which
        the length of the cache is added."""
        total = self.op("Add", before, now)
        one = self.const(1)
        if adds:
            rows = self.op("Add", self.scalar(before), self.op("Range", self.const(0), self.scalar(now), one))
        else:
            rows = self.op("Range", self.scalar(before), self.scalar(total), one)
        columns = self.op("Range", self.const(0), self.scalar(total), one)
        seen = self.op("LessOrEqual", self.op("Unsqueeze", columns, self.const([0])),
                       self.op("Unsqueeze", rows, self.const([1])))
        return rows, seen

    def model(self):
        graph = h.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.weights)
        made = h.make_model(graph, opset_imports=[
            h.make_opsetid("", 23 if any(n.op_type == "Attention" for n in self.nodes) else 17),
            h.make_opsetid("com.microsoft", 1)], ir_version=10)
        if made.ByteSize() < 1 << 30:
            onnx.checker.check_model(made)
        return made


def decoder(form, seed, **sizes):
    """Forms: masked (attention_mask, position_ids), rotary (the same, with fewer key heads), plain (positions
    from the cache's length), added (the length is added to a range from 0), sliced (those positions by Slice), joint (key and value in one), whole (no cache).
    Operators with the cache in them: attention (ai.onnx), multihead, grouped and window (com.microsoft).
    in_half converts a form to float16."""
    b = Builder(seed, kv_heads=1 if form in ("rotary", "grouped", "window") else sizes.get("heads", 2),
                **{k: v for k, v in sizes.items()})
    ids = b.input("input_ids", INT, ["batch", "length"])
    grouped = form in ("grouped", "window")
    masked = form in ("masked", "rotary")
    if masked or grouped:
        b.input("attention_mask", INT, ["batch", "total"])
    if masked:
        b.input("position_ids", INT, ["batch", "length"])
    pasts = []
    for layer in range(b.layers if form != "whole" else 0):
        dims = ["batch", b.kv_heads, "past", b.size]
        if form == "joint":
            pasts.append(b.input(f"past_{layer}", FLOAT, [2] + dims))
        else:
            pasts.append([b.input(f"past_key_values.{layer}.{part}", FLOAT, dims) for part in ("key", "value")])
    now = b.size_of(ids, 1)
    before = b.const([0])
    if form == "joint":
        before = b.size_of("past_0", 3)
    elif form != "whole":
        before = b.size_of("past_key_values.0.key", 2)
    rows, seen = b.causal(before, now, adds=form == "added")
    positions = "position_ids" if masked else b.op("Unsqueeze", rows, b.const([0]))
    x = b.op("Gather", b.weight(b.vocabulary, b.width, scale=1), ids)
    if form == "sliced":
        table = b.op("Slice", b.weight(b.positions, b.width, scale=1), before, b.op("Add", before, now), b.const([0]))
        x = b.op("Add", x, b.op("Unsqueeze", table, b.const([0])))
    elif form != "rotary" and not grouped:
        x = b.op("Add", x, b.op("Gather", b.weight(b.positions, b.width, scale=1), positions))
    mask = ("where", seen)
    if masked:
        there = b.op("Unsqueeze", b.op("Cast", "attention_mask", to=T.BOOL), b.const([1, 2]))
        both = b.op("And", there, seen)
        mask = ("add", b.op("Where", both, b.const(0, np.float32), b.const(-3.4e38, np.float32)))
    if form in ("attention", "multihead") or grouped:
        last = b.op("Sub", b.op("ReduceSum", "attention_mask", b.const([1]), keepdims=0), b.const(1)) if grouped else ""
        total = b.op("Gather", b.op("Shape", "attention_mask"), b.const(1)) if grouped else ""
        mask = ("operator", form, [b.op("Cast", t, to=T.INT32) for t in (last, total)] if grouped else [])
    for layer in range(b.layers):
        past = pasts[layer] if pasts else None
        if form == "joint":
            past = [b.op("Gather", pasts[layer], b.const(i), axis=0) for i in (0, 1)]
        x, present = b.block(x, mask, past, positions if form == "rotary" else None)
        if form == "joint":
            pair = [b.op("Unsqueeze", part, b.const([0])) for part in present]
            b.give(b.op("Concat", *pair, axis=0), f"present_{layer}")
            b.output(f"present_{layer}", FLOAT, [2, "batch", b.kv_heads, "total", b.size])
        elif form != "whole":
            for part, value in zip(("key", "value"), present):
                b.give(value, f"present.{layer}.{part}")
                b.output(f"present.{layer}.{part}", FLOAT, ["batch", b.kv_heads, "total", b.size])
    b.give(b.op("MatMul", b.norm(x), b.weight(b.width, b.vocabulary)), "logits")
    b.output("logits", FLOAT, ["batch", "length", b.vocabulary])
    return b.model()


def recurrent(seed):
    """Processes one token at a time, with a state h."""
    b = Builder(seed)
    b.input("input_ids", INT, [1, 1])
    b.input("h_in", FLOAT, [1, b.width])
    x = b.op("Gather", b.weight(b.vocabulary, b.width, scale=2), b.op("Squeeze", "input_ids", b.const([1])))
    state = b.op("Tanh", b.op("Add", x, b.op("MatMul", "h_in", b.weight(b.width, b.width))))
    b.give(state, "h_out")
    b.give(b.op("MatMul", state, b.weight(b.width, b.vocabulary)), "logits")
    b.output("logits", FLOAT, [1, b.vocabulary])
    b.output("h_out", FLOAT, [1, b.width])
    return b.model()


def in_half(model):
    """The model in float16."""
    for tensor in model.graph.initializer:
        if tensor.data_type == FLOAT:
            value = np.clip(numpy_helper.to_array(tensor), -6e4, 6e4).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = T.FLOAT16
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == FLOAT:
                attribute.i = T.FLOAT16
    return model


def quantized(model):
    """The model with int8 matmuls, whose activations are quantized over the range of their
    values."""
    import tempfile
    from onnxruntime.quantization import quantize_dynamic
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / name) for name in ("model.onnx", "quantized.onnx")]
        onnx.save(model, paths[0])
        quantize_dynamic(*paths)
        return onnx.load(paths[1])


def feeds_for(session, now, before, states):
    values = dict(states)
    for one in session.get_inputs():
        if one.name == "input_ids":
            values[one.name] = np.array([now], np.int64)
        elif one.name == "attention_mask":
            values[one.name] = np.ones((1, before + len(now)), np.int64)
        elif one.name == "position_ids":
            values[one.name] = np.arange(before, before + len(now))[None]
        elif one.name not in values:
            shape = [{"batch": 1, "past": 0}.get(d, d) for d in one.shape]
            values[one.name] = np.zeros(shape, np.float16 if "16" in one.type else np.float32)
    return values


def past_of(present):
    return {"h_out": "h_in"}.get(present, present.replace("present.", "past_key_values.").replace("present_", "past_"))


def generate(model, prompt, count):
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    has_cache = len(names) > 1
    single = session.get_inputs()[0].shape[1] == 1
    states, tokens, read = {}, list(prompt), 0
    while True:
        now = tokens[read:] if has_cache else tokens
        if single:
            now = now[:1]
        results = dict(zip(names, session.run(None, feeds_for(session, now, read if has_cache else 0, states))))
        read += len(now)
        if single and read < len(tokens):
            states = {past_of(n): v for n, v in results.items() if n != "logits"}
            continue
        scores = results["logits"].reshape(-1, results["logits"].shape[-1])[-1]
        if len(tokens) == len(prompt) + count:
            return tokens[len(prompt):], scores
        states = {past_of(n): v for n, v in results.items() if n != "logits"}
        order = np.sort(scores)
        if order[-1] - order[-2] < (0.05 if scores.dtype == np.float16 else 1e-3):
            return None  # scores too close for a stable choice
        tokens.append(int(scores.argmax()))
        if not has_cache:
            read = 0


FORMS = ["masked", "rotary", "plain", "sliced", "joint", "whole", "attention", "multihead", "grouped", "window", "half", "quantized", "added"]
# Heads of 16, as onnxruntime requires.
SIZES = {form: {"width": 32, "layers": 1} for form in ("grouped", "window")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--large")
    large = arguments.parse_args().large
    if large:
        for form in ("masked", "plain"):
            model = decoder(form, 1, vocabulary=50257, width=768, heads=12, layers=12, positions=1024)
            onnx.save(model, str(pathlib.Path(large) / f"{form}.onnx"))
        return
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests/frontend/generate/data"
    for i, form in enumerate(FORMS[:6] + ["recurrent"] + FORMS[6:]):
        prompt = [3, 14, 15, 9, 2, 6]
        for seed in itertools.count(i, 100):
            if form == "recurrent":
                model = recurrent(seed)
            elif form == "half":
                model = in_half(decoder("masked", seed))
            elif form == "quantized":
                model = quantized(decoder("plain", seed))
            else:
                model = decoder(form, seed, **SIZES.get(form, {}))
            made = generate(model, prompt, 40)
            if made:
                break
        tokens, scores = made
        (folder / f"{form}.onnx").write_bytes(model.SerializeToString())
        lines = [prompt, tokens, [f"{s:.6g}" for s in scores]]
        (folder / f"{form}.tokens").write_text("\n".join(" ".join(map(str, line)) for line in lines) + "\n")
        print(form, tokens)


if __name__ == "__main__":
    main()
