# SPDX-License-Identifier: Apache-2.0
"""Element types: strings that are also the names of the array API standard."""

import numpy as np

try:
    import ml_dtypes

    _BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # without ml_dtypes, bfloat16 is returned as float32
    _BFLOAT16 = None


class DType(str):
    """The name of an element type; equal to the plain string."""

    __slots__ = ()

    def __repr__(self):
        return f"tartan.{self}"


bool_ = DType("bool")
int8, int16, int32, int64 = (DType(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (DType(f"float{n}") for n in (16, 32, 64))
bfloat16 = DType("bfloat16")
complex64, complex128 = DType("complex64"), DType("complex128")  # pairs of tensors (_complex.py)

ALL = {d: d for d in (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
                      float32, float64)}
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATS = (float16, bfloat16, float32, float64)
BITS = {d: 8 if d == "bool" else 16 if d == "bfloat16" else int(str(d).lstrip("uintfloa")) for d in ALL}


def as_dtype(dtype):
    """Returns the dtype for a name, a NumPy dtype, a Python type or None (float32). TypeError for others."""
    if dtype is None:
        return float32
    if isinstance(dtype, str) and dtype in ALL:
        return ALL[dtype]
    if dtype is bool:
        return bool_
    if dtype is int:
        return int32
    if dtype is float:
        return float32
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(getattr(dtype, "name", dtype))
    if name not in ALL:
        raise TypeError(f"no tensor has elements of type {dtype!r}; the types are {', '.join(ALL)}")
    return ALL[name]


_of_numpy = {}  # NumPy dtype → dtype


def of_numpy(dtype):
    """Returns the dtype for a NumPy dtype. TypeError for others."""
    found = _of_numpy.get(dtype)
    if found is None:
        found = _of_numpy[dtype] = as_dtype(dtype)
    return found


def numpy_dtype(dtype):
    """Returns the NumPy dtype of the same elements; bfloat16 requires ml_dtypes."""
    if dtype == "bfloat16":
        if _BFLOAT16 is None:
            raise TypeError("bfloat16 in NumPy needs the package ml_dtypes: pip install ml_dtypes")
        return _BFLOAT16
    return np.dtype(str(dtype))


def is_float(dtype):
    return dtype in FLOATS


def is_integer(dtype):
    return dtype in SIGNED or dtype in UNSIGNED


def _promote_integers(a, b):
    if (a in SIGNED) == (b in SIGNED):
        return a if BITS[a] >= BITS[b] else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if BITS[signed] > BITS[unsigned]:
        return signed
    return ALL[f"int{min(64, 2 * BITS[unsigned])}"] if unsigned != "uint64" else float32


def promote(a, b):
    """Returns the promoted dtype by the rules of the array API. Cases that the standard leaves open follow JAX:
    integer and float give the float, bool and other give the other, bfloat16 and float16 give float32, uint64 and
    a signed integer give float32."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if is_float(a) and is_float(b):
        if BITS[a] == BITS[b]:
            return float32
        return a if BITS[a] > BITS[b] else b
    if is_float(a) or is_float(b):
        return a if is_float(a) else b
    return _promote_integers(a, b)


def promote_scalar(dtype, scalar):
    """Returns the promoted dtype of a tensor of `dtype` and a Python scalar."""
    if isinstance(scalar, bool):
        return dtype
    if isinstance(scalar, int):
        return int32 if dtype == "bool" else dtype
    return dtype if is_float(dtype) else float32


class _FloatInfo:
    """Limits of a float dtype: `bits`, `dtype`, and Python numbers. Other attributes are those that numpy.finfo has."""

    def __init__(self, dtype, info):
        self.dtype, self.bits, self._info = numpy_dtype(dtype), int(info.bits), info
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.smallest_normal = float(info.smallest_normal)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._info, name)

    def __repr__(self):
        return f"tartan.finfo({self.dtype.name}, eps={self.eps}, min={self.min}, max={self.max})"


def finfo(dtype):
    """Returns the limits of a float dtype: bits, eps, max, min, smallest_normal, dtype."""
    dtype = as_dtype(getattr(dtype, "dtype", dtype))
    if dtype == "bfloat16":
        return _FloatInfo(dtype, ml_dtypes.finfo(ml_dtypes.bfloat16))
    return _FloatInfo(dtype, np.finfo(str(dtype)))


def iinfo(dtype):
    """Returns the limits of an integer dtype, as numpy.iinfo."""
    return np.iinfo(str(as_dtype(getattr(dtype, "dtype", dtype))))
