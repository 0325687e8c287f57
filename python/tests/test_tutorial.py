# SPDX-License-Identifier: Apache-2.0
"""The tutorial notebook runs, and its statements are true."""

import html.parser
import importlib.util
import json
import os
import pathlib
import re

import numpy as np
import pytest
import tartan

_ROOT = pathlib.Path(__file__).parents[2]
_TUTORIAL = _ROOT / "examples/python/tutorial.ipynb"


@pytest.fixture(scope="module")
def kept():
    """The notebook as stored in the repository."""
    return json.loads(_TUTORIAL.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ran():
    """The executed notebook and the names defined by its cells."""
    spec = importlib.util.spec_from_file_location("notebook", _ROOT / "scripts/notebook.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    notebook = json.loads(_TUTORIAL.read_text(encoding="utf-8"))
    before = os.getcwd()
    os.chdir(_TUTORIAL.parent)
    try:
        names = runner.run(notebook)
    finally:
        os.chdir(before)
    return notebook, names


def _printed(notebook):
    return "".join(text for cell in notebook["cells"] for output in cell.get("outputs", ())
                   for text in output.get("text", ()))


def test_a_network_learns_digits(ran):
    _, names = ran
    assert names["x"].shape == (1500, 28, 28, 1) and names["x_test"].shape == (300, 28, 28, 1)
    losses = names["history"]["loss"]
    assert len(losses) == 6 and losses[-1] < 0.2 * losses[0]
    # A linear classifier reaches 80 %, chance is 10 %.
    assert names["accuracy"] > 0.88 and names["sharpened_accuracy"] > 0.88
    assert names["accuracy"] == pytest.approx(np.mean(names["mine"] == names["y_test"]), abs=1e-6)
    assert names["onnx_accuracy"] > 0.98


def test_explain_says_what_the_text_says(ran):
    _, names = ran
    kernels = names["prediction"].kernels
    operations = [text for kernel in kernels for text in kernel["operations"]]
    # Each layer is one kernel: two convolutions and two dense layers.
    assert sorted(operations) == ["sum of mul; add"] + 3 * ["sum of mul; add, relu"]
    assert all(kernel["measured_us"] > 0 for kernel in kernels if kernel["launches"])
    steps = [program.name for program in tartan.explain(names["model"]).programs]
    assert steps.count("train_step") == 1 and steps.count("test_step") == 3


def test_values_agree_with_numpy(ran):
    _, names = ran
    np.testing.assert_allclose(np.asarray(names["lazy"]), names["by_numpy"], atol=1e-5)
    np.testing.assert_allclose(names["slopes"], np.sin(2 * names["v"]), atol=1e-5)
    images = names["x"][:6]
    np.testing.assert_allclose(names["sharpened"], names["sharpen_by_numpy"](images, 1.5), atol=1e-5)


def test_the_gradient_of_the_operation_agrees_with_differences(ran):
    _, names = ran
    by_pixels = np.asarray(names["by_pixels"])
    assert by_pixels.shape == (1, 28, 28, 1)
    for row in range(0, 28, 3):
        for column in range(0, 28, 3):
            assert by_pixels[0, row, column, 0] == pytest.approx(names["difference_at"](row, column), abs=1e-4)
    pixels, weight = names["pixels"].astype("float64"), names["weight"]
    more, less = [(names["sharpen_by_numpy"](pixels, a) * weight).sum() for a in (1.0, 0.0)]
    assert float(names["by_amount"]) == pytest.approx(more - less, abs=1e-3)
    # The layer's weight started at zero and was trained by that gradient.
    assert abs(float(names["layer"].amount)) > 1e-3


def test_outputs_are_kept_and_are_those_of_these_cells(kept, ran):
    notebook, _ = ran
    for before, after in zip(kept["cells"], notebook["cells"]):
        if before["cell_type"] != "code":
            continue
        assert before["execution_count"] == after["execution_count"]
        forms = [[(o["output_type"], sorted(o.get("data", ()))) for o in cell["outputs"]] for cell in (before, after)]
        assert forms[0] == forms[1], "run scripts/notebook.py on the tutorial"
    assert _printed(kept).count("largest difference") == _printed(notebook).count("largest difference") == 2
    assert not re.search(r"/(home|tmp|work|root|usr)/|0x[0-9a-f]{8}", json.dumps(kept))


def test_it_downloads_nothing_and_needs_no_plots(kept):
    code = "".join(line for cell in kept["cells"] if cell["cell_type"] == "code" for line in cell["source"])
    assert "http" not in code.replace("http://www.w3.org/2000/svg", "")
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.M))
    assert imported == {"os", "sys", "draw", "keras", "keras_tartan", "numpy", "tartan"}


def test_what_it_names_is_there(kept):
    text = "".join(line for cell in kept["cells"] if cell["cell_type"] == "markdown" for line in cell["source"])
    named = re.findall(r"`((?:python|tile|docs|examples|scripts)/[\w/.]+)`", text)
    assert len(named) >= 4
    for name in named:
        assert (_ROOT / name).exists(), name


def test_pages_in_it_are_whole(ran):
    notebook, _ = ran
    pages = ["".join(output["data"]["text/html"]) for cell in notebook["cells"] for output in cell.get("outputs", ())
             if "text/html" in output.get("data", ())]
    assert len(pages) == 1
    tags = []

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append(tag)

        def handle_endtag(self, tag):
            assert tags.pop() == tag

    Tags(convert_charrefs=True).feed(pages[0])
    assert tags == []
