# SPDX-License-Identifier: Apache-2.0
"""Tartan as a Keras backend: import hook, captured steps, control flow and derivatives. Runs in a separate process
because of its backend."""

import importlib.util
import inspect
import json
import os
import zipfile

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan
import tartan
from keras_mlp import data as _data, mlp as _mlp
from keras_tartan import _hook

import keras
from keras import layers, ops


def test_a_version_of_keras_that_looks_otherwise_is_refused():
    with pytest.raises(ImportError, match="<3.17\" .there are 0 places in keras.src.layers.layer"):
        _hook.patched("keras.src.layers.layer", "elif something_else:\n")


def test_installing_twice_changes_nothing():
    import sys

    before = list(sys.meta_path)
    keras_tartan.install()
    assert sys.meta_path == before


def _programs(monkeypatch):
    from tartan import _core

    made = []
    create = _core.Program.create

    class Counting:
        @staticmethod
        def create(*args, **kwargs):
            if args[5] == "soonest":  # the background creates exact ones from them
                made.append(args[4])
            return create(*args, **kwargs)

    monkeypatch.setattr("tartan._function._core", _Stand(_core, Counting))
    return made


class _Stand:
    """A module with another Program."""

    def __init__(self, module, program):
        self._module, self.Program = module, program

    def __getattr__(self, name):
        return getattr(self._module, name)


def test_building_a_model_compiles_nothing(monkeypatch):
    made = _programs(monkeypatch)
    model = _mlp(metrics=["mae"])
    assert model.output_shape == (None, 2)
    assert made == []


def test_a_step_is_captured_once_for_each_signature(monkeypatch):
    made = _programs(monkeypatch)
    model = _mlp()
    x, y = _data(20)
    model.fit(x, y, batch_size=8, epochs=3, verbose=0)
    assert made == ["train_step"] * 2  # 8 rows, and the last 4
    model.evaluate(x, y, batch_size=20, verbose=0)
    model.predict(x, batch_size=20, verbose=0)
    assert made == ["train_step"] * 2 + ["test_step", "predict_step"]


def test_dropout_takes_new_numbers_in_each_captured_step():
    model = keras.Sequential([keras.Input((64,)), layers.Dropout(0.5, seed=3)])
    step = tartan.function(lambda x: model(x, training=True))
    ones = np.ones((1, 64), "float32")
    first, second = step(ones).numpy(), step(ones).numpy()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert (first != second).any()


def test_a_model_is_the_same_after_saving(tmp_path):
    model = _mlp()
    x, y = _data(12)
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    assert int(again.optimizer.iterations.value) == int(model.optimizer.iterations.value) == 1
    for ours, theirs in zip(again.optimizer.variables, model.optimizer.variables):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("name, module", [("Adam", "torch.optimizers.torch_adam"), ("SGD", "torch.optimizers.torch_sgd")])
def test_an_optimizer_saved_with_another_backend_is_loaded(tmp_path, name, module):
    model = _mlp()
    model.compile(getattr(keras.optimizers, name)(0.25), "mse")
    model.fit(*_data(12), verbose=0)
    model.save(tmp_path / "ours.keras")
    with zipfile.ZipFile(tmp_path / "ours.keras") as ours, zipfile.ZipFile(tmp_path / "theirs.keras", "w") as theirs:
        for item in ours.namelist():
            content = ours.read(item)
            if item == "config.json":
                config = json.loads(content)
                config["compile_config"]["optimizer"]["module"] = f"keras.src.backend.{module}"
                content = json.dumps(config).encode()
            theirs.writestr(item, content)
    loaded = keras.models.load_model(tmp_path / "theirs.keras").optimizer
    assert type(loaded) is getattr(keras.optimizers, name) and float(loaded.learning_rate) == 0.25
    assert int(loaded.iterations.value) == 1


def test_line_by_line_gives_the_same_losses():
    weights = None
    curves = []
    for eagerly in (False, True):
        model = _mlp(run_eagerly=eagerly)
        weights = weights or model.get_weights()
        model.set_weights(weights)
        x, y = _data(12)
        curves.append([float(model.train_on_batch(x, y)) for _ in range(5)])
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-5)


def test_branches_of_a_captured_step_write_to_variables():
    total = keras.Variable(np.float32(0))
    other = keras.Variable(np.float32(0))

    @tartan.function
    def step(x):
        def positive():
            total.assign_add(x)
            return x * 2.0

        def negative():
            other.assign_sub(x)
            return x * 3.0

        return ops.cond(x > 0, positive, negative)

    results = [float(step(np.float32(v))) for v in (1, -2, 4)]
    assert results == [2, -6, 8]
    assert (float(total.value), float(other.value)) == (5, 2)


