# SPDX-License-Identifier: Apache-2.0
"""tartan.train.Trainer: losses beside NumPy in float64, the command's losses, and its options."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tartan
import tartan.train

_RANDOM = np.random.default_rng(5)
_W1 = _RANDOM.normal(size=(3, 5)).astype("float32")
_B1 = _RANDOM.normal(size=5).astype("float32")
_W2 = _RANDOM.normal(size=(5, 2)).astype("float32")
_X = _RANDOM.normal(size=(13, 3)).astype("float32")
_T = _RANDOM.normal(size=(13, 2)).astype("float32")


def _model(inputs=("x",)):
    """y = tanh(x w1 + b1) w2, of the sum of the inputs."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in inputs]
    nodes = [helper.make_node("Sum", list(inputs), ["s"]), helper.make_node("MatMul", ["s", "w1"], ["h"]),
             helper.make_node("Add", ["h", "b1"], ["g"]), helper.make_node("Tanh", ["g"], ["a"]),
             helper.make_node("MatMul", ["a", "w2"], ["y"])]
    weights = [numpy_helper.from_array(value, name) for name, value in (("w1", _W1), ("b1", _B1), ("w2", _W2))]
    graph = helper.make_graph(nodes, "mlp", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
                              weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _adamw_losses(steps, rate, decay=0.0):
    """The losses of AdamW on all data, in float64."""
    w1, b1, w2 = (value.astype("float64") for value in (_W1, _B1, _W2))
    means = [np.zeros_like(value) for value in (w1, b1, w2)]
    squares = [np.zeros_like(value) for value in (w1, b1, w2)]
    losses = []
    for step in range(1, steps + 1):
        a = np.tanh(_X @ w1 + b1)
        error = a @ w2 - _T
        losses.append(np.mean(error ** 2))
        of_y = 2 * error / error.size
        of_g = of_y @ w2.T * (1 - a ** 2)
        for i, (value, gradient) in enumerate(zip((w1, b1, w2), (_X.T @ of_g, of_g.sum(0), a.T @ of_y))):
            means[i] = 0.9 * means[i] + 0.1 * gradient
            squares[i] = 0.999 * squares[i] + 0.001 * gradient ** 2
            value *= 1 - rate * decay
            value -= rate * (means[i] / (1 - 0.9 ** step)) / (np.sqrt(squares[i] / (1 - 0.999 ** step)) + 1e-8)
    return losses, {"w1": w1, "b1": b1, "w2": w2}


def test_steps_are_those_of_adamw_in_float64(tmp_path):
    trainer = tartan.train.Trainer(_model(), "mse", "adamw", rate=0.01, weight_decay=0.1)
    expected, parameters = _adamw_losses(12, 0.01, 0.1)
    np.testing.assert_allclose([trainer.step((_X, _T)) for _ in range(12)], expected, rtol=1e-5)
    assert trainer.steps == 12
    assert trainer.trained == {"w1": (3, 5), "b1": (5,), "w2": (5, 2)}
    for name, value in trainer.parameters.items():
        np.testing.assert_allclose(value, parameters[name], rtol=1e-4, atol=1e-5)
    loss = trainer.evaluate((_X, _T))
    assert trainer.evaluate({"x": _X, "t": _T}, size=5) == pytest.approx(loss, rel=1e-6)
    trainer.save(tmp_path / "trained.onnx")
    (y,) = tartan.InferenceSession(tmp_path / "trained.onnx").run(None, {"x": _X})
    assert np.mean((y - _T) ** 2) == pytest.approx(loss, rel=1e-5)
    assert trainer.memory["parameters"] == 4 * (15 + 5 + 10)


def test_fit_has_the_losses_of_the_command(tmp_path):
    onnx.save(_model(), tmp_path / "model.onnx")
    np.savez(tmp_path / "data.npz", x=_X, y=_T)
    arguments = [os.path.join(os.path.dirname(tartan.__file__), "bin/tartan"), "train", str(tmp_path / "model.onnx"), "--data",
                 str(tmp_path / "data.npz"), "--loss", "huber:delta=0.5", "--optimizer", "momentum", "--lr", "0.05",
                 "--batch", "4", "--epochs", "3", "--val", "3", "--clip-norm", "0.5", "--seed", "7", "--log-every",
                 "1", "--schedule", "cosine", "--format", "json", "--export", str(tmp_path / "command.onnx")]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()][:-1]
    trainer = tartan.train.Trainer(tmp_path / "model.onnx", "huber:delta=0.5", "momentum", rate=0.05, clip_norm=0.5,
                                   seed=7)
    result = trainer.fit((_X, _T), batch=4, epochs=3, validation=3, log_every=1, schedule="cosine")
    assert [line["loss"] for line in result["history"]] == [line["loss"] for line in lines]
    assert result["history"][-1]["metrics"] == lines[-1]["metrics"]
    trainer.save(tmp_path / "package.onnx")
    assert (tmp_path / "package.onnx").read_bytes() == (tmp_path / "command.onnx").read_bytes()


