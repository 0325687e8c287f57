# SPDX-License-Identifier: Apache-2.0
"""Trains ONNX models, as the command `tartan train` does.

    trainer = tartan.train.Trainer("model.onnx", "mse", "adamw", rate=1e-3)
    for x, y in batches:
        loss = trainer.step((x, y))
    trainer.save("trained.onnx")

Losses, optimizers, schedules and metrics are texts of the command's options; docs/CLI.md describes them."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tartan import _core, _ranks, _runtime, _values
from tartan._tensor import Tensor, to_host

__all__ = ["Trainer"]

_TARGETS = ("y", "label", "labels", "target", "t")  # names of a target, if none is given


def _host(value, dtype=None):
    if isinstance(value, Tensor):
        value = value.numpy()
    array = np.asarray(value)
    if dtype is not None and str(array.dtype) != dtype:
        array = array.astype(dtype)
    return to_host(array)


def _text(names):
    return names if isinstance(names, str) else ",".join(names)


def _exchange(distributed):
    """Returns the exchange of the ranks, or None for one process."""
    if distributed and not _ranks.is_joined():
        raise ValueError("distributed=True needs tartan.distributed.initialize(), which joins the processes")
    ranks = None if distributed is False else _ranks.joined()
    return None if ranks is None else ranks.exchange


class Trainer:
    """A model on a device with its loss, optimizer and parameters. A step (forward pass, loss, gradients, updates) is
    one program, compiled once per batch shape. Parameters stay on the device.

    - `model` is the path of an ONNX file, its bytes, or an object with `SerializeToString`. Its float initializers
      are trained. The file must exist until `save` has been called.
    - `loss` is "softmax_cross_entropy", "binary_cross_entropy", "mse", "mae", "huber", "kl", "cosine", "triplet",
      "output" or "@FILE.tile", with options: "huber:delta=2". `output` names the value that it is applied to; by
      default the first output, before a softmax or sigmoid.
    - `optimizer` is "sgd", "momentum", "nesterov", "rmsprop", "adagrad", "adam", "adamw", "lion" or "lamb". `rate` is
      the learning rate of steps without another one, and the base rate of `fit`.
    - `clip_norm` limits the norm of all gradients together, `clip_value` each element; 0: no limit.
    - `accumulate` batches have their gradients averaged for one update.
    - `sparse_embeddings` updates only the rows of embeddings that a batch reads, as torch.optim.SparseAdam does: with
      "sgd", "adagrad", "adam" and "adamw", for tables that one Gather reads, without `accumulate`.
    - `precision` is "float32", "tf32", "bfloat16" or "float16", with which values of a step are stored and
      multiplied. `loss_scale` is "dynamic" or a number, for float16.
    - `trainable` and `frozen` are expressions (RE2) that match whole names of initializers. `groups` has factors for
      rate and weight decay by such expressions: {"encoder.*": (0.1, 1.0)}.
    - `lora` has rules "RE:rank=8,alpha=16": low-rank factors are trained instead of the weights of matmuls whose
      names match. `parameters` and `save` give the merged weights. Nothing else is trained, except `trainable`.
    - `batch_norm` normalises by the statistics of the batch, which the running ones follow.
    - `dropout` is True for the ratios of the model's Dropout nodes, or a ratio in [0, 1) for all of them.
      `dropout_at` adds dropout to values, {name: ratio}.
    - `augment` has random changes of pictures: "flip,crop:padding=4"; pictures are [N, C, H, W], or with
      `channels_last` [N, H, W, C].
    - `initialize` replaces parameters by random initial values. `seed` selects them, the order of examples, dropout
      and augmentation.
    - `memory_budget` limits device memory, in bytes; steps then recompute values.
    - `device` selects a device as `tartan.set_device` does.
    - `distributed` trains on all ranks of `tartan.distributed`; by default if `tartan.distributed.initialize` has
      joined several. Ranks have the same arguments. `fit` is given all data, and each rank takes its part of a batch.
      `step` and `evaluate` are given a rank's own examples (`tartan.distributed.part`). The first rank writes
      checkpoints and calls `log`.

    Errors: FileNotFoundError; ValueError for an invalid model, options out of range and unknown names, and if no
    parameter is left; NotImplementedError for unsupported operators and derivatives; MemoryError for a budget that
    is too small. Used by one thread at a time; the GIL is released while the device works."""

    def __init__(self, model: Any, loss: str = "softmax_cross_entropy", optimizer: str = "adamw", *, rate: float = 1e-3,
                 output: str = "", weight_decay: float = 0.0, momentum: float = 0.9, beta1: float = 0.9,
                 beta2: float = 0.999, epsilon: float = 1e-8, clip_norm: float = 0.0, clip_value: float = 0.0,
                 accumulate: int = 1, sparse_embeddings: bool = False, precision: str = "float32", loss_scale: str | float = "dynamic",
                 trainable: str = "", frozen: str = "", groups: Mapping[str, tuple[float, float]] | None = None,
                 lora: str | Sequence[str] = (), batch_norm: bool = False, dropout: bool | float = False,
                 dropout_at: Mapping[str, float] | None = None, augment: str | Sequence[str] = "",
                 channels_last: bool = False, straight_through: bool = False, initialize: bool = False, seed: int = 0,
                 memory_budget: int = 0, device: int | str | None = None, distributed: bool | None = None) -> None:
        self.rate, self._seed = float(rate), int(seed)
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        self._source = bytes(model) if isinstance(model, (bytes, bytearray, memoryview)) else os.fspath(model)
        chosen = _runtime.device() if device is None else _core.Device.open(str(device))
        if precision == "tf32":
            chosen, precision = chosen.with_precision("tf32"), "float32"
        exchange = _exchange(distributed)
        self._rank = 0 if exchange is None else _ranks.joined().rank
        has_ratio = not isinstance(dropout, bool)
        self._training = _core.Training.create(self._source, chosen, {
            "loss": loss, "optimizer": optimizer, "output": output, "weight_decay": float(weight_decay),
            "momentum": float(momentum), "beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon),
            "clip_norm": float(clip_norm), "clip_value": float(clip_value), "accumulate": int(accumulate),
            "sparse_embeddings": bool(sparse_embeddings),
            "precision": precision, "loss_scale": str(loss_scale), "trainable": trainable, "frozen": frozen,
            "groups": [(names, (float(rate), float(decay))) for names, (rate, decay) in (groups or {}).items()],
            "lora": [lora] if isinstance(lora, str) else list(lora), "batch_norm": bool(batch_norm), "dropout": bool(dropout) or has_ratio,
            "dropout_ratio": float(dropout) if has_ratio else None,
            "dropout_at": {name: float(ratio) for name, ratio in (dropout_at or {}).items()},
            "augment": _text(augment), "channels_last": bool(channels_last), "straight_through": bool(straight_through),
            "initialize": bool(initialize), "seed": self._seed, "memory_budget": int(memory_budget)},
            exchange)
        self._inputs = dict(self._training.inputs)
        self._takes_classes = loss.startswith("softmax_cross_entropy")

    def _split(self, batch):
        """Returns the inputs by name and the target, for the core."""
        inputs, target = batch, None
        if isinstance(batch, (tuple, list)):
            inputs, target = batch if len(batch) == 2 else (batch[0] if len(batch) == 1 else None, None)
            if inputs is None:
                raise ValueError(f"a batch is inputs, or (inputs, target), not {len(batch)} values")
        elif isinstance(batch, Mapping):
            others = [name for name in batch if name not in self._inputs]
            if len(others) > 1:
                raise ValueError(f"the model has no inputs {', '.join(map(repr, others[:-1]))}: its inputs are "
                                 f"{', '.join(map(repr, self._inputs))}")
            inputs = {name: batch[name] for name in batch if name in self._inputs}
            target = batch[others[0]] if others else None
        if not isinstance(inputs, Mapping):
            if len(self._inputs) != 1:
                raise ValueError(f"the model has the inputs {', '.join(map(repr, self._inputs))}: give a dictionary")
            inputs = {next(iter(self._inputs)): inputs}
        if not self._training.needs_target:
            target = None
        elif target is not None:
            array = np.asarray(target)
            target = _host(array, "int64" if self._takes_classes and array.dtype.kind in "iub" else "float32")
        return {name: _host(value, self._inputs.get(name)) for name, value in inputs.items()}, target

    def step(self, batch: Any, rate: float | None = None, wait: bool = True) -> float | None:
        """Makes a step on a batch and returns its loss, the mean over the examples before the update.

        `batch` is (inputs, target), or a dictionary with the inputs and the target by name. Inputs are an array, or
        a dictionary for models of several inputs. Arrays have the shapes of the model, examples first; the shape of
        the target depends on the loss. Values are converted to the types of the model. `rate` replaces the trainer's
        learning rate. With `wait` False, the step is only started and None is returned; `read` returns the mean loss.

        ValueError for shapes that do not fit, IndexError if a loss is not finite; parameters are then as before."""
        inputs, target = self._split(batch)
        self._training.step(inputs, target, self.rate if rate is None else float(rate))
        return self.read()["loss"] if wait else None

    def read(self) -> dict[str, Any]:
        """Waits for the started steps. Returns a dictionary for the batches since the last call: their number
        "batches", the mean "loss", the "accuracy" of classes (None for other losses), "loss_scale" (None without one)
        and "left_out", the total of updates skipped because of gradients that are not finite."""
        return self._training.read()

    def evaluate(self, batch: Any, size: int | None = None) -> float:
        """Returns the loss of a batch without dropout, augmentation and updates. `size` examples at a time are
        computed; by default all."""
        inputs, target = self._split(batch)
        count = next(iter(inputs.values())).shape[0] if size else 1
        numerator = denominator = 0.0
        for first in range(0, count, size or 1):
            part, part_target = inputs, target
            if size:
                part = {name: _slice(value, first, size) for name, value in inputs.items()}
                part_target = None if target is None else _slice(target, first, size)
            terms = self._training.evaluate(part, part_target)
            numerator, denominator = numerator + terms[0], denominator + terms[1]
        return numerator / denominator if denominator else 0.0

    def fit(self, data: Any, *, validation: Any = 0, target: str = "", columns: Mapping[str, str] | None = None,
            batch: int = 0, epochs: int = 1, steps: int = 0, schedule: str = "constant", shuffle: bool = True,
            drop_last: bool = False, check_data: bool = True, metrics: str | Sequence[str] = (),
            threshold: float | None = None, log_every: int = 10, checkpoint: str | os.PathLike[str] = "",
            checkpoint_every: int = 0, resume: bool = False, patience: int = 0, tensorboard: str | os.PathLike[str] = "",
            log: Callable[[dict[str, Any]], Any] | None = None) -> dict[str, Any]:
        """Trains for epochs, or for a number of updates if `steps` is given.

        `data` is (inputs, target) as for `step`, a dictionary of arrays by column, or the text of the command's
        option --data, such as a path. `validation` is a share of the examples, from 1 on their number, or other data.
        Other arguments are those of the command; `tensorboard` is a folder for an event file. `log` is called with a dictionary for each line of the log: "step",
        "epoch", "rate", "loss", "metrics", "step_ms" and others. An exception in it, and Ctrl-C, end the run after
        its checkpoint is saved.

        Returns "steps", "metrics" of the end, "median_step_ms", "ended_early", "is_best" and "history", the lines."""
        history = []
        is_first = self._rank == 0

        def take(line):
            history.append(line)
            if log is not None and is_first:
                log(line)

        is_number = isinstance(validation, (int, float))
        options = {
            "columns": dict(columns or {}), "target": target, "batch": int(batch), "epochs": int(epochs),
            "steps": int(steps), "validation": float(validation) if is_number else 0.0, "schedule": schedule,
            "shuffle": bool(shuffle), "drop_last": bool(drop_last), "check_data": bool(check_data), "seed": self._seed,
            "rate": self.rate, "metrics": [name for name in _text(metrics).split(",") if name],
            "threshold": threshold, "log_every": int(log_every), "checkpoint": os.fspath(checkpoint),
            "checkpoint_every": int(checkpoint_every), "resume": bool(resume), "patience": int(patience),
            "tensorboard": os.fspath(tensorboard) if is_first else ""}
        result = self._training.fit(self._columns(data), None if is_number else self._columns(validation), options,
                                    take, lambda message: warnings.warn(message, stacklevel=3))
        return {**result, "history": history}

    def _columns(self, data):
        if isinstance(data, (str, os.PathLike)):
            return os.fspath(data)
        if isinstance(data, Mapping):
            return [(name, _host(value)) for name, value in data.items()]
        inputs, target = self._split(data)
        columns = list(inputs.items())
        if target is not None:
            columns.append((next(name for name in _TARGETS if name not in inputs), target))
        return columns

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The current values of trained parameters and updated running statistics, by initializer, as arrays. Before
        the first step it is empty."""
        return {name: _values.array_of(value) for name, value in self._training.values().items()}

    @property
    def trained(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters that are trained, by name."""
        return {name: tuple(dims) for name, dims, is_trained in self._training.parameters if is_trained}

    @property
    def steps(self) -> int:
        """The number of updates."""
        return self._training.steps

    @property
    def memory(self) -> dict[str, int]:
        """Bytes on the device by purpose: "peak", the sum of "parameters", "state" (the optimizer's averages),
        "kept" (values kept for gradients), "scratch", "batch" and "constants"."""
        return self._training.memory

    def state(self) -> dict[str, Any]:
        """Returns the state of training: "step", "batches", and "tensors", arrays by name."""
        step, batches, tensors = self._training.save_state()
        arrays = {name: np.array(_values.array_of(value)) for name, value in tensors.items()}
        return {"step": step, "batches": batches, "tensors": arrays}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continues from a state of `state`. ValueError for a state of another model or other options."""
        tensors = {name: _host(value) for name, value in state["tensors"].items()}
        self._training.restore_state(state["step"], state["batches"], tensors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model with its trained parameters as ONNX. Everything else in the file stays."""
        if isinstance(self._source, str):
            self._training.write(self._source, os.fspath(path))
            return
        with tempfile.TemporaryDirectory() as folder:
            original = os.path.join(folder, "model.onnx")
            with open(original, "wb") as file:
                file.write(self._source)
            self._training.write(original, os.fspath(path))


def _slice(value, first, size):
    return to_host(_values.array_of(value)[first:first + size])
