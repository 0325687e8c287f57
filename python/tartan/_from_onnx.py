# SPDX-License-Identifier: Apache-2.0
"""tartan.from_onnx: ONNX models as Keras layers."""

from __future__ import annotations

from typing import Any


def from_onnx(model: Any, trainable: bool = True, training: bool = False, **options: Any) -> Any:
    """Returns a Keras layer that computes an ONNX model. `model` is a path or the bytes of a file. Float
    initializers become variables of the layer. They are trainable unless they are running statistics of a
    BatchNormalization, or `trainable` is False. `options` are passed to keras.layers.Layer, for example `name`.

    With `training`, a BatchNormalization uses the statistics of the batch when the layer is called in training mode,
    and updates the running statistics; without it, inference mode always applies. NotImplementedError for models
    with Dropout and `training`. ImportError without Keras, RuntimeError if Keras uses another backend, ValueError
    for an invalid model."""
    import sys

    if "keras" not in sys.modules:
        try:
            import keras_tartan  # noqa: F401: registers the backend with Keras
        except ImportError as error:
            raise ImportError("tartan.from_onnx needs Keras: pip install 'keras>=3.15,<3.17'") from error
    try:
        import keras
    except ImportError as error:
        raise ImportError("tartan.from_onnx needs Keras: pip install 'keras>=3.15,<3.17'") from error
    if keras.backend.backend() != "tartan":
        raise RuntimeError(f"tartan.from_onnx needs Keras with the backend 'tartan', but Keras has the backend "
                           f"'{keras.backend.backend()}': set KERAS_BACKEND=tartan before Keras is imported")
    from keras_tartan.layers import OnnxLayer

    return OnnxLayer(model, trains_statistics=training, trainable=trainable, **options)
