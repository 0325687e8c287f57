# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX as layers of Keras."""

from __future__ import annotations

from typing import Any


def from_onnx(model: Any, trainable: bool = True, training: bool = False, **options: Any):
    """A layer of Keras that computes what a model of ONNX does: `model` is a path or the bytes of a file. Its float
    initializers are variables of the layer, which are trained unless they are running statistics of a
    BatchNormalization, or `trainable` is False. `options` are those of keras.layers.Layer, as `name`.

    With `training` a BatchNormalization takes the statistics of the batch where the layer is called to train, and moves the
    running ones; without it computes as in inference always. NotImplementedError for models with Dropout then.
    ImportError without Keras, RuntimeError where it has another backend, ValueError for a model that is wrong."""
    import sys

    if "keras" not in sys.modules:
        try:
            import keras_tartan  # noqa: F401: Keras finds the backend then
        except ImportError as error:
            raise ImportError("tartan.from_onnx makes layers of Keras: pip install 'keras>=3.15,<3.16'") from error
    try:
        import keras
    except ImportError as error:
        raise ImportError("tartan.from_onnx makes layers of Keras: pip install 'keras>=3.15,<3.16'") from error
    if keras.backend.backend() != "tartan":
        raise RuntimeError(f"tartan.from_onnx makes layers of Keras with the backend 'tartan', and Keras has the backend "
                           f"'{keras.backend.backend()}': set KERAS_BACKEND=tartan before Keras is imported")
    from keras_tartan.layers import OnnxLayer

    return OnnxLayer(model, trains_statistics=training, trainable=trainable, **options)
