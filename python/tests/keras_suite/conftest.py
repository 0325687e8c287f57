# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that Keras' wheel ships, which come without a conftest.py:
KERAS_BACKEND=tartan python -m pytest -c python/tests/keras_suite/pytest.ini --pyargs keras.src.ops.nn_test"""

import os

os.environ.setdefault("KERAS_BACKEND", "tartan")

if os.environ["KERAS_BACKEND"] == "tartan":
    import keras_tartan
    from keras_tartan import _hook

    _hook.add("keras.src.trainers.trainer_test",
              'else:\n    raise ImportError(f"Invalid backend: {backend.backend()}")',
              'elif backend.backend() == "tartan":\n'
              "    from keras_tartan.src.trainer import TartanTrainer as Trainer\n")
    _hook.add("keras.src.trainers.trainer_test", '            "torch": "cpu",\n        }',
              '            "tartan": "cpu",\n')

import pytest
from keras.src import backend



def skip_if_backend(given_backend, reason):
    return pytest.mark.skipif(backend.backend() == given_backend, reason=reason)


# Tests that the marks of Keras leave out for its own backends without derivatives run here.
_NEEDS = {"requires_trainable_backend": backend.backend() in ("numpy", "openvino")}


def pytest_configure(config):
    for mark in ("requires_trainable_backend", "multi_device"):
        config.addinivalue_line("markers", f"{mark}: of Keras' tests")


def pytest_collection_modifyitems(config, items):
    for item in items:
        for mark, is_missing in _NEEDS.items():
            if is_missing and mark in item.keywords:
                item.add_marker(pytest.mark.skip(reason=f"{mark} on {backend.backend()}"))
        if "multi_device" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="one device"))
