# SPDX-License-Identifier: Apache-2.0
"""Updates of weights by an optimizer. The operations of an update do not depend on a batch's sizes: they are captured
once, and all signatures of a training step contain them."""

import weakref

from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.backend.config import floatx
from keras.src.optimizers.loss_scale_optimizer import LossScaleOptimizer
from keras_tartan.src import _ranks
from keras_tartan.src._type import BackendTensor
from keras_tartan.src._values import placeholder
from tartan import _core
from tartan._function import _Trace
from tartan._tensor import state

_latest = weakref.WeakKeyDictionary()  # optimizer → the key and the update that it was last captured with


class _Update:
    """An update as a function of gradients and variables."""

    def __init__(self, optimizer, gradients, weights):
        trace = _Trace()
        inputs = [x if x is None else placeholder(x.shape, x.dtype, "gradient") for x in gradients]
        outer, state.trace = state.trace, trace
        try:
            optimizer.apply(inputs, weights)
        finally:
            state.trace = outer
        self.weights = weights  # the key has their addresses
        self._inputs = [x if x is None else x._value for x in inputs]
        self._reads = {variable: x._value for variable, x in trace.reads.items()}
        self._writes = {variable: x._value for variable, x in trace.writes.items()}
        known = {x for x in [*self._inputs, *self._reads.values()] if x is not None}
        self.is_complete = all(x in known or x.known is not None for x in _core.placeholders(list(self._writes.values())))

    def apply(self, gradients):
        trace = state.trace
        replacements = [(x, g._value) for x, g in zip(self._inputs, gradients) if g is not None]
        replacements += [(x, trace.read(variable)._value) for variable, x in self._reads.items()]
        values = _core.replaced(list(self._writes.values()), replacements)
        for variable, value in zip(self._writes, values):
            trace.write(variable, variable._kind(value))


def _is_plain(optimizer, gradients, weights):
    """Returns whether _key_of can read everything that decides the operations of an update."""
    if state.trace is None or state.levels or state.notes is not None or in_stateless_scope() or _ranks.active() is not None:
        return False
    kind = type(optimizer)
    if not kind.__module__.startswith("keras.src.optimizers.") or issubclass(kind, LossScaleOptimizer) or not optimizer.built:
        return False
    if any(w.constraint is not None or getattr(w, "overwrite_with_gradient", False) for w in weights):
        return False
    return all(g is None or type(g) is BackendTensor for g in gradients)


def _key_of(optimizer, gradients, weights):
    """Returns a key of everything that decides the operations of an update. None if that is unknown."""
    if not _is_plain(optimizer, gradients, weights):
        return None
    rate = optimizer._learning_rate
    if not isinstance(rate, KerasVariable):
        if not type(rate).__module__.startswith("keras.src.optimizers."):
            return None  # a schedule of the user may read anything
        rate = repr(rate.get_config())
    settings = tuple((name, x) for name, x in vars(optimizer).items()
                     if isinstance(x, (bool, int, float, str, type(None))))
    shapes = tuple(None if g is None else (g.dtype, g.shape) for g in gradients)
    return tuple(map(id, weights)), shapes, settings, rate if isinstance(rate, str) else None, floatx()


def apply(optimizer, gradients, weights):
    """Does what optimizer.apply(gradients, weights) does."""
    key = _key_of(optimizer, gradients, weights)
    if key is None:
        optimizer.apply(gradients, weights)
        return
    known, update = _latest.get(optimizer, (None, None))
    if known != key:
        update = _Update(optimizer, gradients, list(weights))
        _latest[optimizer] = key, update
    if update.is_complete:
        update.apply(gradients)
    else:
        optimizer.apply(gradients, weights)
