# SPDX-License-Identifier: Apache-2.0
"""Names of other backends for libraries that list the backends by name: the option TARTAN_BACKEND_NAME."""

import os
import sys

OPTION = "TARTAN_BACKEND_NAME"
_KNOWN = ("tensorflow", "torch", "jax", "numpy", "openvino")
_OWN = ("keras", "keras_tartan", "tartan")  # packages that always get the real name


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


_names = chosen()
_answers = {}  # module → name


def answer():
    """Returns the name for the caller of `keras.backend.backend()`, which calls this function."""
    module = sys._getframe(2).f_globals.get("__name__", "")
    found = _answers.get(module)
    if found is None:
        package = module.partition(".")[0]
        found = _answers[module] = "tartan" if package in _OWN else _names.get(package, _names.get("", "tartan"))
    return found
