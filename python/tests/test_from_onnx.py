# SPDX-License-Identifier: Apache-2.0
"""ONNX models as Keras layers: they compute the same results, train like the original model, and can be saved."""

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
import onnx
import tartan
from tartan import _onnx_file

import keras
from keras import layers
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(3)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def mlp():
    return keras.Sequential([keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(32, activation="gelu"),
                             layers.Dense(4)])


def cnn():
    """Its BatchNormalization is frozen and runs in inference mode."""
    frozen = layers.BatchNormalization(center=False, scale=False, trainable=False)
    return keras.Sequential([keras.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same"), frozen, layers.ReLU(),
                             layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
                             layers.GlobalAveragePooling2D(), layers.Dense(4)])


def transformer():
    inputs = keras.Input((6, 8))
    x = layers.LayerNormalization()(inputs + layers.MultiHeadAttention(2, 4)(inputs, inputs))
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))


_NETWORKS = {"mlp": (mlp, (20,)), "cnn": (cnn, (12, 12, 3)), "transformer": (transformer, (6, 8))}


def varied(model):
    random = np.random.default_rng(2)
    model.set_weights([(w + 0.1 * np.abs(random.standard_normal(w.shape))).astype(w.dtype) for w in model.get_weights()])
    return model


def pair(name, folder):
    """Returns a network and its export as a layer."""
    make, shape = _NETWORKS[name]
    model = varied(make())
    model.export(folder / "model.onnx", format="onnx", verbose=False)
    return model, keras.Sequential([keras.Input(shape), tartan.from_onnx(folder / "model.onnx", name="net")]), shape


def losses(model, x, y, steps=20):
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return [float(np.ravel(model.train_on_batch(x, y))[0]) for _ in range(steps)]


@pytest.mark.parametrize("name", _NETWORKS)
def test_networks_predict_and_learn_as_their_originals(name, tmp_path):
    model, layer, shape = pair(name, tmp_path)
    x, y = floats(16, *shape), RANDOM.integers(0, 4, 16)
    np.testing.assert_allclose(layer.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)
    ours, theirs = losses(layer, x, y), losses(model, x, y)
    assert theirs[-1] < 0.8 * theirs[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", _NETWORKS)
def test_an_exported_layer_is_the_model_that_it_was_made_from(name, tmp_path):
    _, layer, shape = pair(name, tmp_path)
    layer.export(tmp_path / "again.onnx", format="onnx", verbose=False)
    first, second = onnx.load(tmp_path / "model.onnx"), onnx.load(tmp_path / "again.onnx")
    onnx.checker.check_model(second, full_check=True)
    kinds = [[n.op_type for n in m.graph.node if n.op_type != "Constant"] for m in (first, second)]
    assert kinds[0] == kinds[1]
    assert len(first.graph.initializer) == len(second.graph.initializer)
    x = floats(3, *shape)
    results = [ReferenceEvaluator(m).run(None, {m.graph.input[0].name: x})[0] for m in (first, second)]
    np.testing.assert_array_equal(*results)


def test_what_was_learned_is_exported(tmp_path):
    model, layer, shape = pair("mlp", tmp_path)
    x, y = floats(16, *shape), RANDOM.integers(0, 4, 16)
    losses(layer, x, y, 5)
    layer.export(tmp_path / "again.onnx", format="onnx", verbose=False)
    written = onnx.load(tmp_path / "again.onnx")
    (found,) = ReferenceEvaluator(written).run(None, {written.graph.input[0].name: x})
    np.testing.assert_allclose(found, layer.predict(x, verbose=0), rtol=1e-5, atol=1e-5)
    assert not np.allclose(found, model.predict(x, verbose=0), atol=1e-3)


def test_a_saved_model_holds_the_layer(tmp_path):
    _, layer, shape = pair("cnn", tmp_path)
    x, y = floats(16, *shape), RANDOM.integers(0, 4, 16)
    losses(layer, x, y, 3)
    layer.save(tmp_path / "saved.keras")
    os.remove(tmp_path / "model.onnx")
    loaded = keras.models.load_model(tmp_path / "saved.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), layer.predict(x, verbose=0))
    np.testing.assert_allclose(losses(loaded, x, y, 3), losses(layer, x, y, 3), rtol=1e-5)


def test_a_saved_model_is_loaded_by_another_process(tmp_path):
    _, layer, shape = pair("mlp", tmp_path)
    x = floats(2, *shape)
    layer.save(tmp_path / "saved.keras")
    np.save(tmp_path / "x.npy", x)
    code = ("import keras_tartan, keras, numpy, sys; m = keras.models.load_model(sys.argv[1] + '/saved.keras'); "
            "numpy.save(sys.argv[1] + '/y.npy', m.predict(numpy.load(sys.argv[1] + '/x.npy'), verbose=0))")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), layer.predict(x, verbose=0))


