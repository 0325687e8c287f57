# SPDX-License-Identifier: Apache-2.0
"""Keras models exported to ONNX compute the same under ONNX's reference evaluator, for any batch size. Unsupported
models are rejected by name."""

import collections
import importlib.util
import os

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None or importlib.util.find_spec("onnx") is None:
    pytest.skip("Keras or onnx is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import keras_models
import onnx
import tartan
from keras_tartan.src.onnx_export import formulas

import keras
from keras import layers, ops
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(9)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def varied(model):
    """Randomizes the weights so that none is uniformly 0 or 1; variances stay positive."""
    random = np.random.default_rng(2)

    def changed(weights):
        noise = 0.1 * random.standard_normal(weights.shape)
        # Positive noise in matrices would make the results of deep networks large, some of them differences of
        # larger numbers.
        return (weights + (np.abs(noise) if weights.ndim == 1 else noise)).astype(weights.dtype)

    model.set_weights([changed(w) for w in model.get_weights()])
    return model


def exported(model, folder, **options):
    path = folder / "model.onnx"
    model.export(path, format="onnx", verbose=False, **options)
    return onnx.load(path)


def listed(x):
    if isinstance(x, dict):
        return [x[key] for key in sorted(x)]
    return list(x) if isinstance(x, (list, tuple)) else [x]


def check(model, folder, *batches, tolerance=1e-5, **options):
    """Exports the model, compares it with `predict` for each batch, and returns the ONNX model."""
    written = exported(model, folder, **options)
    onnx.checker.check_model(written, full_check=True)
    evaluator = ReferenceEvaluator(written)
    for x in batches:
        wanted = listed(model.predict(x, verbose=0))
        feed = {value.name: array for value, array in zip(written.graph.input, listed(x))}
        found = evaluator.run(None, feed)
        assert len(found) == len(wanted)
        for ours, theirs in zip(found, wanted):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    return written


def operators(written):
    return collections.Counter(node.op_type for node in written.graph.node if node.op_type != "Constant")


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def with_layer(call, *shape, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), layers.Lambda(call)])


@pytest.mark.parametrize("name", keras_models.MODELS)
def test_networks_compute_the_same_for_any_number_of_rows(name, tmp_path):
    keras.utils.set_random_seed(1)
    model, x, _ = keras_models.MODELS[name]()
    options = {}
    if name == "gan":  # it takes only the noise
        x = x[1]
        options["input_signature"] = [keras.InputSpec(shape=(None, 6), dtype="float32", name="noise")]
    batches = [[np.resize(a, (rows, *a.shape[1:])) for a in listed(x)] for rows in (3, 1)]
    written = check(varied(model), tmp_path, *[b if len(b) > 1 else b[0] for b in batches], **options)
    assert all(dims(value)[0] == "batch" for value in [*written.graph.input, *written.graph.output])
    assert written.opset_import[0].version == 18


def test_convolutions_have_channels_first_and_weights_of_the_variables_names(tmp_path):
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, padding="same", name="a"),
                              layers.BatchNormalization(name="b"), layers.ReLU(), layers.MaxPooling2D(),
                              layers.Conv2D(5, 3, strides=2, name="c"), layers.GlobalAveragePooling2D(),
                              layers.Dense(2, name="d")], name="net")
    written = check(varied(model), tmp_path, floats(2, 8, 8, 3))
    assert [node.op_type for node in written.graph.node if node.op_type != "Constant"] == [
        "Transpose", "Conv", "BatchNormalization", "Relu", "MaxPool", "Conv", "ReduceMean", "MatMul", "Add"]
    shapes = {tensor.name: list(tensor.dims) for tensor in written.graph.initializer}
    paths = {v.path for v in model.variables if "seed" not in v.path}
    assert paths == set(shapes)  # other constants are nodes
    assert shapes[model.layers[0].kernel.path] == [4, 3, 3, 3] and shapes[model.layers[0].bias.path] == [4]