def test_steps_without_waiting_are_read_together():
    trainer = tartan.train.Trainer(_model(), "mse", "sgd", rate=0.0)
    alone = [trainer.step((_X[:4], _T[:4])), trainer.step((_X[4:8], _T[4:8]))]
    assert trainer.step((_X[:4], _T[:4]), wait=False) is None
    trainer.step((_X[4:8], _T[4:8]), wait=False)
    progress = trainer.read()
    assert progress["batches"] == 2
    assert progress["loss"] == pytest.approx(np.mean(alone), rel=1e-6)


def test_sparse_embeddings_change_the_rows_that_were_read():
    table = np.random.default_rng(3).standard_normal((20, 3)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "ids"], ["y"])]
    graph = helper.make_graph(nodes, "rows", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
                              [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    trainer = tartan.train.Trainer(model, "mse", "adam", rate=0.1, sparse_embeddings=True)
    ids = np.array([4, 9, 4, -1])
    for _ in range(2):
        trainer.step(({"ids": ids}, np.zeros((4, 3), np.float32)))
    changed = np.any(trainer.parameters["table"] != table, axis=1)
    assert np.flatnonzero(changed).tolist() == [4, 9, 19]


def test_accumulated_batches_are_one_update():
    whole = tartan.train.Trainer(_model(), "mse", "sgd", rate=0.1)
    whole.step((_X[:8], _T[:8]))
    parts = tartan.train.Trainer(_model(), "mse", "sgd", rate=0.1, accumulate=2)
    parts.step((_X[:4], _T[:4]))
    assert parts.steps == 0
    parts.step((_X[4:8], _T[4:8]))
    assert parts.steps == 1
    for name, value in whole.parameters.items():
        np.testing.assert_allclose(parts.parameters[name], value, rtol=1e-5, atol=1e-6)


def test_a_state_continues_bit_for_bit():
    trainer = tartan.train.Trainer(_model(), "mse", dropout_at={"a": 0.3}, seed=3)
    for _ in range(3):
        trainer.step((_X, _T))
    other = tartan.train.Trainer(_model(), "mse", dropout_at={"a": 0.3}, seed=3)
    other.load_state(trainer.state())
    assert trainer.step((_X, _T)) == other.step((_X, _T))
    with pytest.raises(ValueError, match="the model does not have"):
        other.load_state({"step": 1, "batches": 1, "tensors": {"parameter/w9": _W1}})


def test_models_of_several_inputs_take_a_dictionary():
    trainer = tartan.train.Trainer(_model(("left", "right")), "mse", frozen="b1|w2")
    loss = trainer.step({"left": _X, "right": np.zeros_like(_X), "target": _T})
    assert loss == pytest.approx(_adamw_losses(1, 0)[0][0], rel=1e-5)
    assert list(trainer.trained) == ["w1"]
    assert trainer.evaluate(({"left": _X, "right": _X}, _T)) > 0
    with pytest.raises(ValueError, match="'left', 'right'"):
        trainer.step((_X, _T))
    with pytest.raises(ValueError, match="no inputs 'middle'"):
        trainer.step({"left": _X, "middle": _X, "t": _T})


def test_classes_are_integers_of_any_type():
    trainer = tartan.train.Trainer(_model(), rate=0.0)
    scores = np.tanh(_X @ _W1 + _B1) @ _W2
    classes = np.arange(13, dtype="uint8") % 2
    expected = np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(13), classes])
    assert trainer.step((_X, classes)) == pytest.approx(expected, rel=1e-5)


def test_exceptions_of_the_log_end_a_run_with_its_checkpoint(tmp_path):
    trainer = tartan.train.Trainer(_model(), "mse")

    def log(line):
        if line["step"] == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        trainer.fit((_X, _T), batch=2, epochs=9, log_every=1, checkpoint=tmp_path / "run", log=log)
    assert (tmp_path / "run" / "last.ckpt").exists()
    again = tartan.train.Trainer(_model(), "mse")
    with pytest.warns(UserWarning, match="continues after step 4"):
        result = again.fit((_X, _T), batch=2, epochs=9, checkpoint=tmp_path / "run", resume=True)
    assert result["steps"] == 9 * 7
    straight = tartan.train.Trainer(_model(), "mse")
    straight.fit((_X, _T), batch=2, epochs=9)
    for name, value in straight.parameters.items():
        np.testing.assert_array_equal(again.parameters[name], value)


