# SPDX-License-Identifier: Apache-2.0
"""Tartan under Keras 3."""

import os


def install_backend():
    """Makes Tartan the backend of Keras in this process; to be called before keras is imported."""
    import keras_tartan  # noqa: F401

    os.environ["KERAS_BACKEND"] = "tartan"