def test_a_residual_network_has_one_transpose(tmp_path):
    model, _, _ = keras_models.resnet()
    found = operators(exported(model, tmp_path))
    assert found["Transpose"] == 1 and found["Conv"] == 20 and found["BatchNormalization"] == 20
    assert sum(found.values()) == 69


def test_recurrent_layers_without_masks_are_one_node_for_sequences_of_any_length(tmp_path):
    model = keras.Sequential([
        keras.Input((None, 4)), layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
        layers.GRU(3, return_sequences=True), layers.GRU(4, reset_after=False, use_bias=False, go_backwards=True,
                                                         return_sequences=True),
        layers.LSTM(2), layers.Dense(2)])
    found = operators(check(varied(model), tmp_path, floats(2, 7, 4), floats(1, 3, 4)))
    assert found["LSTM"] == 3 and found["GRU"] == 2


def test_activations_of_recurrent_layers(tmp_path):
    """Uses the package's sessions, because ONNX's evaluator supports only one activation."""
    model = keras.Sequential([keras.Input((5, 4)), layers.LSTM(3, activation="relu", return_sequences=True),
                              layers.GRU(2, activation="sigmoid", recurrent_activation="tanh")])
    assert operators(exported(varied(model), tmp_path))["GRU"] == 1
    x = floats(2, 5, 4)
    session = tartan.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: x})
    np.testing.assert_allclose(found, model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


def test_masked_and_simple_recurrent_layers_go_step_by_step(tmp_path):
    model = keras.Sequential([keras.Input((6,), dtype="int32"), layers.Embedding(9, 4, mask_zero=True),
                              layers.LSTM(5, return_sequences=True), layers.SimpleRNN(3)])
    words = RANDOM.integers(0, 3, (3, 6)).astype("int32")
    assert operators(check(model, tmp_path, words, words[:1]))["LSTM"] == 0


def test_sizes_of_planes_may_be_open(tmp_path):
    inputs = keras.Input((None, None, 1))
    a = layers.Conv2D(3, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(3, 3, padding="same", strides=2)(a)
    c = layers.Conv2DTranspose(3, 3, strides=2, padding="same")(layers.MaxPooling2D()(b))
    c = layers.UpSampling2D(interpolation="bilinear")(c)
    d = layers.UpSampling2D()(layers.AveragePooling2D(2, padding="same")(layers.Concatenate()([a, c])))
    written = check(keras.Model(inputs, d), tmp_path, floats(2, 16, 24, 1), floats(1, 8, 4, 1))
    assert dims(written.graph.input[0]) == ["batch", "dim_0_1", "dim_0_2", 1]


def test_pads_follow_sizes_that_are_odd_or_even(tmp_path):
    model = keras.Sequential([keras.Input((None, None, 2)), layers.Conv2D(3, 3, padding="same", strides=2),
                              layers.MaxPooling2D(2, padding="same"), layers.AveragePooling2D(3, 2, padding="same")])
    check(model, tmp_path, floats(2, 16, 17, 2), floats(1, 23, 12, 2), floats(1, 9, 9, 2))


class _Places(layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = layers.Embedding(7, 8)  # rows for the longest sentence, not for the sizes of recorded runs

    def call(self, words):
        return self.table(ops.arange(ops.shape(words)[1]))


def test_a_transformer_takes_sentences_of_any_length(tmp_path):
    words = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 8)(words) + _Places()(words)
    x = layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
    model = keras.Model(words, layers.LayerNormalization()(x))
    found = operators(check(model, tmp_path, *[RANDOM.integers(0, 20, shape).astype("int32") for shape in ((2, 7), (1, 1))]))
    assert found["LayerNormalization"] == 1 and found["Softmax"] == 1 and found["Einsum"] == 0


_ACTIVATIONS = ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "softplus", "softsign", "sigmoid",
                "hard_sigmoid", "hard_silu", "tanh", "log_sigmoid", "mish", "exponential", "linear", "softmax",
                "log_softmax", "hard_shrink", "soft_shrink", "tanh_shrink", "squareplus", "sparse_plus",
                "sparse_sigmoid", "sparsemax", "hard_tanh", "glu")


@pytest.mark.parametrize("name", _ACTIVATIONS)
def test_activations(name, tmp_path):
    model = keras.Sequential([keras.Input((6,)), layers.Activation(name)])
    check(model, tmp_path, 3 * floats(4, 6), 20 * floats(1, 6))


def test_formulas_that_are_operators_are_found(tmp_path):
    """Keeps the table in step with the texts of the activations."""
    def call(x):
        return [keras.activations.softplus(x), keras.activations.softsign(x), keras.activations.hard_sigmoid(x),
                keras.activations.hard_silu(x), keras.activations.selu(x), ops.gelu(x, False), ops.gelu(x, True)]

    found = operators(exported(with_layer(call, 4), tmp_path, opset_version=20))
    assert set(found) - {"Identity"} == {operator for operator, _ in formulas.TEXTS.values()}
    assert found["Gelu"] == 2


def test_functions_of_numbers(tmp_path):
    def call(x):
        a = ops.abs(x) + 0.1
        whole = ops.cast(x * 10, "int32")
        return [ops.log1p(a), ops.expm1(x * 1e-3), ops.log1p(x * 1e-4), ops.arctan2(x, x - 1), ops.floor_divide(x, 0.3),
                ops.mod(x, 0.3), ops.hypot(x, a), ops.logaddexp(x, a), ops.sign(x), ops.round(x), ops.trunc(x),
                ops.isnan(x), ops.where(x > 0, x, -x), ops.maximum(x, 0.5), ops.power(a, 2.5), ops.rsqrt(a), ops.erf(x),
                whole // 3, whole % 3, whole << 1, ops.logical_and(x > 0, a < 1), ops.clip(x, -1, 1), ops.arcsinh(x),
                ops.square(x), ops.prod(x, 1), ops.any(x > 1, 1), ops.all(x > -1, 1), ops.var(x, 1), ops.max(x, 1),
                ops.cond(ops.sum(x) > 0, lambda: x, lambda: -x), ops.min(ops.cast(whole, "int8"), 1), ops.cbrt(x), ops.exp2(x), ops.log10(a), ops.cos(x) * ops.tan(x)]

    check(with_layer(call, 6), tmp_path, floats(4, 6), floats(1, 6))


def test_functions_of_shapes_and_order(tmp_path):
    def call(x):
        y = ops.concatenate([ops.flip(x, 1), ops.roll(x, 2, 1), ops.tile(x, [1, 2]), ops.sum(x, -1, keepdims=True)], 1)
        y = ops.reshape(ops.pad(y, [(0, 0), (1, 2)]), (ops.shape(x)[0], -1, 2))
        y = ops.transpose(y, (0, 2, 1))
        y = ops.sort(ops.stack([y, y[:, :, :1] * y], 1), -1)
        best, places = ops.top_k(ops.cumsum(y, -1), 2)
        return [best, places, y[:, ::-1, 1:-1:2, 0], ops.argsort(x, -1), ops.argmax(y, -1), ops.one_hot(ops.argmax(x, -1), 6),
                ops.einsum("bijk,bljk->bil", y, y), ops.take_along_axis(x, ops.argsort(x, -1), -1), ops.repeat(x, 2, 0),
                ops.linspace(0.0, 1.0, 6) * x, ops.logsumexp(x, -1), ops.std(x, -1), ops.mean(x) * x]

    check(with_layer(call, 6), tmp_path, floats(4, 6), floats(1, 6))


def test_functions_of_the_package_in_a_layer(tmp_path):
    """Their Tile texts are contractions, copies by indices and formulas."""
    def call(x):
        x = tartan.asarray(x)
        rows = tartan.sum(tartan.tanh(x), axis=1, keepdims=True) * tartan.max(x, axis=1, keepdims=True)
        wide = tartan.concat([x, tartan.stack([x[:, 0], x[:, 2]], axis=1), x[:, ::-1]], axis=1)
        turned = tartan.permute_dims(tartan.reshape(x, (x.shape[0], 2, 3)), (0, 2, 1))
        return [tartan.matmul(x, tartan.asarray(np.eye(6, dtype="float32") * 2)) + tartan.mean(rows, axis=0), wide, turned,
                x[..., 1:5:2], x[:, None, 3], tartan.broadcast_to(x[:, None, :], (x.shape[0], 4, 6)), x[1:],
                tartan.matmul(turned, tartan.asarray(np.ones((2, 3), "float32"))), tartan.roll(x, 1, axis=1),
                tartan.where(x > 0, x, 0.0), tartan.take(x, tartan.asarray([0, 2]), axis=1), tartan.sort(x, axis=1),
                tartan.cumulative_sum(x, axis=1), tartan.std(x, axis=1), tartan.einsum("bi,bj->bij", x, x)]

    check(with_layer(call, 6), tmp_path, floats(4, 6), floats(2, 6))


def test_sizes_that_follow_those_of_operands(tmp_path):
    """Twice the half of an odd size is not an expression of the inputs' sizes."""
    model = keras.Sequential([keras.Input((None, None, 1)), layers.MaxPooling2D(2, padding="same"),
                              layers.UpSampling2D(interpolation="bilinear"), layers.Conv2D(2, 3)])
    check(varied(model), tmp_path, floats(2, 17, 9, 1), floats(1, 8, 12, 1))


def test_inputs_and_outputs_have_their_names(tmp_path):
    left, right = keras.Input((4,), name="left"), keras.Input((3,), name="right")
    joined = layers.Concatenate()([layers.Dense(3)(left), right])
    outputs = [layers.Dense(2, name="p")(joined), layers.Dense(1, name="q")(joined), left]
    model = keras.Model([left, right], outputs)
    written = check(model, tmp_path, [floats(2, 4), floats(2, 3)], [floats(1, 4), floats(1, 3)])
    assert [value.name for value in written.graph.input] == ["left", "right"]
    assert [value.name for value in written.graph.output][:2] == ["p", "q"]
    named = keras.Model({"left": left, "right": right}, {"p": outputs[0], "q": outputs[1]})
    check(named, tmp_path, {"left": floats(2, 4), "right": floats(2, 3)})


class _Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), layers.Dense(2)

    def call(self, x, other=None, training=False):
        assert not training
        x = self.second(ops.relu(self.first(x)))
        return x if other is None else (x + other, other)


