# SPDX-License-Identifier: Apache-2.0
"""tartan.explain reports the actual programs as text, numbers and HTML."""

import html.parser
import os
import pathlib
import re

os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401  (first: it patches Keras)
import keras
import numpy as np
import pytest
import tartan
from tartan import _core, _runtime

_DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"
_VOID = {"meta", "link", "br", "img", "input", "hr", "circle"}


class _Page(html.parser.HTMLParser):
    """Checks that tags are balanced, and collects their text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text, self.addresses = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def _matrices(*shapes):
    generator = np.random.default_rng(7)
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


def _two_products():
    return tartan.function(lambda a, b: tartan.exp(a @ b) @ b, name="chain")


@pytest.mark.parametrize("tier", ["ready", "exact"])
def test_kernels_are_those_that_run(tier):
    f = _two_products()
    a, b = _matrices((32, 48), (48, 48))
    found = tartan.explain(f, a, b, tier=tier)
    assert found.tier == tier
    (program,) = f._programs.values()
    inputs, states, values, name = program.parts
    device = _runtime.device()
    made = _core.Program.create(device, inputs, states, values, name, tier)
    made.bind([])
    hosts = [tartan.asarray(x).host() for x in (a, b)]
    ran = [kernel for kernel, *_ in made.profile(hosts)]
    assert made.kernels == len(ran) == sum(k["launches"] for k in found.kernels)
    launches = {k["name"]: k["launches"] for k in found.kernels if k["launches"]}
    assert launches == {name: ran.count(name) for name in ran}
    # The operations are two matmuls and the elementwise operations on their results.
    products = 2 * 32 * 48 * 48 * 2
    assert products <= sum(k["flops"] for k in found.kernels) <= 1.2 * products
    for kernel in found.kernels:
        assert f"void {kernel['name']}(" in kernel["source"]
        assert kernel["computes"] and kernel["operations"]
        assert all(n >= 1 for n in kernel["work_groups"] + kernel["work_group_size"])
    assert any("sum of mul" in text for k in found.kernels for text in k["operations"])


def test_exact_kernels_have_plans_with_their_costs():
    f = _two_products()
    a, b = _matrices((8, 16), (16, 16))
    found = tartan.explain(f, a, b, tier="exact")
    assert all(re.search("cycles [0-9]|flops, [0-9]+ groups", plan) for k in found.kernels for plan in k["plans"])
    assert any(k["plans"] for k in found.kernels)
    assert any(k["predicted_us"] is not None and k["predicted_us"] > 0 for k in found.kernels)
    assert all(k["measured_us"] is None for k in found.kernels)


def test_a_function_is_explained_with_the_kernels_that_it_has_now(monkeypatch):
    monkeypatch.setenv("TARTAN_HOST", "off")
    f = _two_products()
    a, b = _matrices((9, 17), (17, 17))
    with pytest.raises(ValueError, match="'chain' has not been captured"):
        tartan.explain(f)
    f(a, b)
    (program,) = f._programs.values()
    found = tartan.explain(f)
    assert found.tier == program.tier
    assert os.environ.get("TARTAN_TIER") != "exact" or found.tier == "exact"
    assert program.program.kernels == sum(k["launches"] for k in found.kernels)
    f(a[:3], b)
    assert len(tartan.explain(f).programs) == 2
    with pytest.raises(ValueError, match="2 programs"):
        tartan.explain(f).memory
    assert len(tartan.explain(f, a, b).programs) == 1 and f.signatures == 2


def test_memory_is_what_the_device_gives(monkeypatch):
    monkeypatch.setenv("TARTAN_HOST", "off")
    device = _runtime.device()
    weights = tartan.Variable(np.ones((64, 64), "float32"), name="weights")
    table = np.arange(4096, dtype="float32").reshape(64, 64)

    @tartan.function
    def step(x):
        y = x @ weights.value
        z = tartan.exp(y) @ tartan.asarray(table)
        weights.assign(weights.value + 1e-6 * (tartan.tanh(z).mT @ x))
        return tartan.sum(z)

    x = _matrices((32, 64))[0]
    before = device.memory["allocated"]
    step(x)
    memory = tartan.explain(step, x).memory
    # The table captured by the function is a variable that is only read.
    assert memory["variables"] == 2 * 64 * 64 * 4
    assert device.memory["allocated"] - before == memory["constants"] + memory["variables"] + memory["temporaries"]
    assert memory["peak"] <= memory["constants"] + memory["variables"] + memory["temporaries"] <= device.memory["peak"]
    (program,) = step._programs.values()
    assert program.program.memory == {"states": memory["variables"], "constants": memory["constants"],
                                      "scratch": memory["temporaries"], "peak": memory["peak"]}


def test_values_share_bytes_only_at_other_times():
    def deep(x, w):
        for _ in range(6):
            x = tartan.exp(-(x @ w))
        return x

    x, w = _matrices((64, 64), (64, 64))
    found = tartan.explain(tartan.function(deep), x, w, tier="exact")
    memory, buffers = found.memory, found.programs[0].buffers
    assert memory["temporaries"] < memory["unshared"]
    placed = [b for b in buffers if b["offset"] is not None]
    assert len(placed) >= 7 and any(b["shares_with"] for b in placed)
    by_name = {b["name"]: b for b in placed}
    assert len(by_name) == len(placed)
    for buffer in placed:
        assert buffer["offset"] >= 0 and buffer["offset"] + buffer["bytes"] <= memory["temporaries"]
        assert buffer["bytes"] == 4 * np.prod(buffer["shape"])
        first, last = buffer["steps"]
        assert 0 <= first <= last < found.programs[0].steps
        for name in buffer["shares_with"]:
            other = by_name[name]
            assert last < other["steps"][0] or other["steps"][1] < first
            assert buffer["name"] in other["shares_with"]


def test_a_profile_measures_and_changes_nothing():
    counter = tartan.Variable(np.zeros((64, 64), "float32"), name="counter")

    @tartan.function
    def step(x):
        counter.assign(counter.value + x)
        return tartan.sum(counter.value @ x)

    x = np.ones((64, 64), "float32")
    step(x)
    found = tartan.explain(step, x, profile=True)
    assert all(k["measured_us"] > 0 for k in found.kernels if k["launches"])
    np.testing.assert_array_equal(counter.numpy(), x)
    tartan.explain(step, profile=True)  # on zeros
    step(x)
    np.testing.assert_array_equal(counter.numpy(), 2 * x)
    assert "µs" in repr(found)


def test_times_of_another_program_are_refused():
    a, b = _matrices((4, 8), (8, 8))
    report = tartan.explain(_two_products(), a, b).programs[0]
    with pytest.raises(RuntimeError, match="1 times of launches do not fit 'chain', which has 2"):
        report.note_times([("other", 1.0)])


def test_the_page_is_whole_and_escapes_names(tmp_path):
    f = tartan.function(lambda a, b: tartan.exp(a @ b), name="<x> & \"y\"")
    a, b = _matrices((16, 16), (16, 16))
    found = tartan.explain(f, a, b, tier="exact")
    path = tmp_path / "page.html"
    found.save(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<x>" not in text and "http" not in text
    assert "color-scheme: light dark" in text
    page = _Page(text)
    assert {"html", "title", "table", "svg", "rect", "details", "pre"} <= set(page.seen) and page.addresses == []
    shown = "".join(page.text)
    assert "<x> & \"y\"" in shown
    for kernel in found.kernels:
        assert kernel["name"] in shown and kernel["source"] in shown
    # Every number in the kernel tables has a unit.
    numbers = re.findall(r"<td class=n data-v=\"[^\"]*\">([^<]*)</td>", text)
    assert numbers and all(re.search(r"(B|FLOP|µs|ms|s|%)$|^–$|^\d+( and \d+ at load)?$| of |^byte | to ", n)
                           for n in numbers)
    part = found._repr_html_()
    assert "<html" not in part and _Page(part).seen.count("svg") == 1


def test_the_text_has_a_line_for_each_kernel():
    a, b = _matrices((16, 16), (16, 16))
    found = tartan.explain(_two_products(), a, b)
    kernels, launches = repr(found).split("\nfusion, accepted (+) and refused (-):\n")
    lines = kernels.splitlines()
    assert len(lines) == 3 + len(found.kernels)
    assert len(re.findall(r"^  launch \d+: ", launches, re.MULTILINE)) == len(found.fusion)
    assert lines[0].startswith(f"chain(float32[16, 16], float32[16, 16]): {len(found.kernels)} ready kernels")
    assert "temporaries" in lines[1]


def test_plain_functions_methods_and_keywords():
    a, b = _matrices((4, 8), (8, 8))
    assert len(tartan.explain(lambda x, *, y: x @ y, a, y=b).kernels) == 1

    class Scale:
        @tartan.function
        def __call__(self, x):
            return x * 3 + 1

        @tartan.function
        def shift(self, x):
            return x + 1

    assert tartan.explain(Scale().shift, a).programs[0].name == "shift"


def test_lazy_tensors():
    a, b = _matrices((4, 8), (8, 8))
    lazy = tartan.exp(tartan.asarray(a) @ tartan.asarray(b))
    found = tartan.explain(lazy, profile=True)
    assert len(found.kernels) == 1 and found.kernels[0]["measured_us"] > 0
    np.testing.assert_allclose(lazy.numpy(), np.exp(a @ b), rtol=1e-5)
    with pytest.raises(ValueError, match="has its value already"):
        tartan.explain(lazy)
    with pytest.raises(TypeError, match="without arguments"):
        tartan.explain(tartan.exp(tartan.asarray(a)), a)


def test_sessions():
    x = np.zeros((2, 1, 28, 28), "float32")
    session = tartan.InferenceSession(str(_DIGITS), tier="ready")
    with pytest.raises(ValueError, match="run no program"):
        tartan.explain(session)
    with pytest.raises(ValueError, match="measured on inputs"):
        tartan.explain(session, profile=True)
    with pytest.raises(ValueError, match="has the tier"):
        tartan.explain(session, x, tier="exact")
    found = tartan.explain(session, x, profile=True)
    assert found.tier == "ready" and found.memory["constants"] > 70000 * 4
    feed = session._feed({session.get_inputs()[0].name: x})
    ran = [name for name, _ in session._session.profile(feed)]
    assert len(ran) == sum(k["launches"] for k in found.kernels)
    assert {k["name"] for k in found.kernels if k["launches"]} == set(ran)
    assert all(k["measured_us"] > 0 for k in found.kernels if k["launches"])
    exact = tartan.InferenceSession(str(_DIGITS), tier="exact")
    exact.run(None, {"x": x})
    assert tartan.explain(exact).tier == "exact"


def test_little_work_is_the_hosts():
    session = tartan.InferenceSession(str(_DIGITS))
    found = tartan.explain(session, {"x": np.zeros((1, 1, 28, 28), "float32")})
    if found.tier == "host":  # otherwise its exact kernels are on disk already
        assert found.kernels == [] and "without kernels" in repr(found)
        assert "without kernels" in "".join(_Page(found._repr_html_()).text)


def _model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def test_keras_models():
    model = _model()
    x, y = np.ones((8, 12), "float32"), np.zeros(8, "int32")
    with pytest.raises(ValueError, match="no step of the model"):
        tartan.explain(model)
    assert [p.name for p in tartan.explain(model, x).programs] == ["predict_step"]
    model.fit(x, y, batch_size=4, verbose=0)
    model.evaluate(x, y, batch_size=8, verbose=0)
    weights = [w.copy() for w in model.get_weights()]
    found = tartan.explain(model, profile=True)
    assert [p.name for p in found.programs] == ["train_step", "test_step", "predict_step"]
    assert {k["program"] for k in found.kernels} == {"train_step", "test_step", "predict_step"}
    variables = sum(int(np.prod(w.shape)) * 4 for w in weights)
    assert found.programs[2].memory["variables"] == variables
    assert found.programs[0].memory["variables"] > variables
    for before, after in zip(weights, model.get_weights()):
        np.testing.assert_array_equal(before, after)
    _Page(found._repr_html_())


def test_eager_models_are_refused():
    model = _model()
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="runs eagerly"):
        tartan.explain(model, np.ones((8, 12), "float32"))


@pytest.mark.parametrize("what", [3, "model", np.ones(3), None, tartan.Tensor])
def test_what_cannot_be_explained(what):
    with pytest.raises(TypeError, match="a function of tensors, a Keras model"):
        tartan.explain(what)


def test_wrong_options():
    with pytest.raises(ValueError, match="'ready' or 'exact', not 'quick'"):
        tartan.explain(lambda x: x, np.ones(3), tier="quick")

    @tartan.function
    def inner(x):
        tartan.explain(lambda y: y + 1, x)
        return x

    with pytest.raises(tartan.ConcretizationError, match="while a function is captured"):
        inner(np.ones(3, "float32"))


def test_separate_launches_have_a_reason():
    found = tartan.explain(_two_products(), *_matrices((32, 48), (48, 48)), tier="exact")
    first, second = found.fusion
    assert first["refused"] == []
    assert [decision["rule"] for decision in first["accepted"]] == ["epilogue"]
    assert {decision["launch"] for decision in second["refused"]} == {0}
    reasons = {decision["rule"]: decision["reason"] for decision in second["refused"]}
    assert "reduction" in reasons["epilogue"]
    assert all(d["producer"] and d["consumer"] and not d["accepted"] for d in second["refused"])
    assert "epilogue refused: " + reasons["epilogue"] in repr(found)
