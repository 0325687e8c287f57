# SPDX-License-Identifier: Apache-2.0
"""The tensor class of Keras. Its operators have Keras' rules (_methods.py), while tartan.Tensor keeps its own.
Operations on Keras tensors return Keras tensors."""

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
