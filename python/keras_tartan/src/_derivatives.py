# SPDX-License-Identifier: Apache-2.0
"""Custom derivatives."""

import numpy as np
import tartan
from keras.src import tree
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras_tartan.src import numpy as knp
from keras_tartan.src._values import cast, convert_to_tensor
from tartan import _dtypes
from tartan._gradients import with_rule
from tartan._tensor import Tensor


def stop_gradient(variable):
    if isinstance(variable, (tuple, list, dict)):
        return tree.map_structure(stop_gradient, variable)
    x = convert_to_tensor(variable)
    if not _dtypes.is_float(x.dtype):
        return x
    return cast(tartan.tile("function (X) -> (Y) { Y = stop_gradient(X); }", x)[0], x.dtype)


class custom_gradient:
    """A function that returns its result and a function of the result's cotangent."""

    def __init__(self, fun):
        self.fun = fun

    def __call__(self, *args, **kwargs):
        args = [convert_to_tensor(x) if isinstance(x, (KerasVariable, np.ndarray)) else x for x in args]
        outputs, derive = self.fun(*args, **kwargs)
        inputs = [x for x in tree.flatten(args) if isinstance(x, Tensor)]
        if not inputs or in_symbolic_scope():
            return outputs
        flat = [convert_to_tensor(x) for x in tree.flatten(outputs)]
        places = [i for i, x in enumerate(flat) if _dtypes.is_float(x.dtype)]

        def derivatives(*given):
            whole = [knp.zeros_like(x) for x in flat]
            for place, value in zip(places, given):
                whole[place] = value
            found = derive(*whole)
            found = list(found) if isinstance(found, (tuple, list)) else [found]
            return [x if x is None else convert_to_tensor(x) for x in found]

        for place, value in zip(places, with_rule([flat[i] for i in places], inputs, derivatives)):
            flat[place] = value
        return tree.pack_sequence_as(outputs, flat)


def remat(f):
    return f


def grad(f, argnums=0):
    """Returns a function of the derivatives of `sum(f(...))` by the arguments at these positions, each a structure of
    tensors."""
    def derivative(*args, **kwargs):
        from keras.src.backend.common.backend_utils import standardize_argnums  # Keras 3.16

        args, places = list(args), standardize_argnums(argnums, len(args))
        with tartan.recording():
            for i in places:
                args[i] = tree.map_structure(lambda x: convert_to_tensor(x) + 0, args[i])  # a separate node
            inputs = [args[i] for i in places]
            found = tartan.gradients(knp.sum(f(*args, **kwargs)), tree.flatten(inputs))
        found = tree.pack_sequence_as(inputs, found)
        return found[0] if isinstance(argnums, int) else tuple(found)

    return derivative
