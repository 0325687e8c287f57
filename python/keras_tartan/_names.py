# SPDX-License-Identifier: Apache-2.0
"""Names of other backends for libraries that list the backends by name: the option TARTAN_BACKEND_NAME."""

import os
import sys
import warnings

OPTION = "TARTAN_BACKEND_NAME"
_KNOWN = ("tensorflow", "torch", "jax", "numpy", "openvino")
_OWN = ("keras", "keras_tartan", "tartan")  # packages that always get the real name
_FRAMEWORKS = frozenset(("tensorflow", "torch", "jax"))
_TESTED = ("keras_hub",)  # packages that list the frameworks, and work with the real name


def chosen():
    """Returns the option as a dictionary from a package to a name; "" is every package that is not listed. "torch" is
    for every package, "bayesflow=torch,other=jax" for these. ImportError for an unknown name."""
    names = {}
    for part in filter(None, os.environ.get(OPTION, "").replace(" ", "").split(",")):
        package, _, name = part.rpartition("=")
        if name not in _KNOWN:
            raise ImportError(f"{OPTION} has the backend {name!r}, which is not one of {', '.join(_KNOWN)}")
        names[package] = name
    return names


class _RealName(str):
    """The name "tartan" for a module of a library. Warns once when the module has compared it with every framework."""

    def __new__(cls, module):
        name = super().__new__(cls, "tartan")
        name.module, name.absent = module, set(_FRAMEWORKS)
        return name

    __hash__ = str.__hash__

    def __eq__(self, other):
        if isinstance(other, str) and other in self.absent:
            self.absent.remove(other)
            if not self.absent:
                package = self.module.partition(".")[0]
                warnings.warn(
                    f"{self.module} has no branch for Keras' backend 'tartan'. If {package} fails, set {OPTION}="
                    f"{package}=torch (it needs torch), or {package}=numpy, before Keras is imported", stacklevel=2)
        return str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    def __reduce__(self):
        return str, ("tartan",)


_names = chosen()
_answers = {}  # module → name


def answer():
    """Returns the name for the caller of `keras.backend.backend()`, which calls this function."""
    module = sys._getframe(2).f_globals.get("__name__", "")
    found = _answers.get(module)
    if found is None:
        package = module.partition(".")[0]
        found = "tartan" if package in _OWN else _names.get(package, _names.get("", "tartan"))
        if found == "tartan" and package not in _OWN + _TESTED:
            found = _RealName(module)
        _answers[module] = found
    return found
