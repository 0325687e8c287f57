# SPDX-License-Identifier: Apache-2.0
"""The tensors of Keras: a class of their own, whose operators have Keras' rules (_methods.py), so that those of
tartan.Tensor stay what they are. What is computed from one is one."""

from tartan import _tensor


class BackendTensor(_tensor.Tensor):
    """A tensor of Keras."""

    __slots__ = ()

    def _as_operand(self):
        return _tensor.Tensor._of(self)


BackendTensor._kind = BackendTensor


def constant(scalar, dtype):
    return BackendTensor._of(_tensor.constant(scalar, dtype))


def constant_array(array):
    return BackendTensor._of(_tensor.constant_array(array))


def from_numpy(array, copy=True):
    return BackendTensor._of(_tensor.from_numpy(array, copy))
