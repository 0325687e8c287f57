# SPDX-License-Identifier: Apache-2.0
"""Plain tartan tensors are unaffected by an earlier import of Keras in the same process."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401
import tartan
from tartan import _operators, _tensor

import keras
from keras import layers, ops

_HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", ["test_array_api.py", "test_operators.py"])
def test_the_tests_of_arrays_pass_after_keras_was_imported(name):
    if name == "test_array_api.py" and importlib.util.find_spec("array_api_strict") is None:
        pytest.skip("array-api-strict is not installed")
    code = ("import keras_tartan, keras, sys, pytest\n"
            "assert keras.backend.backend() == 'tartan'\n"
            "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', sys.argv[1]]))")
    done = subprocess.run([sys.executable, "-c", code, str(_HERE / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


_BEFORE_AND_AFTER = """
import itertools, operator, sys
import numpy as np
import tartan

assert not any(name in sys.modules for name in ("keras", "keras_tartan"))
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
          operator.or_, operator.xor, operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt, operator.le,
          operator.gt, operator.ge, operator.matmul, divmod]
UNARY = [operator.neg, operator.pos, abs, operator.invert, round, repr, bool, float, len, lambda x: x.T, lambda x: x[1:], lambda x: x[[0, 0]],
         lambda x: x[x != 0], lambda x: x.astype("float32"), lambda x: x.reshape(3, 1), lambda x: x.sum(), lambda x: x.mean(),
         lambda x: x.argmax(), lambda x: x.max(), lambda x: x.std(), lambda x: x.any(), lambda x: np.sin(x), lambda x: x.at[0].add(1),
         lambda x: x.trainable, lambda x: x == None]

def described(function, *operands):
    try:
        result = function(*operands)
    except Exception as error:
        return type(error).__name__, str(error)
    parts = result if isinstance(result, tuple) else (result,)
    return [(type(x), str(x.dtype), x.shape, x.numpy().tobytes()) if isinstance(x, tartan.Tensor) else (type(x), x) for x in parts]

def table():
    tensors = {name: tartan.asarray([0, 1, 2], dtype=dtype) for name, dtype in tartan._dtypes.ALL.items()}
    others = {"True": True, "2": 2, "2.5": 2.5, "None": None, "int8 array": np.array([3, 1, 2], "int8"),
              "float64 array": np.array([0.5, 1, 2]), "list": [1, 2, 3], "variable": tartan.Variable([1.0, 2.0, 3.0])}
    pairs = [*itertools.product(tensors, tensors), *itertools.product(tensors, others), *itertools.product(others, tensors)]
    values = tensors | others
    found = {(f.__name__, a, b): described(f, values[a], values[b]) for f in BINARY for a, b in pairs}
    found |= {(k, a): described(f, values[a]) for k, f in enumerate(UNARY) for a in tensors}
    return found | {name: getattr(tartan.Tensor, name) for name in dir(tartan.Tensor) if name != "__subclasshook__"
                    and not hasattr(object, name)}

before = table()
import keras_tartan
import keras
assert keras.backend.backend() == "tartan"
theirs = keras.ops.ones(3)
keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).predict(np.ones((2, 3)), verbose=0)
if sys.argv[1:] == ["changed"]:
    tartan.Tensor.__add__ = lambda self, other: keras.ops.add(self, other)
after = table()
assert len(before) > 7000 and sum(type(v) is list for v in before.values()) > 4000, len(before)
differences = [key for key in before if before[key] != after.get(key)]
print(len(differences), differences[:3], set(before) ^ set(after))
"""


def _before_and_after(*arguments):
    done = subprocess.run([sys.executable, "-c", _BEFORE_AND_AFTER, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


def test_operators_do_the_same_before_and_after_the_import():
    """Types, dtypes, values, and errors of all operators, for operands of all types, in one process."""
    assert _before_and_after() == "0 [] set()"
    assert int(_before_and_after("changed").split()[0]) > 200  # a changed operator is noticed


def test_operators_are_those_of_the_package():
    """Only the Keras class has Keras' rules."""
    for name in ("__add__", "__eq__", "__getitem__", "astype", "reshape", "sum"):
        assert getattr(tartan.Tensor, name) is getattr(_operators.Operators, name)
    ours, theirs = tartan.asarray([1, 2]), ops.convert_to_tensor([1, 2])
    assert not hasattr(ours, "trainable") and theirs.trainable is False
    with pytest.raises(TypeError):
        tartan.asarray([True]) - tartan.asarray([True])
    assert (theirs == None) is False  # noqa: E711


