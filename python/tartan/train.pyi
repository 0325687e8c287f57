# SPDX-License-Identifier: Apache-2.0
# Written by python/stubs/write_stubs.py.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

class Trainer:
    """A model on a device with its loss, optimizer and parameters."""

    def __init__(
        self, model: Any, loss: str = 'softmax_cross_entropy', optimizer: str = 'adamw', *, rate: float = 0.001,
        output: str = '', weight_decay: float = 0.0, momentum: float = 0.9, beta1: float = 0.9, beta2: float = 0.999,
        epsilon: float = 1e-08, clip_norm: float = 0.0, clip_value: float = 0.0, accumulate: int = 1,
        sparse_embeddings: bool = False, precision: str = 'float32', loss_scale: str | float = 'dynamic',
        trainable: str = '', frozen: str = '', groups: Mapping[str, tuple[float, float]] | None = None,
        lora: str | Sequence[str] = (), batch_norm: bool = False, dropout: bool | float = False,
        dropout_at: Mapping[str, float] | None = None, augment: str | Sequence[str] = '', channels_last: bool = False,
        straight_through: bool = False, initialize: bool = False, seed: int = 0, memory_budget: int = 0,
        device: int | str | None = None, distributed: bool | None = None) -> None: ...
    def step(self, batch: Any, rate: float | None = None, wait: bool = True) -> float | None: ...
    def read(self) -> dict[str, Any]: ...
    def evaluate(self, batch: Any, size: int | None = None) -> float: ...
    def fit(
        self, data: Any, *, validation: Any = 0, target: str = '', columns: Mapping[str, str] | None = None,
        batch: int = 0, epochs: int = 1, steps: int = 0, schedule: str = 'constant', shuffle: bool = True,
        drop_last: bool = False, check_data: bool = True, metrics: str | Sequence[str] = (),
        threshold: float | None = None, log_every: int = 10, checkpoint: str | os.PathLike[str] = '',
        checkpoint_every: int = 0, resume: bool = False, patience: int = 0, tensorboard: str | os.PathLike[str] = '',
        log: Callable[[dict[str, Any]], Any] | None = None) -> dict[str, Any]: ...
    @property
    def parameters(self) -> dict[str, np.ndarray]: ...
    @property
    def trained(self) -> dict[str, tuple[int, ...]]: ...
    @property
    def steps(self) -> int: ...
    @property
    def memory(self) -> dict[str, int]: ...
    def state(self) -> dict[str, Any]: ...
    def load_state(self, state: Mapping[str, Any]) -> None: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
