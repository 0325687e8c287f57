# SPDX-License-Identifier: Apache-2.0
"""model.export to OpenVINO, LiteRT and SavedModel. The packages that write them are optional."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None or importlib.util.find_spec("onnx") is None:
    pytest.skip("Keras or onnx is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401

import keras
from keras import layers
from keras_tartan.src.onnx_export import formats


def _model():
    """A model with two inputs and two results."""
    keras.utils.set_random_seed(3)
    image, row = keras.Input((8, 8, 3), name="image"), keras.Input((4,), name="row")
    x = layers.Conv2D(5, 3, activation="relu")(image)
    x = layers.Flatten()(layers.MaxPooling2D()(layers.BatchNormalization()(x)))
    x = layers.Concatenate()([x, row])
    return keras.Model({"image": image, "row": row}, [layers.Dense(5, activation="softmax")(x), layers.Dense(1)(x)])


def _inputs():
    random = np.random.default_rng(0)
    return {"image": random.random((3, 8, 8, 3), "float32"), "row": random.random((3, 4), "float32")}


@pytest.mark.parametrize("format, ending, package", [
    ("openvino", ".xml", "openvino"), ("litert", ".tflite", "onnx2tf"), ("tf_saved_model", "", "onnx2tf")])
def test_a_missing_package_is_named(format, ending, package, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_has", lambda name: False)
    with pytest.raises(ImportError, match=f"needs the package {package} .*: pip install {package}$"):
        _model().export(tmp_path / f"model{ending}", format=format)
    assert not list(tmp_path.iterdir())


def test_wrong_names_and_options(tmp_path):
    with pytest.raises(ValueError, match="OpenVINO export requires the filepath to end with '.xml'"):
        _model().export(tmp_path / "model.onnx", format="openvino")
    with pytest.raises(ValueError, match="LiteRT export requires the filepath to end with '.tflite'"):
        _model().export(tmp_path / "model", format="litert")
    with pytest.raises(ValueError, match="export to LiteRT takes no optimizations"):
        _model().export(tmp_path / "model.tflite", format="litert", optimizations=[])


def test_a_converter_that_fails_is_named_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_has", lambda name: True)
    monkeypatch.setattr(formats, "_SCRIPT", tmp_path / "fails.py")
    (tmp_path / "fails.py").write_text("print('first'); raise KeyError('no such operator')")
    for name, format in (("model.tflite", "litert"), ("model", "tf_saved_model")):
        with pytest.raises(NotImplementedError, match="onnx2tf cannot convert the model to .*: KeyError: 'no such operator'$"):
            _model().export(tmp_path / name, format=format)
        assert not (tmp_path / name).exists()


def test_openvino_computes_the_same(tmp_path):
    openvino = pytest.importorskip("openvino")
    model = _model()
    model.export(tmp_path / "model.xml", format="openvino", verbose=False)
    core = openvino.Core()
    compiled = core.compile_model(str(tmp_path / "model.xml"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled(_inputs())
    for place, wanted in enumerate(model.predict(_inputs(), verbose=0)):
        np.testing.assert_allclose(found[place], wanted, rtol=1e-5, atol=1e-5)


_LOAD = """
import sys, numpy as np, tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
given = dict(np.load(sys.argv[1] + "/given.npz"))
inputs = {name: given[name] for name in ("image", "row")}
served = tf.saved_model.load(sys.argv[1] + "/served").serve({n: tf.constant(x) for n, x in inputs.items()})
runner = Interpreter(sys.argv[1] + "/model.tflite").get_signature_runner()
light = list(runner(**inputs).values())
light.sort(key=lambda x: -x.shape[1])
for k, (a, b) in enumerate(zip(served, light)):
    np.testing.assert_allclose(a, given[str(k)], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(b, given[str(k)], rtol=1e-4, atol=1e-4)
"""


def test_litert_and_a_saved_model_compute_the_same(tmp_path):
    pytest.importorskip("onnx2tf")
    model = _model()
    wanted = model.predict(_inputs(), verbose=0)
    model.export(tmp_path / "model.tflite", format="litert", verbose=False)
    model.export(tmp_path / "served", verbose=False)
    np.savez(tmp_path / "given.npz", **_inputs(), **{str(k): x for k, x in enumerate(wanted)})
    subprocess.run([sys.executable, "-c", _LOAD, str(tmp_path)], check=True, env=dict(os.environ, KERAS_BACKEND="tensorflow"))