def test_merged_factors_are_the_trained_model(tmp_path):
    trainer = tartan.train.Trainer(_model(), "mse", rate=0.05, lora="w.:rank=1,alpha=2")
    frozen = tartan.train.Trainer(_model(), "mse", rate=0.0)
    assert trainer.step((_X, _T)) == pytest.approx(frozen.step((_X, _T)), rel=1e-6)
    assert trainer.trained == {"w1.lora_a": (3, 1), "w1.lora_b": (1, 5), "w2.lora_a": (5, 1), "w2.lora_b": (1, 2)}
    for _ in range(20):
        trainer.step((_X, _T))
    loss = trainer.evaluate((_X, _T))
    assert loss < frozen.evaluate((_X, _T)) / 1.2
    trainer.save(tmp_path / "merged.onnx")
    merged, original = onnx.load(tmp_path / "merged.onnx"), _model()
    assert merged.graph.node == original.graph.node
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in merged.graph.initializer}
    np.testing.assert_array_equal(weights["b1"], _B1)
    tensors = trainer.state()["tensors"]
    factors = tensors["parameter/w1.lora_a"] @ tensors["parameter/w1.lora_b"]
    np.testing.assert_allclose(weights["w1"], _W1 + 2 * factors, rtol=1e-6, atol=1e-7)
    (y,) = tartan.InferenceSession(tmp_path / "merged.onnx").run(None, {"x": _X})
    assert np.mean((y - _T) ** 2) == pytest.approx(loss, rel=1e-5)


def test_tensorboard_reads_the_event_file(tmp_path):
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    trainer = tartan.train.Trainer(_model(), "mse", rate=0.01)
    result = trainer.fit((_X, _T), batch=4, validation=3, epochs=3, log_every=1, schedule="linear",
                         tensorboard=tmp_path / "logs")
    events = module.EventAccumulator(str(tmp_path / "logs"))
    events.Reload()

    def scalars(tag):
        return [(event.step, event.value) for event in events.Scalars(tag)]

    lines = result["history"]
    assert scalars("train/loss") == [(line["step"], np.float32(line["loss"])) for line in lines]
    assert scalars("train/rate") == [(line["step"], np.float32(line["rate"])) for line in lines]
    assert scalars("validation/loss") == [(line["step"], np.float32(line["metrics"]["val_loss"])) for line in lines
                                          if line["is_epoch_end"]]
    assert len(scalars("validation/mae")) == 3


@pytest.mark.parametrize("arguments, message", [
    ({"loss": "nothing"}, "there is no loss 'nothing'"),
    ({"optimizer": "nothing"}, "nothing"),
    ({"precision": "int7"}, "int7"),
    ({"frozen": ".*"}, "nothing is left to train"),
    ({"beta1": 1.5}, "1.5"),
    ({"accumulate": 0}, "0 steps"),
    ({"sparse_embeddings": True, "optimizer": "momentum"}, "momentum cannot update single rows"),
    ({"sparse_embeddings": True, "accumulate": 2}, "accumulated gradients"),
])
def test_options_out_of_range_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        tartan.train.Trainer(_model(), **{"loss": "mse", **arguments})


def test_a_budget_that_is_too_small_is_a_memory_error():
    trainer = tartan.train.Trainer(_model(), "mse", memory_budget=100)
    with pytest.raises(MemoryError, match="memory budget of 100 bytes"):
        trainer.step((_X, _T))


def test_losses_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Parameter(torch.tensor(value)) for value in (_W1, _B1, _W2)]
    optimizer = torch.optim.Adam(layers, lr=0.02, weight_decay=0.01)
    trainer = tartan.train.Trainer(_model(), "huber", "adam", rate=0.02, weight_decay=0.01, clip_norm=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        y = torch.tanh(torch.tensor(_X) @ layers[0] + layers[1]) @ layers[2]
        loss = torch.nn.functional.huber_loss(y, torch.tensor(_T))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layers, 0.1)
        optimizer.step()
        assert trainer.step((_X, _T)) == pytest.approx(loss.item(), rel=1e-5)
