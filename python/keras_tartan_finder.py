# SPDX-License-Identifier: Apache-2.0
"""Makes Keras know the backend 'tartan' where it is chosen when Keras is imported, by KERAS_BACKEND or by keras.json.
keras_tartan.pth imports this file whenever Python starts, so that it imports nothing before it is needed."""

import os
import sys


def _configured():
    """The backend that keras.json names, and the path of that file; None for either that is not there."""
    home = os.path.expanduser("~")
    folder = os.environ.get("KERAS_HOME") or os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    path = os.path.expanduser(os.path.join(folder, "keras.json"))
    if not os.path.exists(path):
        return None, None
    import json

    try:
        with open(path) as file:
            return json.load(file).get("backend"), path
    except (OSError, ValueError, AttributeError):  # Keras itself reports the fault of the file
        return None, path


def _look():
    """Installs the backend where it is chosen. ImportError for a name that is meant for it and is another."""
    chosen, place = os.environ.get("KERAS_BACKEND"), "KERAS_BACKEND"
    if not chosen:
        chosen, place = _configured()
    if chosen == "tartan":
        import keras_tartan  # noqa: F401
    elif isinstance(chosen, str) and "tartan" in chosen.lower():
        raise ImportError(f"{place} has the backend {chosen!r}: write 'tartan'")


class Finder:
    """Finds no module; it looks at the settings before Keras is imported."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "keras":
            _look()


if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, Finder)