def test_models_that_are_classes_are_written_once_they_were_called(tmp_path):
    model = _Subclassed()
    with pytest.raises(ValueError):
        exported(model, tmp_path)
    model(floats(2, 5))
    check(model, tmp_path, floats(3, 5))


def test_a_signature_that_is_given(tmp_path):
    model = _Subclassed()
    model(floats(2, 5))
    signature = [keras.InputSpec(shape=(None, 5), dtype="float32", name="a"), keras.InputSpec(shape=(1, 2), dtype="float32")]
    written = exported(model, tmp_path, input_signature=signature)
    assert [(v.name, dims(v)) for v in written.graph.input] == [("a", ["batch", 5]), ("input_1", [1, 2])]
    a, b = floats(4, 5), floats(1, 2)
    for ours, theirs in zip(ReferenceEvaluator(written).run(None, {"a": a, "input_1": b}), model(a, b)):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-5, atol=1e-6)


def test_half_precision_and_bytes(tmp_path):
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = keras.Sequential([keras.Input((8, 8, 3), dtype="uint8"), layers.Rescaling(1 / 127.5, -1.0),
                                  layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(), layers.Flatten(),
                                  layers.LayerNormalization(), layers.Dense(3, activation="gelu")])
    finally:
        keras.mixed_precision.set_global_policy("float32")
    images = RANDOM.integers(0, 256, (2, 8, 8, 3)).astype("uint8")
    written = check(varied(model), tmp_path, images, images[:1], tolerance=5e-3)  # of 16-bit floats
    assert written.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert written.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


