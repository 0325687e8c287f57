# SPDX-License-Identifier: Apache-2.0
"""Complex numbers in keras.ops: a tartan.ComplexTensor, a pair of tensors. The functions in `NAMES` accept it and apply
the function of tartan with the same name. Other functions reject it."""

import functools

import numpy as np
from keras.src.backend.common import KerasVariable
from keras_tartan.src._type import BackendTensor, from_numpy
from tartan import _variable
from tartan._complex import ComplexTensor, complex_tensor, is_complex_dtype  # noqa: F401
from tartan._late import functions as _tartan
from tartan._tensor import Tensor

NAMES = ("abs", "add", "subtract", "multiply", "divide", "negative", "square", "exp", "log", "sqrt", "sin", "cos", "tanh",
         "power", "reciprocal", "equal", "not_equal", "real", "imag", "conj", "isfinite", "isinf", "isnan", "where",
         "matmul", "tensordot", "einsum", "sum", "mean", "prod", "reshape", "expand_dims", "squeeze",
         "broadcast_to", "stack", "flip", "roll", "swapaxes", "take")
# Keras' names of functions of tartan with other names, or without one.
OTHERS = {
    "absolute": lambda x: _tartan.abs(x), "true_divide": lambda x, y: _tartan.divide(x, y),
    "conjugate": lambda x: _tartan.conj(x), "angle": lambda x: _tartan.atan2(_tartan.imag(x), _tartan.real(x)),
    "isreal": lambda x: _tartan.imag(x) == 0, "copy": lambda x: x,
    "concatenate": lambda xs, axis=0: _tartan.concat(xs, axis=axis),
    "moveaxis": lambda x, source, destination: _tartan.moveaxis(x, source, destination),
    "transpose": lambda x, axes=None: _tartan.permute_dims(x, axes or tuple(range(x.ndim))[::-1]),
}
# Types without complex values that are checked first, because they are frequent.
_REAL = frozenset((BackendTensor, Tensor, float, int, bool, type(None)))


def is_complex(x):
    """Returns True for complex tensors, variables, arrays and numbers, and for lists of any of them."""
    if type(x) in _REAL:
        return False
    if isinstance(x, (list, tuple)):
        return any(is_complex(part) for part in x)
    if isinstance(x, KerasVariable):
        return x.dtype.startswith("complex")
    return isinstance(x, (ComplexTensor, complex)) or isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c"


class ComplexVariable:
    """The variables of the real and the imaginary parts, with the methods of a tartan.Variable that Keras uses."""

    def __init__(self, array, name):
        self._parts = [_variable.Variable(from_numpy(np.array(part)), name=f"{name}/{end}")
                       for part, end in ((array.real, "real"), (array.imag, "imag"))]
        self.shape = array.shape

    @property
    def value(self):
        return ComplexTensor(*[part.value for part in self._parts])

    def assign(self, value):
        for part, given in zip(self._parts, (value.real, value.imag)):
            part.assign(given)

    def __array__(self, dtype=None, copy=None):
        return self.value.numpy()


def _given(x):
    if isinstance(x, (list, tuple)):
        return type(x)(map(_given, x))
    if isinstance(x, KerasVariable):
        return x.value
    return complex_tensor(x) if isinstance(x, (np.ndarray, np.generic)) and is_complex(x) else x


def _result(x):
    return BackendTensor._of(x) if isinstance(x, Tensor) else x


def accepting(name, function):
    """Returns a function of Keras that also accepts complex numbers."""
    @functools.wraps(function)
    def called(*args, **kwargs):
        for x in args:
            if type(x) not in _REAL and is_complex(x):
                break
        else:
            return function(*args, **kwargs)
        theirs = OTHERS.get(name) or getattr(_tartan, name)
        return _result(theirs(*map(_given, args), **kwargs))

    return called
