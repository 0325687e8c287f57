# SPDX-License-Identifier: Apache-2.0
"""What tensors do under Python's operators: the functions of the package of the same meaning. Other operands may be
tensors, variables, NumPy arrays, nested lists and numbers of Python, whose type gives way to that of a tensor.

Tensors are values: `x += y` gives `x` another one, of the type that x + y has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tartan as _tartan  # complete once an operator is called

if TYPE_CHECKING:
    from tartan._tensor import Tensor

_KNOWN = (bool, int, float, complex, np.ndarray, np.generic, list, tuple)


def _is_operand(x):
    if isinstance(x, (Operators, *_KNOWN)):
        return True
    held = getattr(x, "value", x)
    return isinstance(held, (Operators, _tartan.Variable)) or hasattr(x, "__dlpack__")


def _binary(name, symbol):
    def method(self, other: Any) -> Tensor:
        if not _is_operand(other):
            return NotImplemented
        return getattr(_tartan, name)(self, other)

    method.__doc__ = f"self {symbol} other: tartan.{name}."
    return method


def _reflected(name, symbol):
    def method(self, other: Any) -> Tensor:
        if not _is_operand(other):
            return NotImplemented
        return getattr(_tartan, name)(other, self)

    method.__doc__ = f"other {symbol} self: tartan.{name}."
    return method


class Operators:
    """The part of Tensor that operators and attributes of the array API standard are."""

    __slots__ = ()

    __add__, __radd__ = _binary("add", "+"), _reflected("add", "+")
    __sub__, __rsub__ = _binary("subtract", "-"), _reflected("subtract", "-")
    __mul__, __rmul__ = _binary("multiply", "*"), _reflected("multiply", "*")
    __truediv__, __rtruediv__ = _binary("divide", "/"), _reflected("divide", "/")
    __floordiv__, __rfloordiv__ = _binary("floor_divide", "//"), _reflected("floor_divide", "//")
    __mod__, __rmod__ = _binary("remainder", "%"), _reflected("remainder", "%")
    __divmod__, __rdivmod__ = _binary("divmod", "divmod"), _reflected("divmod", "divmod")
    __pow__, __rpow__ = _binary("pow", "**"), _reflected("pow", "**")
    __matmul__, __rmatmul__ = _binary("matmul", "@"), _reflected("matmul", "@")
    __and__, __rand__ = _binary("bitwise_and", "&"), _reflected("bitwise_and", "&")
    __or__, __ror__ = _binary("bitwise_or", "|"), _reflected("bitwise_or", "|")
    __xor__, __rxor__ = _binary("bitwise_xor", "^"), _reflected("bitwise_xor", "^")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift", "<<"), _reflected("bitwise_left_shift", "<<")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift", ">>"), _reflected("bitwise_right_shift", ">>")
    __eq__, __ne__ = _binary("equal", "=="), _binary("not_equal", "!=")
    __lt__, __le__ = _binary("less", "<"), _binary("less_equal", "<=")
    __gt__, __ge__ = _binary("greater", ">"), _binary("greater_equal", ">=")

    def __hash__(self):
        return id(self)

    def __neg__(self) -> Tensor:
        return _tartan.negative(self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return _tartan.abs(self)

    def __invert__(self) -> Tensor:
        return _tartan.bitwise_invert(self)

    def __round__(self, digits: int | None = None) -> Tensor:
        return _tartan.round(self, digits or 0)

    def __getitem__(self, index: Any) -> Tensor:
        """Elements by NumPy's rules for numbers, slices, `...`, None, masks whose values are known, and tensors of
        positions. IndexError where an index that is known is out of bounds; positions that a function being
        captured computes are clamped."""
        return _tartan._indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """This tensor becomes another one; what was computed from it, or shares its elements, does not change. In
        functions that are captured this changes tensors that the function made; RuntimeError for others.
        `x.at[index].set(value)` gives the changed tensor instead."""
        _tartan._indexing.setitem(self, index, value)

    @property
    def at(self):
        """`x.at[index].set(v)`, also add, multiply, divide, min, max, get: a tensor with some elements changed."""
        return _tartan._indexing.At(self)

    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order; the standard has it for matrices."""
        return _tartan.transpose(self)

    @property
    def mT(self) -> Tensor:
        """Every matrix transposed. ValueError for less than two dimensions."""
        if self.ndim < 2:
            raise ValueError(f"a matrix is expected, not {list(self.shape)}")
        return _tartan.matrix_transpose(self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor itself: a process computes on one device (tartan.set_device). ValueError for another."""
        _tartan._creation.check_device(device)
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None):
        if api_version not in (None, *_tartan._namespace.VERSIONS):
            raise ValueError(f"tartan follows {', '.join(_tartan._namespace.VERSIONS)} of the array API standard, "
                             f"not {api_version}")
        return _tartan

    def reshape(self, *shape: Any) -> Tensor:
        """tartan.reshape: of a tuple or of numbers."""
        return _tartan.reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype: Any) -> Tensor:
        """tartan.astype."""
        return _tartan.astype(self, dtype)


def _method(name):
    def method(self, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(_tartan, name)(self, *args, **kwargs)

    method.__doc__ = f"tartan.{name}."
    return method


# What arrays of NumPy have as methods, too.
for _name in ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "transpose",
              "squeeze", "clip", "round"):
    setattr(Operators, _name, _method(_name))
