# SPDX-License-Identifier: Apache-2.0
"""Shapes without values."""

import re

import numpy as np
from keras.src import tree
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope
from keras_tartan.src import _errors
from keras_tartan.src._values import _known_dtype, placeholder
from tartan import _dtypes
from tartan._complex import ComplexTensor
from tartan._function import _Trace
from keras_tartan.src._type import from_numpy
from tartan._tensor import ConcretizationError, Tensor, state


# Sizes that represent unknown ones.
_SIZES = (83, 89)


def _bounds(error):
    """Returns the part of an error that names positions out of bounds, or None."""
    found = re.search(r"positions from [^\n]* with size \d+", str(error)) if isinstance(error, IndexError) else None
    return found and found.group()


def _bounds_of(function):
    try:
        function()
    except IndexError as error:
        return _bounds(error)
    return None


def compute_output_spec(fn, *args, **kwargs):
    """Returns the shapes and dtypes of the results of `fn`, which is called with tensors without values."""

    def stand_in(make, fill):
        def replace(x):
            if not isinstance(x, KerasTensor):
                return x
            return make([fill if dim is None else dim for dim in x.shape], _known_dtype(x.dtype))

        return tree.map_structure(replace, (args, kwargs))

    def outputs(fill, is_unchecked=False):
        outer, had_open_sizes = state.trace, state.has_open_sizes
        try:
            state.trace, state.has_open_sizes = _Trace(), is_unchecked or had_open_sizes
            some, named = stand_in(placeholder, fill)
            return fn(*some, **named)
        except ConcretizationError:
            # If the function needs values, it gets ones, and only the shapes of its results are used.
            state.trace = None
            some, named = stand_in(lambda shape, dtype: from_numpy(np.ones(shape, _dtypes.numpy_dtype(dtype))), fill)
            return fn(*some, **named)
        finally:
            state.trace, state.has_open_sizes = outer, had_open_sizes

    is_open = any(isinstance(x, KerasTensor) and None in x.shape for x in tree.flatten((args, kwargs)))
    is_unchecked = False
    with StatelessScope(), SymbolicScope():
        try:
            first = outputs(_SIZES[0])
        except Exception as error:
            if not is_open or _bounds(error) is None or _bounds(error) == _bounds_of(lambda: outputs(_SIZES[1])):
                if is_open:
                    _errors.without_sizes(error, _SIZES[0])
                raise
            is_unchecked = True  # positions follow an unknown size
            first = outputs(_SIZES[0], is_unchecked)
        second = outputs(_SIZES[1], is_unchecked) if is_open else first

    def spec(a, b):
        if not isinstance(a, (Tensor, ComplexTensor)):
            return a
        dims = [m if m == n else None for m, n in zip(a.shape, b.shape)]
        return KerasTensor(dims, standardize_dtype(a.dtype))

    return tree.map_structure(spec, first, second)
