# SPDX-License-Identifier: Apache-2.0
"""Python operators of tensors, implemented by the package's functions. Other operands may be tensors, variables,
NumPy arrays, nested lists and Python numbers, whose type yields in promotion.

Tensors are values: `x += y` binds `x` to a new tensor with the dtype of x + y."""

from __future__ import annotations

from typing import Any

import numpy as np

from tartan._late import functions as _tartan

_KNOWN = (bool, int, float, complex, np.ndarray, np.generic, list, tuple)


def _is_operand(x):
    if isinstance(x, (Operators, *_KNOWN)):
        return True
    held = getattr(x, "value", x)
    return isinstance(held, (Operators, _tartan.Variable)) or hasattr(x, "__dlpack__")


def _binary(name, symbol):
    def method(self, other: Any):
        if not _is_operand(other):
            return NotImplemented
        return getattr(_tartan, name)(self, other)

    method.__doc__ = f"self {symbol} other: tartan.{name}."
    return method


def _reflected(name, symbol):
    def method(self, other: Any):
        if not _is_operand(other):
            return NotImplemented
        return getattr(_tartan, name)(other, self)

    method.__doc__ = f"other {symbol} self: tartan.{name}."
    return method


class Operators:
    """The operators and attributes of Tensor that the array API standard defines."""

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

    def __neg__(self):
        return _tartan.negative(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _tartan.abs(self)

    def __invert__(self):
        return _tartan.bitwise_invert(self)

    def __round__(self, digits: int | None = None):
        return _tartan.round(self, digits or 0)

    def __getitem__(self, index: Any):
        """Returns elements by NumPy's rules for numbers, slices, `...`, None, masks with known values, and tensors
        of positions. IndexError if a known index is out of bounds. Positions computed in a captured function are
        clamped."""
        return _tartan._indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Rebinds this tensor to a changed one; other tensors computed from it or sharing its elements do not
        change. In captured functions, only tensors made by the function can be changed; RuntimeError for others.
        `x.at[index].set(value)` returns the changed tensor instead."""
        _tartan._indexing.setitem(self, index, value)

    @property
    def at(self):
        """Functional updates: `x.at[index].set(v)`, also add, multiply, divide, min, max, get."""
        return _tartan._indexing.At(self)

    @property
    def T(self):
        """x with all dimensions reversed; the array API standard defines it for matrices."""
        return _tartan.transpose(self)

    @property
    def mT(self):
        """x with the last two dimensions swapped. ValueError for fewer than two dimensions."""
        if self.ndim < 2:
            raise ValueError(f"expected a matrix, not the shape {list(self.shape)}")
        return _tartan.matrix_transpose(self)

    def to_device(self, device: Any, /, *, stream: Any = None):
        """Returns the tensor itself, because a process computes on one device (tartan.set_device). ValueError for
        another device."""
        _tartan._creation.check_device(device)
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None):
        if api_version not in (None, *_tartan._namespace.VERSIONS):
            raise ValueError(f"tartan follows {', '.join(_tartan._namespace.VERSIONS)} of the array API standard, "
                             f"not {api_version}")
        return _tartan.namespace

    def reshape(self, *shape: Any):
        """tartan.reshape with a tuple or with separate sizes."""
        return _tartan.reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype: Any):
        """tartan.astype."""
        return _tartan.astype(self, dtype)


def _method(name):
    def method(self, *args: Any, **kwargs: Any):
        return getattr(_tartan, name)(self, *args, **kwargs)

    method.__doc__ = f"tartan.{name}."
    return method


# Methods that NumPy arrays also have.
for _name in ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "transpose",
              "squeeze", "clip", "round"):
    setattr(Operators, _name, _method(_name))
