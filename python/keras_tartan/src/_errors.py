# SPDX-License-Identifier: Apache-2.0
"""Errors of functions of keras.ops: they begin with the name of the function that was called, and show the shapes of its
tensors."""

import contextlib
import functools
import inspect
import re

from tartan._tensor import ConcretizationError

_EXPLAINED = (ValueError, IndexError, TypeError, NotImplementedError)
# These functions call functions of users, whose errors stay as they are.
_CALLERS = ("vectorize", "jvp")


def _described(x):
    """Returns the dtype and shape of a tensor, or a short text for another argument."""
    if isinstance(x, (list, tuple)) and any(hasattr(part, "shape") for part in x):
        return f"[{', '.join(map(_described, x[:4]))}{', ...' if len(x) > 4 else ''}]"
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"{x.dtype}{_dims(x)}"
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dims(x):
    return str([None if dim is None else int(dim) for dim in x.shape])


def _shapes(arguments):
    for x in arguments:
        if isinstance(x, (list, tuple)):
            yield from _shapes(x)
        elif hasattr(x, "shape") and hasattr(x, "dtype"):
            yield _dims(x)


def _explained(message, name, function, args, kwargs):
    message = message.removeprefix("tartan: ")
    lists = message.replace("(", "[").replace(")", "]").replace(",]", "]")
    if all(dims in lists for dims in _shapes([*args, *kwargs.values()])):
        return message if re.match(rf"{name}\b", message) else f"{name}: {message}"
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # an argument is missing or unknown, which the message says
        return message
    shown = ", ".join(f"{key}: {_described(x)}" for key, x in given.items() if not _is_default(x, signature.parameters[key]))
    return f"{name}({shown}): {message}"


def _is_default(x, parameter):
    return type(x) is type(parameter.default) and x == parameter.default


def named(name, function):
    """Returns a function whose errors begin with a name. If one such function calls another one, the outer one counts."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except _EXPLAINED as error:
            if type(error).__name__ != "NeedsValues" and error.args and isinstance(error.args[0], str):
                message = error.__dict__.setdefault("_tartan_message", error.args[0])
                error.args = (_explained(message, name, function, args, kwargs), *error.args[1:])
            raise

    return call


def name_functions(module):
    """Makes the errors of a module's own public functions begin with their names."""
    names = vars(module)
    for name, function in list(names.items()):
        is_own = getattr(function, "__module__", "").startswith(module.__name__)
        if inspect.isfunction(function) and is_own and not name.startswith("_") and name not in _CALLERS:
            names[name] = named(name, function)


@contextlib.contextmanager
def about(what, **tensors):
    """Adds what was computed, of which tensors, to an error of one line."""
    try:
        yield
    except ConcretizationError:
        raise
    except _EXPLAINED as error:
        message = error.args[0] if error.args else None
        if type(error).__name__ != "NeedsValues" and isinstance(message, str) and "\n" not in message:
            given = " and ".join(f"{name} {_described(x)}" for name, x in tensors.items())
            error.args = (f"{message} (in {what} of {given})", *error.args[1:])
        raise


def without_sizes(error, size):
    """Writes None for a size that represents an unknown one."""
    if error.args and isinstance(error.args[0], str):
        text = re.sub(rf"(?<=[\[(, ]){size}(?=[,\])])", "None", error.args[0])
        error.args = (text, *error.args[1:])
