# SPDX-License-Identifier: Apache-2.0
"""Sessions on several devices: device=[…] splits the batch."""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tartan

_DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"


def _model(shape, axes=None):
    """Returns a model with y = softmax(x @ w), or with the sum over the batch subtracted if `axes` is given."""
    weight = np.random.default_rng(1).standard_normal((16, 8), dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    if axes is not None:
        nodes[1:] = [helper.make_node("ReduceMean", ["z"], ["m"], axes=axes), helper.make_node("Sub", ["z", "m"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [shape, size]) for name, size in (("x", 16), ("y", 8))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [onnx.numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def _x(rows):
    return np.random.default_rng(rows).standard_normal((rows, 16), dtype=np.float32)


def test_outputs_are_those_of_one_device_bit_for_bit():
    one = tartan.InferenceSession(_model("N"), device=0, tier="ready")
    two = tartan.InferenceSession(_model("N"), device=[0, 0], tier="ready")
    for rows in (1, 2, 5, 32):
        np.testing.assert_array_equal(two.run(None, {"x": _x(rows)})[0], one.run(None, {"x": _x(rows)})[0])


def test_runs_may_overlap():
    session = tartan.InferenceSession(_model("N"), device=[0, "0"])
    expected = session.run(None, {"x": _x(6)})[0]
    for future in [session.run_later(None, {"x": _x(6)}) for _ in range(8)]:
        np.testing.assert_allclose(future.result()[0], expected, rtol=1e-5)


def test_a_list_of_one_device_is_a_session_on_it():
    session = tartan.InferenceSession(_DIGITS, device=[0])
    assert session.run(None, {"x": np.zeros((1, 1, 28, 28), np.float32)})[0].shape == (1, 10)


def test_models_without_a_batch_axis_are_refused():
    with pytest.raises(ValueError, match="has no batch axis.*x: float32"):
        tartan.InferenceSession(_model(4), device=[0, 0])


def test_rows_that_depend_on_each_other_are_refused():
    session = tartan.InferenceSession(_model("N", axes=[0]), device=[0, 0])
    with pytest.raises(RuntimeError, match="depends on other rows of the batch"):
        session.run(None, {"x": _x(4)})


def test_states_and_reports_take_one_device():
    with pytest.raises(ValueError, match="a session with states takes one device, not 2"):
        tartan.InferenceSession(_model("N"), device=[0, 0], states={"y": "x"})
    with pytest.raises(NotImplementedError, match="several devices"):
        tartan.explain(tartan.InferenceSession(_model("N"), device=[0, 0]), {"x": _x(4)})
    with pytest.raises(ValueError, match="empty list"):
        tartan.InferenceSession(_model("N"), device=[])