def test_numbers_that_are_not_finite(tmp_path):
    def call(x):
        return [ops.relu(x), ops.maximum(x, 0.5), ops.max(x, 1), ops.isinf(x), ops.where(ops.isnan(x), 0.0, x)]

    check(with_layer(call, 4), tmp_path, np.array([[np.inf, -np.inf, 1, -2], [np.nan, 0, -0.0, 3]], "float32"))


@pytest.mark.parametrize("version", [15, 17, 18, 20, 21])
def test_versions(version, tmp_path):
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="gelu"), layers.BatchNormalization(),
                              layers.GlobalAveragePooling2D(), layers.Dense(3, activation="softmax")])
    written = check(model, tmp_path, floats(2, 8, 8, 3), opset_version=version)
    assert written.opset_import[0].version == version


# --- Unsupported models.


class _Counting(layers.Layer):
    def build(self, shape):
        self.calls = self.add_weight(shape=(), initializer="zeros", name="calls", trainable=False)

    def call(self, x):
        self.calls.assign_add(1.0)
        return x * self.calls


_REFUSED = {
    "keeps a state from call to call": lambda: keras.Sequential([keras.Input(batch_shape=(2, 6, 4)),
                                                                 layers.GRU(3, stateful=True)]),
    "an ONNX model has no variables": lambda: keras.Sequential([keras.Input((4,)), _Counting(name="counting")]),
    "counting/calls": lambda: keras.Sequential([keras.Input((4,)), _Counting(name="counting")]),
    "the layer 'sequential.*requests values": lambda: with_layer(
        lambda x: x if isinstance(x, keras.KerasTensor) or x.is_traced and x.shape[0] == 83 and float(x[0, 0]) else x, 4),
    "function 'cumprod' of Tile is not supported": lambda: with_layer(ops.cumprod, 4),
    "follow the sizes 'batch'": lambda: with_layer(lambda x: x * np.float32(x.shape[0] or 1) ** 0.5, 4),
    "computes other things": lambda: with_layer(lambda x: x if x.shape[0] == 83 else x + 1, 4),
    "draws random numbers": lambda: with_layer(
        lambda x: x + tartan._tensor.tile1("function (S) -> (O) { O = prng(S, 4); }", ops.cast(x[0, :2], "uint32")), 4),
}