def test_switch_and_loops_in_a_captured_step():
    step = tartan.function(lambda i: ops.switch(i, [lambda: ops.ones(2), lambda: ops.zeros(2) - 1, lambda: ops.zeros(2)]))
    assert [step(np.int32(i)).tolist() for i in (0, 1, 2, 9)] == [[1, 1], [-1, -1], [0, 0], [0, 0]]
    halve = tartan.function(lambda x: ops.while_loop(lambda v, n: v > 1.0, lambda v, n: (v / 2.0, n + 1), (x, 0),
                                                     maximum_iterations=10))
    assert [float(v) for v in halve(np.float32(20))] == [0.625, 5]
    with pytest.raises(NotImplementedError, match="maximum_iterations"):
        tartan.function(lambda x: ops.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x))(np.float32(3))


def test_a_loop_of_loops_that_is_too_long_for_a_captured_step_is_refused_after_one_iteration():
    calls = []

    def body(x):
        calls.append(x)
        return ops.fori_loop(0, 100, lambda i, v: ops.tanh(ops.zeros_like(v)) + 0.5 ** i, x)

    with pytest.raises(NotImplementedError, match="1000 iterations, the first of which has .* operations, is too long"):
        tartan.function(lambda x: ops.while_loop(lambda v: v > 1.0, body, (x,), maximum_iterations=1000))(np.float32(3))
    assert len(calls) == 1


