# SPDX-License-Identifier: Apache-2.0
"""Operators of tensors, as far as the package has none."""

from tartan._tensor import Tensor
from keras_tartan.src import _index, numpy as knp
from keras_tartan.src._values import cast


def _set_trainable(tensor, value):
    """Keras turns off the training of weights that it unpacked; no tensor is trained."""
    if value:
        raise AttributeError("a tensor is not trainable: make it a variable")


def _swapped(function):
    return lambda self, other: function(other, self)


_METHODS = {
    "__getitem__": lambda self, index: _index.getitem(self, index),
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


def install():
    for name, function in _METHODS.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, function)


install()