@pytest.mark.parametrize("message", _REFUSED)
def test_what_cannot_be_written_is_refused_and_leaves_no_file(message, tmp_path):
    model = _REFUSED[message]()
    with pytest.raises(NotImplementedError, match=message) as error:
        exported(model, tmp_path)
    assert str(error.value).startswith("export to ONNX")
    assert not os.listdir(tmp_path)


def test_an_export_that_fails_keeps_the_file_of_before(tmp_path):
    check(with_layer(ops.tanh, 4), tmp_path, floats(2, 4))
    before = (tmp_path / "model.onnx").read_bytes()
    with pytest.raises(NotImplementedError, match="the layer 'second/part'"):
        exported(keras.Sequential([keras.Input((4,)), layers.Lambda(ops.cumprod, name="part")], name="second"), tmp_path)
    assert os.listdir(tmp_path) == ["model.onnx"] and (tmp_path / "model.onnx").read_bytes() == before


def test_wrong_versions_and_options(tmp_path):
    model = with_layer(ops.tanh, 4)
    for version in (7, 999):
        with pytest.raises(ValueError, match=f"opset_version={version}"):
            exported(model, tmp_path, opset_version=version)
    with pytest.raises(ValueError, match="is_static"):
        exported(model, tmp_path, is_static=True)
    with pytest.raises(TypeError, match="input_signature"):
        exported(model, tmp_path, input_signature=["float32"])


def test_a_model_is_unchanged_by_its_export(tmp_path):
    model, x, y = keras_models.cnn()
    before = model.get_weights()
    exported(model, tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights()))
    assert np.isfinite(model.train_on_batch(x, y)[0] if isinstance(model.train_on_batch(x, y), list) else 1.0)
    assert not model.losses and tartan._tensor.state.notes is None and tartan._tensor.state.trace is None
