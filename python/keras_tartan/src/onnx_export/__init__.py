# SPDX-License-Identifier: Apache-2.0
"""Models of Keras written as ONNX: `model.export(path, format="onnx")`."""

from keras_tartan.src.onnx_export.export import export_onnx
