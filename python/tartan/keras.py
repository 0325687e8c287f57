# SPDX-License-Identifier: Apache-2.0
"""Selects Tartan as the backend of Keras 3."""

import os


def install_backend() -> None:
    """Selects Tartan as the backend of Keras in this process. Must be called before keras is imported."""
    import keras_tartan  # noqa: F401

    os.environ["KERAS_BACKEND"] = "tartan"
