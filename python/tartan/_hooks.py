# SPDX-License-Identifier: Apache-2.0
"""Import hooks that register this package with others: tensors with einops, the backend with Keras."""

import importlib.abc
import importlib.machinery
import sys

from tartan._late import functions

try:
    import keras_tartan_finder
except ImportError:  # without the Keras backend
    pass
else:
    keras_tartan_finder.warn_if_late()

_MODULE = "einops._backends"


def _add_backend(module):
    """Defines an einops backend; einops finds it among the subclasses of its base class."""

    class TartanBackend(module.AbstractBackend):
        framework_name = "tartan"

        tartan = functions

        def is_appropriate_type(self, tensor):
            return isinstance(tensor, (self.tartan.Tensor, self.tartan.ComplexTensor))

        def from_numpy(self, x):
            return self.tartan.asarray(x)

        def to_numpy(self, x):
            return x.numpy()

        def arange(self, start, stop):
            return self.tartan.arange(start, stop)

        def reshape(self, x, shape):
            return self.tartan.reshape(x, shape)

        def transpose(self, x, axes):
            return self.tartan.permute_dims(x, axes)

        def reduce(self, x, operation, axes):
            return getattr(self.tartan, operation)(x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors):
            return self.tartan.stack(tensors)

        def add_axis(self, x, new_position):
            return self.tartan.expand_dims(x, new_position)

        def tile(self, x, repeats):
            return self.tartan.tile(x, repeats)

        def concat(self, tensors, axis):
            return self.tartan.concat(tensors, axis=axis)

        def is_float_type(self, x):
            return self.tartan.isdtype(x.dtype, ("real floating", "complex floating"))

        def einsum(self, pattern, *x):
            return self.tartan.einsum(pattern, *x)

    module.TartanBackend = TartanBackend


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        _add_backend(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


if _MODULE in sys.modules:
    _add_backend(sys.modules[_MODULE])
else:
    sys.meta_path.insert(0, _Finder())
