# SPDX-License-Identifier: Apache-2.0
"""The namespace `backend.ops` of Keras 3.16."""

from keras_tartan.src import core, image, linalg, math, nn, numpy  # noqa: F401
from keras_tartan.src.core import *  # noqa: F403