def test_statistics_and_integers_are_not_trained(tmp_path):
    model = keras.Sequential([keras.Input((6, 6, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.Flatten(),
                              layers.Dense(2)])
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    layer = tartan.from_onnx(tmp_path / "model.onnx")
    assert sorted(len(v.shape) for v in layer.non_trainable_weights) == [1, 1]
    assert all("moving" in v.path for v in layer.non_trainable_weights)
    assert len(layer.trainable_weights) == 6
    frozen = tartan.from_onnx(tmp_path / "model.onnx", trainable=False)
    assert not frozen.trainable_weights and len(frozen.weights) == 8


def _proto(nodes, inputs, outputs, initializers):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _value(name, *dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def _others():
    """A model not written by this package's exporter: two inputs, one with a default, and two outputs."""
    weights = {"w": floats(4, 3), "b": floats(3), "low": np.float32(0.0), "high": np.float32(6.0),
               "scales": np.array([1, 1, 2, 2], "float32"), "shape": np.array([-1, 3, 1, 1], "int64"),
               "shift": floats(3)}
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Clip", ["h", "low", "high"], ["c"]),
             helper.make_node("Reshape", ["c", "shape"], ["r"]), helper.make_node("Resize", ["r", "", "scales"], ["y"]),
             helper.make_node("Add", ["c", "shift"], ["z"])]
    return _proto(nodes, [_value("x", "n", 4), _value("shift", 3)], [_value("y", "n", 3, 2, 2), _value("z", "n", 3)],
                  [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()])


def test_models_of_others(tmp_path):
    proto = _others()
    layer = tartan.from_onnx(proto.SerializeToString())
    assert {v.name for v in layer.weights} == {"w", "b"}  # no constants that decide shapes or bounds
    x = floats(5, 4)
    for ours, theirs in zip(layer(x), ReferenceEvaluator(proto).run(None, {"x": x})):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)
    shift = floats(3)
    for given in ({"x": x, "shift": shift}, [x, shift]):
        np.testing.assert_allclose(np.asarray(layer(given)[1]),
                                   ReferenceEvaluator(proto).run(None, {"x": x, "shift": shift})[1], rtol=1e-5, atol=1e-6)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    assert [tuple(y.shape) for y in model.outputs] == [(None, 3, 2, 2), (None, 3)]
    model.export(tmp_path / "again.onnx", format="onnx", verbose=False, opset_version=18)
    again = onnx.load(tmp_path / "again.onnx")
    for ours, theirs in zip(ReferenceEvaluator(again).run(None, {again.graph.input[0].name: x}), layer(x)):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-5, atol=1e-6)


def test_recurrent_models_learn(tmp_path):
    model = keras.Sequential([keras.Input((5, 4)), layers.LSTM(6, return_sequences=True), layers.GRU(3), layers.Dense(4)])
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    layer = keras.Sequential([keras.Input((5, 4)), tartan.from_onnx(tmp_path / "model.onnx")])
    x, y = floats(8, 5, 4), RANDOM.integers(0, 4, 8)
    np.testing.assert_allclose(layer.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)
    curve = losses(layer, x, y)
    assert curve[-1] < 0.9 * curve[0]


