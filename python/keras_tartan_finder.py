# SPDX-License-Identifier: Apache-2.0
"""Registers the backend 'tartan' with Keras if KERAS_BACKEND or keras.json selects it. keras_tartan.pth imports this
file at every start of Python, so it imports nothing unless needed."""

import os
import sys


def _configured():
    """Returns the backend named in keras.json and the path of that file; None for each that is missing."""
    home = os.path.expanduser("~")
    folder = os.environ.get("KERAS_HOME") or os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    path = os.path.expanduser(os.path.join(folder, "keras.json"))
    if not os.path.exists(path):
        return None, None
    import json

    try:
        with open(path) as file:
            return json.load(file).get("backend"), path
    except (OSError, ValueError, AttributeError):  # Keras reports errors in the file
        return None, path


def _look():
    """Installs the backend if it is selected. ImportError for a misspelled name."""
    chosen, place = os.environ.get("KERAS_BACKEND"), "KERAS_BACKEND"
    if not chosen:
        chosen, place = _configured()
    if chosen == "tartan":
        import keras_tartan  # noqa: F401
    elif isinstance(chosen, str) and "tartan" in chosen.lower():
        raise ImportError(f"{place} has the backend {chosen!r}: write 'tartan'")


class Finder:
    """An import hook that finds no module; it checks the settings before Keras is imported."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "keras":
            _look()


if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, Finder)
