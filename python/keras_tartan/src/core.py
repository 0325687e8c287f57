# SPDX-License-Identifier: Apache-2.0
"""keras.ops.core: tensors, variables, and control flow."""

from keras_tartan.src._control import cond, fori_loop, switch, while_loop
from keras_tartan.src._derivatives import custom_gradient, grad, remat, stop_gradient
from keras_tartan.src._pieces import scatter, scatter_update, slice, slice_update, unstack
from keras_tartan.src._scans import associative_scan, map, scan, vectorized_map
from keras_tartan.src._specs import compute_output_spec
from keras_tartan.src._values import (IS_THREAD_SAFE, SUPPORTS_COMPLEX_DTYPES, SUPPORTS_RAGGED_TENSORS,
                                      SUPPORTS_SPARSE_TENSORS, Variable, cast, convert_to_numpy, convert_to_tensor,
                                      device_scope, from_array, is_tensor, placeholder, random_seed_dtype, shape,
                                      untraced)