def test_statistics_of_batches_where_it_is_asked_for(tmp_path):
    """Compares with Keras' BatchNormalization, set to ONNX's momentum.

    The convolution has no bias: the loss does not depend on one, so that its gradient is rounding, which Adam makes to
    steps of the learning rate.
    """
    make = lambda: keras.Sequential([  # noqa: E731
        keras.Input((6, 6, 3)), layers.Conv2D(4, 3, use_bias=False), layers.BatchNormalization(momentum=0.9),
        layers.ReLU(), layers.Flatten(), layers.Dense(4)])
    model = varied(make())
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    layer = keras.Sequential([keras.Input((6, 6, 3)), tartan.from_onnx(tmp_path / "model.onnx", training=True)])
    x, y = floats(16, 6, 6, 3), RANDOM.integers(0, 4, 16)
    np.testing.assert_allclose(losses(layer, x, y), losses(model, x, y), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-5)
    layer.save(tmp_path / "saved.keras")
    loaded = keras.models.load_model(tmp_path / "saved.keras")
    np.testing.assert_allclose(losses(loaded, x, y, 3), losses(layer, x, y, 3), rtol=1e-5)


def test_data_in_a_file_of_their_own(tmp_path):
    proto = onnx.load_from_string(_others().SerializeToString())
    onnx.save(proto, tmp_path / "model.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
    layer = tartan.from_onnx(tmp_path / "model.onnx")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "saved.keras")
    x = floats(2, 4)
    loaded = keras.models.load_model(tmp_path / "saved.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0)[1], model.predict(x, verbose=0)[1])
    with open(tmp_path / "model.onnx", "r+b") as file:
        file.write(b"\x08\x07")  # another version
    with pytest.raises(Exception, match="checksum"):
        keras.models.load_model(tmp_path / "saved.keras")


@pytest.mark.parametrize("given, message", [
    (np.zeros((2, 5), "float32"), r"takes the shape \['n', 4\] for its input 'x'. Received: \[2, 5\]"),
    (np.zeros((2, 4), "int32"), "takes float32 for its input 'x'. Received: int32"),
    (np.zeros(4, "float32"), r"Received: \[4\]"),
    ({"y": np.zeros((2, 4), "float32")}, "unknown are .'y'."),
    ({"shift": np.zeros(3, "float32")}, "missing are .'x'."),
    ([np.zeros((2, 4), "float32")] * 3, "has 2 inputs: it was called with 3"),
])
def test_wrong_inputs(given, message):
    with pytest.raises(ValueError, match=message):
        tartan.from_onnx(_others().SerializeToString())(given)


def test_wrong_models(tmp_path):
    with pytest.raises(FileNotFoundError):
        tartan.from_onnx(tmp_path / "nothing.onnx")
    (tmp_path / "text.onnx").write_text("this is no model")
    with pytest.raises(ValueError, match="text.onnx"):
        tartan.from_onnx(tmp_path / "text.onnx")
    dropped = _proto([helper.make_node("Dropout", ["x"], ["y"])], [_value("x", 2)], [_value("y", 2)], [])
    with pytest.raises(NotImplementedError, match="Dropout"):
        tartan.from_onnx(dropped.SerializeToString(), training=True)


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(RuntimeError, match="has the backend 'torch': set KERAS_BACKEND=tartan"):
        tartan.from_onnx(b"")


def test_without_keras_the_message_says_what_to_install():
    code = ("import sys; sys.modules['keras'] = None; import tartan\n"
            "try: tartan.from_onnx(b'')\nexcept ImportError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'keras>=3.15,<3.17'" in done.stdout, done.stderr[-2000:]


def test_a_file_is_read_as_the_package_onnx_does():
    proto = _others()
    data = proto.SerializeToString()
    graph = _onnx_file.read(data)
    assert [(n.op, n.inputs) for n in graph.nodes] == [(n.op_type, list(n.input)) for n in proto.graph.node]
    assert [i.name for i in graph.initializers] == [i.name for i in proto.graph.initializer]
    emptied = onnx.load_from_string(_onnx_file.without_data(data, {"w"}))
    for before, after in zip(proto.graph.initializer, emptied.graph.initializer):
        wanted = numpy_helper.to_array(before) * (0 if before.name == "w" else 1)
        np.testing.assert_array_equal(numpy_helper.to_array(after), wanted)
    for cut in range(1, len(data), 7):
        try:
            _onnx_file.read(data[:cut])
        except (ValueError, UnicodeDecodeError):
            pass
