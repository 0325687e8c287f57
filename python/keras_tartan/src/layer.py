# SPDX-License-Identifier: Apache-2.0
"""The base class of all layers that depends on the backend."""

from keras_tartan.src import _torch_style


class BackendLayer:
    def zero_grad(self):
        """For training steps in PyTorch's style: sets the gradients of the weights to zero."""
        _torch_style.zero_grad(self)
