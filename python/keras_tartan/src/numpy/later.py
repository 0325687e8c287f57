# SPDX-License-Identifier: Apache-2.0
"""Functions of keras.ops.numpy that Keras 3.16 adds."""

from keras.src.backend.config import floatx
from keras_tartan.src._kit import T, common, floated, ours
from keras_tartan.src._values import cast
from keras_tartan.src.numpy.elementwise import divide, power, subtract
from keras_tartan.src.numpy.filled import full
from keras_tartan.src.numpy.products import matmul
from keras_tartan.src.numpy.reductions import mean
from keras_tartan.src.numpy.shapes import concatenate, expand_dims, transpose
from tartan import _bits


def copysign(x1, x2):
    return ours(_bits.copysign(*common(x1, x2, extra=(float,))))


def float_power(x1, x2):
    return power(*common(x1, x2, extra=(float,)))


def column_stack(xs):
    xs = common(*xs)
    return concatenate([expand_dims(x, -1) if len(x.shape) == 1 else expand_dims(x, (0, 1)) if not x.shape else x for x in xs], 1)


def cov(x):
    """Returns the covariances of the rows with divisor n - 1; a scalar for a vector."""
    x = T(x)
    if len(x.shape) > 2:
        raise ValueError(f"Input tensor must have at most 2 dimensions. Received: x.shape={tuple(x.shape)}")
    if x.dtype == "bool":
        x = cast(x, floatx())
    elif x.dtype == "int64":
        x = cast(x, "float64")
    x = floated(x)
    rows = x if len(x.shape) == 2 else expand_dims(x, 0) if x.shape else expand_dims(x, (0, 1))
    if rows.shape[1] < 2:  # as in NumPy: 0 / 0
        count = rows.shape[0]
        found = full((count, count), float("nan"), x.dtype)
    else:
        centred = subtract(rows, mean(rows, 1, True))
        found = divide(matmul(centred, transpose(centred)), rows.shape[1] - 1)
    return found if len(x.shape) == 2 else found[0, 0]