class _Halving(layers.Layer):
    """Divides by two until all elements are at most 1: a loop whose length depends on values."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        return self.scale * ops.while_loop(lambda x: ops.max(x) > 1.0, lambda x: x / 2.0, (x,))[0]


def test_a_step_that_needs_values_runs_operation_by_operation():
    model = keras.Sequential([keras.Input((2,)), _Halving()])
    model.compile("sgd", "mse")
    x = np.array([[5.0, 3.0], [1.0, 20.0]], "float32")
    with pytest.warns(UserWarning, match="(?s)the predict_step of .* needs values .*maximum_iterations"):
        found = model.predict(x, verbose=0)
    np.testing.assert_allclose(found, x / 32)
    with pytest.warns(UserWarning, match="train_step"):
        loss = model.train_on_batch(x, np.zeros((2, 2)))
    np.testing.assert_allclose(loss, np.mean((x / 32) ** 2), rtol=1e-6)
    np.testing.assert_allclose(model.get_weights()[0], 1 - 0.01 * 2 * np.mean((x / 32) ** 2), rtol=1e-6)
    np.testing.assert_allclose(model.predict(2 * x, verbose=0), x / 32 * model.get_weights()[0], rtol=1e-6)


def test_custom_gradients_of_other_shapes():
    @ops.custom_gradient
    def product(x, w):
        def derive(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            return ops.matmul(upstream, ops.transpose(w)), 2.0 * ops.matmul(ops.transpose(x), upstream)

        return ops.matmul(x, w), derive

    random = np.random.default_rng(0)
    x, w = [tartan.asarray(random.standard_normal(s).astype("float32")) for s in ((3, 4), (4, 2))]
    with tartan.recording():
        loss = ops.sum(ops.square(product(ops.tanh(x), w)))
        dx, dw = tartan.gradients(loss, [x, w])
    t = np.tanh(x.numpy())
    upstream = 2 * t @ w.numpy()
    np.testing.assert_allclose(dw.numpy(), 2 * t.T @ upstream, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dx.numpy(), upstream @ w.numpy().T * (1 - t * t), rtol=1e-4, atol=1e-5)


def test_mixed_precision_with_a_scaled_loss_learns():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((6,)), layers.Dense(32, activation="relu"), layers.Dense(2)])
        model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
        x, y = _data(16)
        curve = [float(model.train_on_batch(x, y)) for _ in range(50)]
    finally:
        keras.config.set_dtype_policy("float32")
    assert type(model.optimizer).__name__ == "LossScaleOptimizer"
    assert np.isfinite(curve).all() and curve[-1] < 0.5 * curve[0]


def test_a_variable_made_from_values_of_a_captured_step_is_refused():
    with pytest.raises(ValueError, match="create variables in `__init__` or `build`"):
        tartan.function(lambda x: keras.Variable(x))(np.ones(3, "float32"))


def test_what_is_missing_names_itself():
    with pytest.raises(ValueError, match="sparse"):
        keras.src.backend.convert_to_tensor([1.0], sparse=True)


def test_directions_of_functions():
    x, t = np.array([0.1, 0.5], "float32"), np.array([0.2, 1.0], "float32")
    value, along, aux = keras.src.ops.linalg.jvp(lambda v: (ops.sin(v) * v, v), (x,), (t,), has_aux=True)
    np.testing.assert_allclose(value, np.sin(x) * x, rtol=1e-6)
    np.testing.assert_allclose(along, (np.cos(x) * x + np.sin(x)) * t, rtol=1e-5)
    np.testing.assert_array_equal(aux, x)


def test_derivatives_go_to_the_elements_that_unique_keeps():
    x = tartan.asarray(np.array([3, 1, 3, 2], "float32"))
    weights = np.array([1, 2, 4, 8], "float32")

    def loss(x):
        return ops.sum(ops.unique(x, size=4, fill_value=9.0) * weights)

    assert float(loss(x)) == 1 * 1 + 2 * 2 + 3 * 4 + 9 * 8
    assert tartan.grad(loss)(x).tolist() == [4, 1, 0, 2]


def test_what_would_lose_a_derivative_is_refused():
    x = tartan.asarray(np.ones(3, "float32"))
    with pytest.raises(NotImplementedError, match="derivative of arange"):
        tartan.grad(lambda x: ops.sum(ops.arange(ops.sum(x))))(x)
    with pytest.raises(NotImplementedError, match="derivative of ctc_decode"):
        tartan.grad(lambda x: ops.sum(ops.nn.ctc_decode(ops.reshape(x, (1, 1, 3)), [1], "beam_search")[1]))(x)


def test_scales_and_places_of_pictures_have_derivatives():
    picture = np.random.default_rng(0).random((1, 6, 6, 1)).astype("float32")

    def loss(scale):
        return ops.sum(ops.image.scale_and_translate(picture, (1, 9, 9, 1), scale, np.array([0.3, 0.2], "float32"), (1, 2),
                                                     "cubic") ** 2)

    scale, step = np.array([1.37, 1.31], "float32"), 2e-3
    derivative = tartan.grad(loss)(tartan.asarray(scale)).numpy()
    for i in range(2):
        by = np.eye(2, dtype="float32")[i] * step
        assert abs((float(loss(scale + by)) - float(loss(scale - by))) / (2 * step) - derivative[i]) < 0.1


def test_variances_have_first_and_second_derivatives():
    random = np.random.default_rng(1)
    x, u, factor = random.standard_normal((5, 3)), random.standard_normal((5, 3)), np.array([1.0, 2.0, 3.0])

    def loss(x):
        return ops.sum(ops.moments(x, [0])[1] * factor.astype("float32"))

    def direction(x):
        return ops.sum(tartan.grad(loss)(x) * u.astype("float32"))

    given = tartan.asarray(x.astype("float32"))
    np.testing.assert_allclose(tartan.grad(loss)(given).numpy(), factor * (x - x.mean(0)) * 2 / 5, atol=1e-6)
    np.testing.assert_allclose(tartan.grad(direction)(given).numpy(), factor * (u - u.mean(0)) * 2 / 5, atol=1e-6)


def test_tensors_as_texts_of_numbers():
    x = ops.convert_to_tensor(0.125)
    assert f"{x:.2f}" == f"{0.125:.2f}"
    x.trainable = False
    with pytest.raises(AttributeError):
        x.trainable = True


def test_functions_have_keras_signatures():
    from keras.src import backend, ops as modules
    from keras.src.ops.ops_test import OPS_MODULES, op_functions_and_classes

    for module in OPS_MODULES:
        theirs = getattr(modules, module)
        for function, _ in op_functions_and_classes(theirs):
            name = function.__name__
            if hasattr(theirs, f"_{name}") or name in ("view_as_complex", "view_as_real", "get_item", "multi_hot"):
                continue  # independent of the backend
            assert inspect.signature(getattr(getattr(backend, module), name)) == inspect.signature(function), name


def test_the_packages_have_the_layout_of_keras_plug_ins():
    """Keras 3.16 finds a backend's parts by these names."""
    from keras_tartan import src
    from keras_tartan.src import export, layer, trainer

    assert issubclass(keras.Model, trainer.Trainer) and issubclass(keras.Layer, layer.BackendLayer)
    assert inspect.isclass(export.SavedModelExportArchive)
    for name in ("Variable", "name_scope", "device_scope", "compute_output_spec", "random", "IS_THREAD_SAFE",
                 "SUPPORTS_GRADIENT", "SUPPORTS_COMPLEX_DTYPES", "SUPPORTS_RAGGED_TENSORS", "SUPPORTS_SPARSE_TENSORS"):
        assert hasattr(src, name), name
    assert src.ops.nn.relu is src.nn.relu and src.ops.cast is src.core.cast
    assert not hasattr(src, "config") and not hasattr(src, "sys")  # would hide names of keras.src.backend


