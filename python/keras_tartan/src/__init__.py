# SPDX-License-Identifier: Apache-2.0
"""The modules that Keras requires of a backend: as names of `keras.src.backend` in Keras 3.15, in the namespace `ops`
in Keras 3.16."""

from keras.src.backend import config as _config
from keras.src.backend.common.name_scope import name_scope
from keras_tartan.src import core
from keras_tartan.src import distribution_lib
from keras_tartan.src import numpy
from keras_tartan.src import math
from keras_tartan.src import nn
from keras_tartan.src import linalg
from keras_tartan.src import image
from keras_tartan.src import ops
from keras_tartan.src import random
from keras_tartan.src.core import (IS_THREAD_SAFE, SUPPORTS_COMPLEX_DTYPES, SUPPORTS_RAGGED_TENSORS,
                                   SUPPORTS_SPARSE_TENSORS, Variable, cast, compute_output_spec, cond,
                                   convert_to_numpy, convert_to_tensor, device_scope, is_tensor,
                                   random_seed_dtype, scatter, shape, stop_gradient, vectorized_map)
from keras_tartan.src.rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn

from keras_tartan.src import _errors as _errors

for _module in (numpy, math, nn, linalg, image, random):
    _errors.name_functions(_module)

from tartan import _runtime as _runtime

_runtime.bind_drivers()  # before Keras imports TensorFlow for preprocessing

from keras_tartan.src import _methods  # noqa: F401, E402

SUPPORTS_GRADIENT = True

if hasattr(_config, "PLUGGABLE_BACKENDS"):  # Keras 3.16: `backend.rnn` is the module
    import sys as _sys

    rnn = _sys.modules["keras_tartan.src.rnn"]
