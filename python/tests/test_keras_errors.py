# SPDX-License-Identifier: Apache-2.0
"""Errors of shapes in Keras: they name the function, the shapes and the layer, and show no text of Tile and no node."""

import importlib.util
import os
import re

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)
if os.environ.get("KERAS_BACKEND", "tartan") != "tartan":
    pytest.skip("another backend of Keras is chosen", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "tartan"

import keras_tartan  # noqa: F401

import keras
from keras import layers, ops


def _fit(outputs, targets, **options):
    model = keras.Sequential([keras.Input((3,)), layers.Dense(outputs)])
    model.compile("sgd", options.pop("loss", "mse"), **options)
    model.fit(np.ones((8, 3)), None if targets is None else np.ones((8, targets)), verbose=0)


class _Calls(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self._function = function

    def call(self, x):
        return self._function(x)


def _subclassed(function):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = _Calls(function), layers.Dense(1)

        def call(self, x):
            return self.last(self.first(x))

    model = Model()
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 3)), np.ones((8, 1)), verbose=0)


_one = ops.ones
_MESSAGES = {
    "subtract: shapes [8, 5] and [8, 4] do not broadcast (in the loss of y float32[8, 5] and y_pred float32[8, 4])":
        lambda: _fit(4, 5),
    "None cannot be converted to a tensor (in the loss of y None and y_pred float32[8, 4])": lambda: _fit(4, None),
    "matmul of [8, 5] and [4, 8]: 5 is not 4 (in the loss of y float32[8, 5] and y_pred float32[8, 4])":
        lambda: _fit(4, 5, loss=lambda y, z: ops.matmul(y, ops.transpose(z))),
    "multiply: shapes [2, 3] and [4] do not broadcast": lambda: ops.rms_normalization(_one((2, 3)), _one(4)),
    "dot_product_attention(query: float32[2, 3, 2, 4], key: float32[2, 5, 2, 3], value: float32[2, 5, 2, 4]): MatMul: ":
        lambda: ops.dot_product_attention(_one((2, 3, 2, 4)), _one((2, 5, 2, 3)), _one((2, 5, 2, 4))),
    "max_pool(inputs: float32[1, 2, 2, 3], pool_size: 3, data_format: 'channels_last'): MaxPool: a window of 3":
        lambda: ops.max_pool(_one((1, 2, 2, 3)), 3),
    "floor_divide: fmod: shapes [2, 3] and [4] do not broadcast": lambda: ops.floor_divide(_one((2, 3)), _one(4)),
    "divide_no_nan: div: shapes [2, 3] and [4] do not broadcast": lambda: ops.divide_no_nan(_one((2, 3)), _one(4)),
    "add: shapes [2, 3] and [4] do not broadcast": lambda: _one((2, 3)) + _one(4),
    "matmul of [2, 3, 4] and [5, 4, 3]: shapes [2], [5] do not broadcast": lambda: ops.matmul(_one((2, 3, 4)), _one((5, 4, 3))),
    "scatter_update: ScatterND: scatter_nd of float32[2, 3], int64[1, 3], float32[1]: the data has no 3 dimensions":
        lambda: ops.scatter_update(_one((2, 3)), [[0, 0, 0]], _one(1)),
    "slice_update: updates of shape [3, 3] do not fit into [2, 3]":
        lambda: ops.slice_update(_one((2, 3)), (0, 0), _one((3, 3))),
    "unstack(x: float32[2, 3], axis: 4): axis 4 is out of bounds": lambda: ops.unstack(_one((2, 3)), axis=4),
    "tensors of the shapes [3, 2], [4, 2] have no common first dimension":
        lambda: ops.vectorized_map(lambda x: x[0] + x[1], (_one((3, 2)), _one((4, 2)))),
    "zeros: the shape [-2, 3] has a negative size": lambda: ops.zeros((-2, 3)),
    "normal: the shape [-2] has a negative size": lambda: keras.random.normal((-2,)),
    "arange: the step is 0": lambda: ops.arange(0, 3, 0),
    "shuffle(x: float32[2], axis: 3): axis 3 is out of bounds": lambda: keras.random.shuffle(_one(2), axis=3),
}


@pytest.mark.parametrize("message", _MESSAGES)
def test_errors_begin_with_the_function_and_its_shapes(message):
    with pytest.raises((ValueError, IndexError)) as found:
        _MESSAGES[message]()
    assert str(found.value).startswith(message) and "\n" not in str(found.value)
    assert not re.search(r"tile:\d|opset \d|function \(", str(found.value))


@pytest.mark.parametrize("function, message", [
    (lambda x: x * _one(4), "multiply: shapes [8, 3] and [4] do not broadcast"),
    (lambda x: x @ _one((4, 2)), "matmul of [8, 3] and [4, 2]: 3 is not 4"),
    (lambda x: ops.reshape(x, (-1, 7)), "reshape: cannot reshape [8, 3] into [-1, 7]"),
    (lambda x: ops.concatenate([x, _one((2, 3))], 1), "concatenate: [8, 3] and [2, 3] cannot be concatenated"),
])
def test_errors_in_a_layer_of_a_model_name_the_layer_before_a_step_is_captured(function, message, monkeypatch):
    monkeypatch.setattr("tartan._function._Program", None)
    with pytest.raises(ValueError) as found:
        _subclassed(function)
    assert message in str(found.value) and "Exception encountered when calling _Calls.call()" in str(found.value)


def test_unknown_sizes_are_none():
    with pytest.raises(ValueError, match=r"add: shapes \[None, 3\] and \[4\] do not broadcast"):
        _Calls(lambda x: x + _one(4))(keras.Input((3,)))


def test_positions_up_to_an_unknown_length_are_not_out_of_bounds():
    places = layers.Embedding(20, 4)
    embed = _Calls(lambda x: x + places(ops.arange(ops.shape(x)[1])))
    assert embed(keras.Input((None, 4))).shape == (None, None, 4)
    expected = 1 + ops.convert_to_numpy(places.embeddings)[:5]
    np.testing.assert_allclose(ops.convert_to_numpy(embed(np.ones((2, 5, 4), "float32"))), [expected, expected])
    with pytest.raises(IndexError, match="positions from 0 to 100 are out of bounds for axis 0 with size 20"):
        embed(keras.Input((101, 4)))


def test_an_error_of_a_users_function_stays_as_it_is():
    def refuses(x):
        raise ValueError("this is mine")

    for call in (lambda: ops.vectorize(refuses)(_one(2)), lambda: ops.cond(True, lambda: refuses(1), lambda: 1),
                 lambda: ops.map(refuses, _one(2)), lambda: _Calls(refuses)(_one(2))):
        with pytest.raises(ValueError, match="this is mine") as found:
            call()
        assert not re.search(r"\w+(\(.*\))?: this is mine", str(found.value))


def test_an_index_out_of_range_is_found_when_a_value_is_needed():
    at = ops.convert_to_tensor([[0], [7]])
    with pytest.raises(IndexError) as found:
        ops.convert_to_numpy(ops.scatter_update(_one(3), at, _one(2)))
    assert "index 7 is out of range" in str(found.value) and "opset" not in str(found.value)
