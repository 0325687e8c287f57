# SPDX-License-Identifier: Apache-2.0
"""Element type numbers of ONNX (TensorProto.DataType)."""

from tartan import _dtypes

NUMBERS = {_dtypes.ALL[name]: number for name, number in {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16}.items()}

BY_NUMBER = {number: dtype for dtype, number in NUMBERS.items()}
