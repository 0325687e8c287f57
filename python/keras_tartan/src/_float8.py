# SPDX-License-Identifier: Apache-2.0
"""8-bit floats: types of storage for values that float32 holds. A tensor can be converted, and nothing else."""

import ml_dtypes
import numpy as np
from keras.src.backend.common.dtypes import FLOAT8_TYPES
from keras_tartan.src._type import BackendTensor, constant, from_numpy
from tartan import _dtypes
from tartan._gradients import with_rule
from tartan._primitives import to
from tartan._tensor import tile1


class Float8Tensor(BackendTensor):
    """A tensor of an 8-bit float type. `_wide` is a float32 tensor of the same values."""

    __slots__ = ("_wide", "_name")

    def __init__(self, wide, dtype):
        self._wide, self._name = wide, _dtypes.DType(dtype)
        self._host, self._depth, self._home = None, wide._depth, wide._home

    @property
    def _value(self):
        raise TypeError(f"no operation computes with {self._name}: convert the tensor with keras.ops.cast first")

    shape = property(lambda self: self._wide.shape)
    dtype = property(lambda self: self._name)
    is_traced = property(lambda self: self._wide.is_traced)

    def numpy(self):
        return self._wide.numpy().astype(self._name)


def is_float8(dtype):
    return dtype in FLOAT8_TYPES


def from_array(array, dtype):
    """Returns the values of a NumPy array, rounded."""
    return Float8Tensor(from_numpy(array.astype(dtype).astype("float32")), dtype)


def rounded(x, dtype):
    """Converts a tensor to an 8-bit float. Rounds to nearest, ties to even; values beyond the largest become infinity, or
    NaN in a type without infinity. The derivative is 1."""
    x = x if x.dtype == "float64" else to(x, "float32")
    beyond = constant(np.array(np.inf, "float32").astype(dtype).astype("float32"), x.dtype)
    (wide,) = with_rule([tile1(_text(ml_dtypes.finfo(dtype)), x, beyond)], [x], lambda derivative: [derivative])
    return Float8Tensor(to(wide, "float32"), dtype)


def _text(info):
    """Returns a Tile function of X, and of Y, the result beyond the largest value. |X| is a multiple A of the smallest
    normal number. Exact divisions by powers of two bring A below 2, where the last bit of the type is known."""
    least, bits = int(info.minexp), int(info.nmant)
    lines, last, factors = [f"A = min(abs(X), {2.0 ** int(info.maxexp)}) * {2.0 ** -least}"], "A", []
    for step in (16, 8, 4, 2, 1):
        lines += [f"C{step} = {last} >= {2.0 ** step}", f"B{step} = C{step} ? {last} * {2.0 ** -step} : {last}"]
        factors.append(f"(C{step} ? {2.0 ** step} : 1.0)")
        last = f"B{step}"
    lines += [f"R = round({last} * {2.0 ** bits}) * {' * '.join(factors)} * {2.0 ** (least - bits):.20f}",
              f"P = R > {float(info.max)} ? Y : R",
              "O = isnan(X) ? X : (X < 0 || (X == 0 && recip(X) < 0) ? -P : P)"]
    return f"function (X, Y) -> (O) {{ {' '.join(line + ';' for line in lines)} }}"
