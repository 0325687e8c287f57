# SPDX-License-Identifier: Apache-2.0
"""Export of Keras models to ONNX, and through ONNX to other formats: `model.export(path, format="onnx")`."""

from keras_tartan.src.onnx_export.export import export_onnx
from keras_tartan.src.onnx_export.formats import export_converted
