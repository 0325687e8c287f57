# SPDX-License-Identifier: Apache-2.0
"""Registers the backend 'tartan' with Keras if KERAS_BACKEND or keras.json selects it when `keras` is imported.
keras_tartan.pth imports this file at every start of Python, so it imports nothing unless needed."""

import os
import sys


def _configured():
    """Returns the backend named in keras.json and the path of that file; None for each that is missing."""
    if "KERAS_HOME" in os.environ:
        folder = os.environ["KERAS_HOME"]
    else:
        home = os.path.expanduser("~")
        folder = os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
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
    """Installs the backend if it is selected, in any case of letters. ImportError for another misspelling."""
    chosen, place = os.environ.get("KERAS_BACKEND"), "KERAS_BACKEND"
    if not chosen:
        chosen, place = _configured()
    if not isinstance(chosen, str) or "tartan" not in chosen.lower():
        return
    if chosen.strip().lower() != "tartan":
        raise ImportError(f"{place} has the backend {chosen!r}: write 'tartan'")
    if chosen != "tartan":
        os.environ["KERAS_BACKEND"] = "tartan"  # Keras compares the name letter by letter
    import keras_tartan  # noqa: F401


def warn_if_late():
    """Warns if KERAS_BACKEND selects this backend, but Keras was imported before this module."""
    config = sys.modules.get("keras.src.backend.config")
    if "keras.src.backend" not in sys.modules or config is None or config.backend() == "tartan":
        return
    if os.environ.get("KERAS_BACKEND", "").strip().lower() == "tartan":
        import warnings

        warnings.warn(f"Keras was imported before tartan and uses the backend {config.backend()!r}: set KERAS_BACKEND "
                      "and import tartan before the first import of keras", stacklevel=2)


class Finder:
    """An import hook that finds no module; it checks the settings before Keras is imported."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "keras":
            _look()


if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, Finder)