def test_each_kind_makes_its_own():
    ours, theirs = tartan.asarray(np.ones((2, 3), "float32")), ops.ones((2, 3))
    kind = type(theirs)
    assert type(ours) is tartan.Tensor and kind is not tartan.Tensor and isinstance(theirs, tartan.Tensor)
    for x in (ours + 1, ours[0], -ours, ours @ ours.T, ours.sum(), tartan.exp(theirs), tartan.asarray(theirs),
              tartan.sum(theirs, axis=0), ours[tartan.asarray(ops.argmax(theirs, -1))]):
        assert type(x) is tartan.Tensor
    for x in (theirs + 1, 1 - theirs, theirs[0], -theirs, theirs @ theirs.T, theirs.sum(), theirs.mean(axis=0), theirs.T,
              ops.exp(ours), ops.convert_to_tensor(ours), ops.zeros(3), ops.arange(3), ops.shape(theirs) and theirs > 0,
              ours + theirs, theirs + ours, theirs.astype("int32"), theirs.reshape(3, 2), ops.stop_gradient(theirs),
              keras.random.normal((2,)), keras.Variable(np.ones(2)).value, ops.one_hot(theirs.argmax(-1), 3)):
        assert type(x) is kind
    with tartan.recording():
        v = keras.Variable(np.ones(3, "float32"))
        value = v.value
        (slope,) = tartan.gradients(ops.sum(value * value), [value])
    assert type(slope) is kind
    captured = tartan.function(lambda a: a * 2)
    assert isinstance(captured(theirs), kind) and not isinstance(captured(ours), kind)
    assert type(captured(theirs) + 1) is kind and type(captured(ours) + 1) is tartan.Tensor


def test_indices_are_those_of_numpy():
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x, one, ids = ops.convert_to_tensor(values), keras.Variable(1, dtype="int32"), keras.Variable([2, 0, -1], dtype="int32")
    places = np.array([2, 0, -1])
    for index, wanted in ((one, 1), (slice(one, None), slice(1, None)), ((0, ids), (0, places)), ((..., ids), (..., places)),
                          ((ops.arange(2)[:, None], 0, ids), (np.arange(2)[:, None], 0, places)),
                          (x > 5, values > 5), ((slice(None), None, ops.argmax(x[0, :, 0])), (slice(None), None, 2)),
                          ([1, 0], [1, 0]), (True, True), ((0, np.array([True, False, True])), (0, np.array([True, False, True])))):
        np.testing.assert_array_equal(x[index].numpy(), values[wanted], strict=True)
    for index in (2, (0, 3), (0, 0, 0, 0), [2], (0, [0, -4])):
        with pytest.raises(IndexError):
            x[index]


def test_elements_of_keras_tensors_are_assigned_to():
    x = ops.zeros((2, 3))
    before = x + 0.0
    x[1] = 5
    x[:, 0] += ops.ones(2)
    np.testing.assert_array_equal(x.numpy(), [[1, 0, 0], [6, 5, 5]])
    assert not np.any(before.numpy())


@pytest.mark.parametrize("eager", [False, True])
def test_layers_get_keras_tensors_from_all_sides(eager):
    kinds = set()

    class Probe(layers.Layer):
        def call(self, x):
            kinds.add(type(x))
            return x

    model = keras.Sequential([keras.Input((4,)), layers.Dense(3), Probe(), layers.Dense(2)])
    model.compile("sgd", "mse", run_eagerly=eager)
    x, y = np.ones((8, 4), "float32"), np.ones((8, 2), "float32")
    model.fit(x, y, verbose=0)
    model.fit(tartan.asarray(x), tartan.asarray(y), verbose=0)
    model.predict(x, verbose=0)
    model(tartan.asarray(x))
    model(x)
    assert kinds == {type(ops.ones(1))}


def test_layers_may_use_functions_of_the_package():
    model = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: tartan.sum(tartan.tanh(x), axis=1, keepdims=True)),
                              layers.Dense(2)])
    model.compile("sgd", "mse")
    losses = [model.train_on_batch(np.ones((8, 4), "float32"), np.zeros((8, 2), "float32")) for _ in range(5)]
    assert float(np.ravel(losses[-1])[0]) < float(np.ravel(losses[0])[0])


def test_what_is_computed_is_kept_by_whoever_asks():
    """Computed values are shared with a tensor of another class."""
    x = ops.convert_to_tensor(np.arange(3.0))
    assert _tensor.Tensor._of(x)._host is x._host and x._host is not None
