# SPDX-License-Identifier: Apache-2.0
"""Other frameworks in the process of a Keras program on Tartan. They publish their own protobuf and LLVM, so every
order of import is tried, with those frameworks that are installed."""

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)

FRAMEWORKS = [name for name in ("torch", "jax", "tensorflow") if importlib.util.find_spec(name)]
pytestmark = pytest.mark.skipif(not FRAMEWORKS, reason="torch, jax and tensorflow are not installed")

_PROGRAM = """
import os, sys
os.environ["KERAS_BACKEND"] = "tartan"
import numpy as np

SQUARE = np.arange(16, dtype="float32").reshape(4, 4) / 16
WANTED = float((SQUARE @ SQUARE).sum())

def torch():
    import torch
    x = torch.tensor(SQUARE, requires_grad=True)
    (x @ x).sum().backward()
    return float((x @ x).sum())

def jax():
    import jax
    return float(jax.jit(lambda x: (x @ x).sum())(SQUARE))

def tensorflow():
    import tensorflow as tf
    return float(tf.function(lambda x: tf.reduce_sum(x @ x), jit_compile=True)(tf.constant(SQUARE)))

def tartan():
    import tartan
    import keras
    assert keras.backend.backend() == "tartan"
    x = np.random.default_rng(0).standard_normal((96, 40)).astype("float32")
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((40,)), keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    losses = model.fit(x, x[:, :1], epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0], losses
    return float(tartan.sum(tartan.asarray(SQUARE) @ tartan.asarray(SQUARE)))

for name in sys.argv[1:] + sys.argv[1:]:
    value = globals()[name]()
    assert abs(value - WANTED) < 1e-4, (name, value, WANTED)
print("fine")
"""


@pytest.mark.parametrize("order", list(itertools.permutations(["tartan", *FRAMEWORKS])), ids="-".join)
def test_training_works_in_every_order_of_import(order):
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *order], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr[-2000:]
