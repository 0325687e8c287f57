# SPDX-License-Identifier: Apache-2.0
"""Types of elements in Keras that few models use: float8, float64 and complex numbers, and values out of range."""

import importlib.util
import os

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import tartan
import keras
from keras import layers, ops

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


def _values(dtype):
    """Returns all values of a type, the midpoints between adjacent values, and the float32 on both sides of midpoints."""
    every = np.arange(256, dtype="uint8").view(dtype).astype("float32")
    finite = np.sort(every[np.isfinite(every)])
    middle = (finite[1:] + finite[:-1]) / 2
    rest = [np.inf, -np.inf, np.nan, 0.0, -0.0, 464, 464.1, 480, 61440, 65536, -3e38, 1e-30]
    sides = [np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([every, middle, *sides, rest]).astype("float32")


@pytest.mark.parametrize("wide", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("dtype", FLOAT8)
def test_float8_is_rounded_as_by_ml_dtypes(dtype, wide):
    import ml_dtypes

    with np.errstate(over="ignore"):
        x = _values(dtype).astype(getattr(ml_dtypes, wide, wide))
    want = x.astype(dtype)
    y = ops.cast(x, dtype)
    assert y.dtype == dtype and ops.convert_to_numpy(y).dtype == dtype
    back = tartan.function(lambda x: ops.cast(ops.cast(x, dtype), "float32"))
    for got in (ops.convert_to_numpy(y), back(ops.convert_to_tensor(x)).numpy(), ops.convert_to_numpy(
            ops.cast(ops.convert_to_tensor(want), "float32"))):
        got, wanted = got.astype("float32"), want.astype("float32")
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_nothing_computes_with_float8():
    x = ops.cast(ops.ones(2), "float8_e5m2")
    with pytest.raises(ValueError, match="no implicit conversions from float8"):
        x + x
    for function in (ops.abs, ops.sum, lambda x: ops.reshape(x, (1, 2))):
        with pytest.raises(TypeError, match="no operation computes with float8_e5m2"):
            function(x)


def test_a_layer_in_float8_trains():
    keras.utils.set_random_seed(1)
    layer = layers.Dense(3, dtype="float8_from_float32")
    model = keras.Sequential([keras.Input((4,)), layer])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    random = np.random.default_rng(0)
    x, y = random.standard_normal((32, 4)).astype("float32"), random.standard_normal((32, 3)).astype("float32")
    kernel = np.asarray(layer.kernel)
    np.testing.assert_allclose(model.predict(x, verbose=0), x.astype(FLOAT8[0]).astype("float32") @ kernel.astype(
        FLOAT8[0]).astype("float32"), rtol=1e-5, atol=1e-5)
    losses = [model.train_on_batch(x, y) for _ in range(20)]
    assert losses[-1] < losses[0]
    assert float(layer.inputs_amax_history.value[-1]) == np.abs(x).max()


def test_float64_stays_float64():
    x = ops.convert_to_tensor(np.array([1.0, 1 / 3]), "float64")
    for y in (x + 1, 2.5 * x, ops.matmul(x, x), ops.where(x > 0, x, 0.0), ops.einsum("i,i->i", x, x), ops.mean(x),
              ops.layer_normalization(x), x * ops.ones(2)):
        assert y.dtype == "float64"
    assert float(ops.matmul(x, x)) == 1 + (1 / 3) ** 2
    # NumPy's default type does not change the type of a computation.
    assert (ops.ones(2) * np.ones(2)).dtype == ops.matmul(ops.ones(2), np.ones(2)).dtype == "float32"
    assert ops.clip(ops.ones(2), np.float64(0), np.float64(1)).dtype == "float32"
    assert ops.convert_to_tensor([np.float64(1), 2.0]).dtype == "float32"


_Z = np.array([[1 + 2j, 3 - 4j], [0.5j, -2]], "complex64")
_COMPLEX = {name: getattr(np, name) for name in (
    "real", "imag", "conj", "conjugate", "absolute", "angle", "isreal", "exp", "negative", "square", "transpose", "sum", "mean",
    "isfinite", "copy")}
_COMPLEX |= {"multiply": lambda z: np.multiply(z, 2j), "matmul": lambda z: np.matmul(z, z), "add": lambda z: np.add(z, 1)}


@pytest.mark.parametrize("name", _COMPLEX)
def test_functions_of_complex_numbers_are_those_of_numpy(name):
    ours = {"multiply": lambda z: ops.multiply(z, 2j), "matmul": lambda z: ops.matmul(z, z), "add": lambda z: ops.add(z, 1)}.get(
        name, getattr(ops, name))
    want = _COMPLEX[name](_Z)
    for z in (_Z, ops.convert_to_tensor(_Z)):
        got = ours(z)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(ops.convert_to_numpy(got), want, rtol=1e-5, atol=1e-6)


def test_every_function_for_complex_numbers_is_that_of_numpy():
    from keras_tartan.src import _complex_numbers

    z, two = ops.convert_to_tensor(_Z), "add subtract multiply divide true_divide power equal not_equal matmul tensordot".split()
    others = {"where": (_Z.real > 1, z, 2 * z), "einsum": ("ij,jk->ik", z, z), "reshape": (z, (4,)), "expand_dims": (z, 0),
              "squeeze": (z[:, :1], 1), "broadcast_to": (z, (3, 2, 2)), "stack": ([z, z],), "concatenate": ([z, z], 1),
              "roll": (z, 1, 1), "moveaxis": (z, 0, 1), "swapaxes": (z, 0, 1), "take": (z, np.array([1]), 0)}

    def known(x):
        return [known(part) for part in x] if isinstance(x, list) else ops.convert_to_numpy(x) if ops.is_tensor(x) else x

    for name in {*_complex_numbers.NAMES, *_complex_numbers.OTHERS}:
        given = others.get(name) or ((z, z + 1) if name in two else (z,))
        want = getattr(np, name)(*map(known, given))
        np.testing.assert_allclose(known(getattr(ops, name)(*given)), want, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32"])
def test_a_histogram_counts_the_minimum_and_the_maximum(dtype):
    """These values of float64 are no values of float32: some are rounded up there, others down."""
    for last in (0.1, 0.3, 1 / 3, 2 / 3):
        x = np.array([-last, 0.06, last], dtype)
        counts, edges = map(ops.convert_to_numpy, ops.histogram(ops.convert_to_tensor(x), bins=4))
        wanted, _ = np.histogram(x, 4)
        np.testing.assert_array_equal(counts, wanted)
        if dtype != "int32":
            assert edges.dtype == dtype and (edges[0], edges[-1]) == (x[0], x[-1])


@pytest.mark.parametrize("dtype, kind", [("float32", "complex64"), ("float64", "complex128"), ("int32", "complex64")])
def test_eigenvalues_of_matrices_that_are_not_symmetric_are_complex(dtype, kind):
    x = np.array([[[0, -2, 1], [3, 1, 0], [0, 1, 2]], [[2, 0, 0], [0, 3, 4], [0, 4, 9]]], dtype)
    values, vectors = ops.linalg.eig(x)
    assert values.dtype == vectors.dtype == kind
    values, vectors = map(ops.convert_to_numpy, (values, vectors))
    np.testing.assert_allclose(x @ vectors, values[:, None] * vectors, atol=1e-5 if kind == "complex64" else 1e-12)
    np.testing.assert_allclose(np.sort(values[1].real), [1, 2, 11], atol=1e-4)
    assert abs(values[0].imag).max() > 1


def test_pairs_of_real_numbers_are_complex_numbers():
    pairs = np.stack([_Z.real, _Z.imag], -1)
    z = ops.view_as_complex(pairs)
    assert z.dtype == "complex64" and z.shape == (2, 2) and ops.is_tensor(z)
    np.testing.assert_array_equal(ops.convert_to_numpy(z), _Z)
    np.testing.assert_array_equal(ops.view_as_real(z), pairs)
    np.testing.assert_allclose(ops.convert_to_numpy(1j * z + ops.ones(2)), 1j * _Z + 1, rtol=1e-6)
    length = tartan.function(lambda x: ops.abs(ops.view_as_complex(x)))
    np.testing.assert_allclose(length(pairs), np.abs(_Z), rtol=1e-6)
    slope = tartan.grad(lambda x: ops.sum(ops.square(ops.abs(ops.view_as_complex(x)))))(tartan.asarray(pairs))
    np.testing.assert_allclose(slope, 2 * pairs, rtol=1e-5, atol=1e-6)
    assert ops.cast(z, "float32").dtype == "float32" and ops.zeros(3, dtype="complex128").dtype == "complex128"


def test_variables_may_be_complex(tmp_path):
    class Turned(layers.Layer):
        def build(self, shape):
            self.z = self.add_weight(shape=(shape[-1],), dtype="complex64", initializer="ones", trainable=False)
            self.built = True

        def call(self, x):
            self.z.assign(ops.multiply(self.z, 1j))  # in a captured step
            return ops.real(ops.add(ops.multiply(x, self.z), x))

    model = keras.Sequential([keras.Input((2,)), Turned(), layers.Dense(1)])
    model.compile("sgd", "mse")
    z = model.layers[0].z
    z.assign(np.array([1 + 2j, 3]))
    assert z.dtype == "complex64" and "1.+2.j" in repr(z)
    model.save_weights(tmp_path / "w.weights.h5")
    z.assign_add(np.array([1, 1j]))
    np.testing.assert_array_equal(z.numpy(), [2 + 2j, 3 + 1j])
    model.load_weights(tmp_path / "w.weights.h5")
    model.fit(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), epochs=3, verbose=0)
    np.testing.assert_array_equal(z.numpy(), -1j * np.array([1 + 2j, 3]))


def test_a_label_that_is_no_class_makes_the_loss_nan():
    output = np.array([[0.25, 0.5, 0.25]] * 4, "float32")
    labels = np.array([1, 3, -1, 2])
    want = [np.log(2), np.nan, np.nan, np.log(4)]
    for from_logits, x in ((False, output), (True, np.log(output))):
        got = keras.ops.sparse_categorical_crossentropy(labels, x, from_logits=from_logits)
        np.testing.assert_allclose(got, want, rtol=1e-5)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    assert np.isnan(model.fit(np.ones((32, 8)), np.full(32, 7), verbose=0).history["loss"][0])


def test_common_dtypes_follow_a_change_of_floatx():
    whole, bools = ops.convert_to_tensor([1, 2]), ops.convert_to_tensor([True, False])
    first = [(whole * 1.5).dtype, (bools + 1).dtype, (bools + bools).dtype, (whole + np.float64(1)).dtype]
    keras.config.set_floatx("float16")
    try:
        assert [(whole * 1.5).dtype, (bools + 1).dtype] == ["float16", keras.backend.result_type("bool", int)]
    finally:
        keras.config.set_floatx("float32")
    assert first == ["float32", "int32", "bool", "float32"] and (whole * 1.5).dtype == "float32"
