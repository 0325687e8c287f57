# SPDX-License-Identifier: Apache-2.0
"""Operators of Keras tensors, by functions of keras.ops with Keras' dtype rules."""

from keras_tartan.src import _hints, numpy as knp
from keras_tartan.src._kit import ours
from keras_tartan.src._type import BackendTensor
from keras_tartan.src._values import cast, convert_to_tensor
from tartan._indexing import getitem
from tartan._tensor import Tensor


def _set_trainable(tensor, value):
    """Ignores the setter that Keras uses to freeze unpacked weights; tensors are never trained."""
    if value:
        raise AttributeError("a tensor is not trainable: make it a variable")


def _assign(tensor, index, value):
    plain = Tensor._of(tensor)
    plain[index] = value if value is None else Tensor._of(convert_to_tensor(value, tensor.dtype))
    tensor._take(plain)


def _method(function):
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


def _swapped(function):
    return lambda self, other: function(other, self)


_METHODS = {
    "__getattr__": _hints.missing,
    "__getitem__": lambda self, index: ours(getitem(self, index)),
    "__setitem__": _assign,
    "__neg__": lambda self: knp.negative(self),
    "__pos__": lambda self: self,
    "__abs__": lambda self: knp.absolute(self),
    "__invert__": lambda self: knp.bitwise_not(self),
    "__eq__": lambda self, other: knp.equal(self, other) if other is not None else False,
    "__ne__": lambda self, other: knp.not_equal(self, other) if other is not None else True,
    "__lt__": lambda self, other: knp.less(self, other),
    "__le__": lambda self, other: knp.less_equal(self, other),
    "__gt__": lambda self, other: knp.greater(self, other),
    "__ge__": lambda self, other: knp.greater_equal(self, other),
    "reshape": lambda self, *shape: knp.reshape(self, shape[0] if len(shape) == 1 else shape),
    "astype": lambda self, dtype: cast(self, dtype),
    "trainable": property(lambda self: False, _set_trainable),
    "__round__": lambda self, digits=None: knp.round(self, digits or 0),
}

for _name, _function in {"add": knp.add, "sub": knp.subtract, "mul": knp.multiply, "truediv": knp.divide,
                         "floordiv": knp.floor_divide, "mod": knp.mod, "pow": knp.power, "matmul": knp.matmul,
                         "and": knp.bitwise_and, "or": knp.bitwise_or, "xor": knp.bitwise_xor,
                         "lshift": knp.left_shift, "rshift": knp.right_shift}.items():
    _METHODS[f"__{_name}__"] = (lambda f: lambda self, other: f(self, other))(_function)
    _METHODS[f"__r{_name}__"] = _swapped(_function)


for _name in ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "transpose", "squeeze",
              "clip", "round"):
    _METHODS[_name] = _method(getattr(knp, _name))
_METHODS["T"] = property(knp.transpose)
_METHODS["mT"] = property(lambda self: knp.swapaxes(self, -1, -2))

for _name, _function in _METHODS.items():
    setattr(BackendTensor, _name, _function)
