# SPDX-License-Identifier: Apache-2.0
"""Conversion of ONNX inputs and outputs to and from Python: NumPy arrays, lists for sequences, dictionaries for
maps, None for missing optionals. Strings are object arrays; low-precision types are those of the package
ml_dtypes."""

import numpy as np

from tartan import _dtypes
from tartan._tensor import Tensor, to_host

# Low-precision dtypes: names in ml_dtypes → names in the core.
_NARROW = {
    "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz", "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz", "float8_e8m0fnu": "float8e8m0", "float6_e2m3fn": "float6e2m3",
    "float6_e3m2fn": "float6e3m2", "float4_e2m1fn": "float4e2m1", "int4": "int4", "uint4": "uint4",
    "int2": "int2", "uint2": "uint2"}
_BY_ELEMENT = {element: name for name, element in _NARROW.items()}


def to_core(value):
    """Converts a value for a session of the core. TypeError for values that no model accepts."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        return value.host()
    if isinstance(value, dict):
        return ("map", to_core(np.array(list(value))), to_core(np.array(list(value.values()))))
    if isinstance(value, (list, tuple)):
        return [to_core(element) for element in value]
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        strings = [s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1).tolist()]
        return ("strings", list(array.shape), strings)
    if array.dtype.name in _NARROW:
        return ("element", _NARROW[array.dtype.name], _stored(array))
    return to_host(array)


def _stored(array):
    """Returns the integers that represent low-precision elements."""
    name = array.dtype.name
    if name.startswith("int"):
        return to_host(array.astype(np.int8))
    if name.startswith("uint"):
        return to_host(array.astype(np.uint8))
    return to_host(array.view(np.uint8))


def array_of(host):
    """Returns a HostTensor as an array that shares its memory."""
    return host.bytes().view(_dtypes.numpy_dtype(host.dtype)).reshape(host.shape)


def from_core(value):
    if value is None:
        return None
    if isinstance(value, list):
        return [from_core(element) for element in value]
    if not isinstance(value, tuple):
        return array_of(value)
    kind = value[0]
    if kind == "strings":
        strings = [s.decode(errors="surrogateescape") for s in value[2]]
        array = np.empty(len(strings), dtype=object)
        array[:] = strings
        return array.reshape(value[1])
    if kind == "map":
        return _maps(from_core(value[1]), from_core(value[2]))
    return _narrow(value[1], array_of(value[2]))


def _maps(keys, values):
    """Returns a dictionary, or a list of dictionaries if there is a row of values per map."""
    keys = keys.tolist()
    if values.ndim == 1:
        return dict(zip(keys, values.tolist()))
    return [dict(zip(keys, row)) for row in values.tolist()]


def _narrow(element, array):
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, _BY_ELEMENT[element]))
    return array.astype(dtype) if "int" in element else array.view(dtype)
