# SPDX-License-Identifier: Apache-2.0
"""Tensors that a program holds while they have no value. They are computed together with tensors that share operations
with them: each later operation on them would otherwise compute these operations again, in another program."""

import collections
import threading
import weakref

from tartan import _core

# Tensors with fewer pending operations are computed if they have few elements. Others are left to fusion.
_LONG_CHAIN = 16
_FEW_ELEMENTS = 1024


class _Recent(threading.local):
    def __init__(self):
        self.tensors = collections.deque(maxlen=1024)  # weak references to tensors that may have no value yet


_recent = _Recent()


def note(tensor):
    """Remembers a new tensor of the calling thread that has no value."""
    _recent.tensors.append(weakref.ref(tensor))


def sharing_with(wanted):
    """Returns the tensors of the calling thread that the program still holds and that have operations in common with
    `wanted`: their operands, and others such as the new weights of a step whose loss is read."""
    pending = [t for t in [ref() for ref in _recent.tensors] if t is not None and t._host is None]
    _recent.tensors.clear()
    _recent.tensors.extend(weakref.ref(t) for t in pending)
    if not pending:
        return []
    sharing = set(_core.sharing_among([t._value for t in wanted], [t._value for t in pending]))
    if not sharing:
        return []
    held = [t for t in pending if t._value in sharing]
    return [t for t in held if t._depth >= _LONG_CHAIN or t.size <= _FEW_ELEMENTS]