def test_the_name_is_added_to_keras_list_of_plug_ins(monkeypatch):
    module = "keras.src.backend.config"
    monkeypatch.setitem(_hook._layout, module, _hook._PLUGGABLE[module])
    text = ('PLUGGABLE_BACKENDS = frozenset(["mlx", "openvino", "paddle"])\n\n'
            "# Whether NNX is enabled.\n_NNX_ENABLED = False\n")
    names = {}
    exec(_hook.patched(module, text), names)
    assert names["PLUGGABLE_BACKENDS"] == {"mlx", "openvino", "paddle", "tartan"}


@pytest.mark.parametrize("window", ["hann", "hamming"])
def test_istft_gives_back_the_signal_up_to_its_ends(window):
    signal = np.random.default_rng(1).standard_normal((2, 64)).astype("float32")
    spectrum = ops.stft(signal, 16, 4, 16, window=window)
    np.testing.assert_allclose(ops.istft(spectrum, 16, 4, 16, window=window).numpy(), signal, atol=2e-6)


def test_functions_that_keras_3_16_adds():
    """Their operations exist only in Keras 3.16, so they are called directly."""
    import math

    backend = keras.src.backend
    values = np.array([-2.5, -0.75, 0.1, 0.5, 1.0, 1.5, 2.0, 7.25, 100.0, -3.0, np.inf], "float32")
    wanted = [math.lgamma(v) if v != -3 else np.inf for v in values.astype("float64")]
    np.testing.assert_allclose(backend.math.lgamma(values).numpy(), wanted, rtol=3e-6, atol=3e-6)
    np.testing.assert_allclose(backend.math.lgamma(values.astype("float64")).numpy(), wanted, rtol=1e-12, atol=1e-13)
    a, b = np.array([[1, -2, 0.5], [2, 2, -7]], "float32"), np.array([-0.0, 3, -1], "float32")
    np.testing.assert_array_equal(backend.numpy.copysign(a, b).numpy(), np.copysign(a, b))
    np.testing.assert_allclose(backend.numpy.float_power(np.array([2, 3]), np.array([-1, 2])).numpy(), [0.5, 9])
    np.testing.assert_allclose(backend.numpy.cov(a).numpy(), np.cov(a), rtol=1e-5)
    np.testing.assert_allclose(backend.numpy.cov(b).numpy(), np.cov(b), rtol=1e-5)
    np.testing.assert_array_equal(backend.numpy.column_stack((b, a.T)).numpy(), np.column_stack((b, a.T)))
    np.testing.assert_array_equal(backend.numpy.argsort(np.array(3)).numpy(), np.argsort(np.array(3)))
    # P(1, x) = 1 - exp(-x), P(1/2, x) = erf(sqrt(x)), and P(a + 1, x) = P(a, x) - x^a exp(-x) / gamma(a + 1).
    x = np.array([0, 0.01, 0.5, 1.5, 2, 7, 30, np.inf])
    p = [backend.math.gammainc(np.full_like(x, a), x).numpy().astype("float64") for a in (1, 0.5, 1.5)]
    np.testing.assert_allclose(p[0], 1 - np.exp(-x), rtol=1e-6)
    np.testing.assert_allclose(p[1], [math.erf(math.sqrt(v)) for v in x], rtol=1e-6)
    np.testing.assert_allclose(p[2][:-1], p[1][:-1] - np.sqrt(x[:-1]) * np.exp(-x[:-1]) / math.gamma(1.5), rtol=1e-5, atol=1e-7)
    odd = backend.math.gammainc(np.array([-1.0, 0, 0, 5, np.nan, 200.0]), np.array([1.0, 0, 2, -1, 1, 200.0])).numpy()
    np.testing.assert_allclose(odd, [np.nan, np.nan, 1, np.nan, np.nan, 0.509403418], rtol=1e-6)
    square = np.array([[1, 2], [3, 5]], "float32")
    for n in (-2, 0, 3):
        np.testing.assert_allclose(backend.linalg.matrix_power(square, n).numpy(), np.linalg.matrix_power(square, n), rtol=1e-4)
    for axis in (-1, (0, 2)):
        x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("float32")
        gamma = np.random.default_rng(1).standard_normal(5 if axis == -1 else (3, 5)).astype("float32")
        spread = gamma if axis == -1 else gamma[:, None, :]
        expected = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-3) * spread + 2 * spread
        found = backend.nn.layer_normalization(ops.convert_to_tensor(x), gamma, 2 * gamma, axis, 1e-3).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
