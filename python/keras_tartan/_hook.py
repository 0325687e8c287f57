# SPDX-License-Identifier: Apache-2.0
"""Registers the backend 'tartan' with stock Keras: an import finder that adds a branch to the Keras modules that
list the backends by name."""

import importlib.abc
import importlib.machinery
import sys

_LAYOUT = {
    "keras.src.backend": [(
        'else:\n    raise ValueError(f"Unable to import backend : {backend()}")',
        'elif backend() == "tartan":\n'
        "    from keras_tartan.src import *  # noqa: F403\n"
        "    from keras_tartan.src.core import Variable as BackendVariable\n\n"
        "    distribution_lib = None\n")],
    "keras.src.layers.layer": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement a layer mixin class.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.layer import TartanLayer as BackendLayer\n")],
    "keras.src.models.model": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement the Trainer class.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.trainer import TartanTrainer as Trainer\n")],
    "keras.src.export.saved_model": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement ExportArchive.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.export import (\n"
        "        TartanExportArchive as BackendSavedModelExportArchive,\n"
        "    )\n")],
    "keras.src.export.onnx": [(
        "    actual_verbose = verbose\n    if actual_verbose is None:",
        '    if backend.backend() == "tartan":\n'
        "        from keras_tartan.src.onnx_export import export_onnx as export\n\n"
        "        return export(model, filepath, verbose, input_signature, opset_version, **kwargs)\n\n")],
    "keras.src.ops.nn": [(
        "        # Calculate the mean & variance along self.axis (layer activations).\n",
        '        if backend.backend() == "tartan":\n'
        "            outputs = backend.nn.exported_layer_normalization(x, gamma, beta, axis, epsilon)\n"
        "            if outputs is not None:\n"
        "                return backend.cast(outputs, original_dtype)\n")],
    "keras.src.saving.serialization_lib": [(
        "    if module:\n        # If it's a Keras built-in object,\n",
        '    if registered_name == "tartan>OnnxLayer":\n'
        "        from keras_tartan.layers import OnnxLayer\n\n"
        "        return OnnxLayer\n\n")],
    # The result size of `nonzero` is unknown in a captured step.
    "keras.src.layers.preprocessing.image_preprocessing.equalization": [(
        'if self.backend.name in ("jax", "openvino"):\n            mask = cdf > 0',
        'if self.backend.name == "tartan":\n'
        "            first = self.backend.numpy.argmax(cdf > 0)\n"
        "            cdf_min = self.backend.numpy.take(cdf, first)\n"
        "        el")],
    "keras.src.utils.backend_utils": [(
        '        if self._backend == "openvino":\n',
        '        if self._backend == "tartan":\n'
        '            module = importlib.import_module("keras_tartan.src")\n'
        "            return getattr(module, name)\n"), (
        '        if backend not in ("tensorflow", "jax", "torch", "numpy", "openvino"):\n',
        '        if backend == "tartan":\n'
        "            self._backend = backend\n"
        "            return\n")],
}


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from its patched source, never from a cached bytecode file, which lacks the patch."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = self.get_data(path).decode("utf-8")
        return compile(patched(fullname, source), path, "exec", dont_inherit=True)


def patched(module, source):
    """Returns the source with the added lines before each anchor. ImportError unless each anchor occurs exactly
    once."""
    for anchor, added in _LAYOUT[module]:
        if source.count(anchor) != 1:
            raise ImportError(
                f"keras_tartan does not know this version of Keras ({_version()}): {source.count(anchor)} places in "
                f"{module} look like {anchor!r}, not 1. It was written for Keras 3.15")
        source = source.replace(anchor, added + anchor)
    return source


def _version():
    from importlib import metadata

    try:
        return metadata.version("keras")
    except metadata.PackageNotFoundError:
        return "unknown"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _LAYOUT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def add(module, anchor, added):
    """Adds lines before an anchor in another Keras module when it is imported."""
    _LAYOUT.setdefault(module, []).append((anchor, added))


def install():
    """Installs the finder once. RuntimeError if Keras was imported before."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "keras.src.backend" in sys.modules:
        raise RuntimeError("import keras_tartan before keras: keras was imported already, with another backend")
    sys.meta_path.insert(0, _Finder())
