# SPDX-License-Identifier: Apache-2.0
"""A typed user program, which test_types.py runs and checks with mypy."""

from typing import Dict, List, Tuple

import numpy as np
import tartan
from tartan import linalg, random

Weights = Dict[str, tartan.Tensor]


def loss(weights: Weights, x: tartan.Tensor, y: tartan.Tensor) -> tartan.Tensor:
    hidden = tartan.tanh(x @ weights["first"] + weights["bias"])
    return tartan.mean((hidden - y) ** 2, axis=-1).sum(keepdims=False)


@tartan.function
def step(x: tartan.Tensor) -> Tuple[tartan.Tensor, int]:
    return 2.0 * x[1:, ..., None] - x.at[0].set(1.0).mT.sum(axis=0), 3


@tartan.function(name="named")
def twice(x: tartan.Tensor) -> tartan.Tensor:
    return x + x


def main() -> List[float]:
    key, other = random.split(random.key(7))
    x = random.normal(other, (3, 4), tartan.float32)
    weights: Weights = {"first": tartan.ones((4, 2)), "bias": tartan.asarray([0.0, 1.0])}
    slopes: Weights = tartan.grad(loss)(weights, x, tartan.zeros((3, 2)))
    each: Weights = tartan.vmap(tartan.grad(loss), in_axes=(None, 0, None))(weights, x, np.zeros(2, "float32"))
    value, count = step(tartan.eye(4))
    values, vectors = linalg.eigh(x.T @ x)
    product = tartan.tile("function (A) -> (B) { B = A * A; }")
    state = tartan.Variable(np.zeros(3), dtype="float32", name="state")
    state.assign(state.value + tartan.max(tartan.stack([x[:, 0], x[:, 1]]), axis=0))
    with tartan.recording():
        y = tartan.clip(x, min=0) * product(x)
        (derivative,) = tartan.gradients(tartan.sum(y), [x])
    parts: List[tartan.Tensor] = tartan.split(twice(derivative), 2, axis=1)
    is_known: bool = not x.is_traced and x.ndim == len(x.shape)
    shape: Tuple[int, ...] = tartan.broadcast_shapes(x.shape, (3, 1))
    array = vectors.numpy() if is_known else np.zeros(shape)
    return [float(slopes["bias"][0]), each["first"].tolist()[0][0][0], values.item(0), float(parts[0][0, 0]), float(array[0, 0]),
            float(value.size + count), float(key[0])]


def wrong() -> None:  # a type checker reports each line
    tartan.sum(tartan.ones(3), axes=0)  # type: ignore[call-arg]
    tartan.exp()  # type: ignore[call-arg]
    linalg.inv("text", 1)  # type: ignore[call-arg]
    number: int = tartan.ones(3)  # type: ignore[assignment]
    tartan.no_function(number)  # type: ignore[attr-defined]


if __name__ == "__main__":
    print(main())
