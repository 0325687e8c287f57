# SPDX-License-Identifier: Apache-2.0
"""Dispatches NumPy functions called with tensors to the corresponding functions of the package, on the device. Other
functions raise TypeError, so that nothing is computed on the host unnoticed."""

import inspect

import numpy as np

from tartan._late import functions as _tartan
from tartan._operators import Operators

# NumPy names that differ from the package's. Python operators are called as methods, because subclasses override
# them.
_UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "degrees": "rad2deg", "radians": "deg2rad",
    "true_divide": "divide", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "mod": "remainder"}
_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "mod": "mod", "divmod": "divmod", "power": "pow", "matmul": "matmul", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift"}
_COMPARED = {"equal": ("eq", "eq"), "not_equal": ("ne", "ne"), "less": ("lt", "gt"), "less_equal": ("le", "ge"),
             "greater": ("gt", "lt"), "greater_equal": ("ge", "le")}
_REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}

# Functions that need values. The caller requests the transfer to the host by calling them.
_OF_VALUES = {
    "save", "savez", "savez_compressed", "savetxt", "array_repr", "array_str", "array2string", "copyto", "array_equal",
    "array_equiv", "allclose", "may_share_memory", "shares_memory"}
_FUNCTIONS = {"amax": "max", "amin": "min", "around": "round", "concatenate": "concat"}
_RENAMED = {"ddof": "correction", "a_min": "min", "a_max": "max", "newshape": "shape"}
_MODULES = {"numpy.linalg": "linalg", "numpy.fft": "fft"}


def _to_arrays(x):
    """Replaces tensors by NumPy arrays, also in lists and tuples."""
    if isinstance(x, (_tartan.Tensor, _tartan.ComplexTensor, _tartan.Variable)):
        return x.numpy()
    if isinstance(x, (list, tuple)):
        return type(x)(_to_arrays(part) for part in x)
    return x


def _refused(name, why="has no function of this package"):
    return TypeError(f"{name} of a tensor {why}; compute it on the host with {name} of numpy.asarray(x)")


def ufunc(function, method, inputs, kwargs):
    """Implements `__array_ufunc__`."""
    name, out = function.__name__, kwargs.pop("out", None)
    given = sorted(k for k, v in kwargs.items() if v is not None and (method != "reduce" or k not in ("axis", "dtype", "keepdims")))
    if given:
        raise _refused(f"numpy.{name} with {', '.join(given)}")
    result = _computed(name, method, inputs, kwargs)
    if result is NotImplemented:
        raise _refused(f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}")
    return result if out is None else _written(result, out, name)


def _computed(name, method, inputs, kwargs):
    if method == "reduce" and name in _REDUCED:
        taken = {k: v for k, v in kwargs.items() if v is not None and v is not False}
        if "axis" not in kwargs:
            taken["axis"] = 0
        return getattr(_tartan, _REDUCED[name])(*inputs, **taken)
    if method != "__call__":
        return NotImplemented
    if len(inputs) == 2 and (name in _OPERATORS or name in _COMPARED):
        forward, backward = _COMPARED.get(name) or (_OPERATORS[name], "r" + _OPERATORS[name])
        first, second = inputs
        taken = first if isinstance(first, Operators) else second
        return getattr(taken, f"__{forward if taken is first else backward}__")(second if taken is first else first)
    found = getattr(_tartan, _UFUNCS.get(name, name), None)
    return NotImplemented if found is None else found(*inputs)


def _written(result, out, name):
    """Writes results to NumPy arrays given as `out`, for example in `array += tensor`."""
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(out, results):
        if not isinstance(target, np.ndarray):
            raise _refused(f"numpy.{name} with out= a tensor")
        np.copyto(target, value.numpy(), casting="same_kind")
    return out if isinstance(result, tuple) else out[0]


def function(called, args, kwargs):
    """Implements `__array_function__`."""
    name = called.__name__
    module = _MODULES.get(called.__module__, "")
    shown = ".".join(["numpy", *([module] if module else []), name])
    if name in _OF_VALUES and not module:
        return called(*_to_arrays(list(args)), **{k: _to_arrays(v) for k, v in kwargs.items()})
    ours = getattr(_tartan, module, None) if module else _tartan
    found = getattr(ours, _FUNCTIONS.get(name, name), None)
    if not callable(found):
        raise _refused(shown)
    return _called(shown, found, called, args, kwargs)


def _called(shown, ours, theirs, args, kwargs):
    """Calls the package's function with arguments under NumPy's names."""
    try:
        signature = inspect.signature(theirs)
    except ValueError:  # C functions have no signature in Python
        return ours(*args, **kwargs)
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return ours(*args, **kwargs)
    given = signature.bind(*args, **kwargs).arguments
    parameters = inspect.signature(ours).parameters
    left = list(given.items())
    placed, named = [], {}
    for parameter in parameters.values():
        if not left:
            break
        if parameter.kind is parameter.VAR_POSITIONAL:
            placed += left.pop(0)[1]
        elif parameter.kind is parameter.POSITIONAL_ONLY or not placed:
            placed.append(left.pop(0)[1])
        else:
            break
    defaults = signature.parameters
    for key, value in left:
        key = _RENAMED.get(key, key)
        if key in parameters:
            named[key] = value
        elif value is not None and value is not defaults.get(key, inspect.Parameter.empty).default:
            raise _refused(f"{shown} with {key}=…")
    return ours(*placed, **named)
