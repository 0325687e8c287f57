# SPDX-License-Identifier: Apache-2.0
"""Export of Keras models to ONNX: `model.export(path, format="onnx")`."""

from keras_tartan.src.onnx_export.export import export_onnx
