# SPDX-License-Identifier: Apache-2.0
"""Registers the backend 'tartan' with stock Keras: an import finder that adds a branch to the Keras modules that
list the backends by name."""

import importlib.abc
import importlib.machinery
import pathlib
import re
import sys

# The lines added to each module before an anchor, for Keras 3.15.
_LISTED = {
    "keras.src.backend": [(
        'else:\n    raise ValueError(f"Unable to import backend : {backend()}")',
        'elif backend() == "tartan":\n'
        "    from keras_tartan.src import *  # noqa: F403\n"
        "    from keras_tartan.src.core import Variable as BackendVariable\n")],
    "keras.src.layers.layer": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement a layer mixin class.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.layer import BackendLayer\n")],
    "keras.src.models.model": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement the Trainer class.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.trainer import Trainer\n")],
    "keras.src.export.saved_model": [(
        "else:\n    raise RuntimeError(\n"
        "        f\"Backend '{backend.backend()}' must implement ExportArchive.\"",
        'elif backend.backend() == "tartan":\n'
        "    from keras_tartan.src.export import (\n"
        "        SavedModelExportArchive as BackendSavedModelExportArchive,\n"
        "    )\n")],
    "keras.src.ops.nn": [(
        "        # Calculate the mean & variance along self.axis (layer activations).\n",
        '        if backend.backend() == "tartan":\n'
        "            outputs = backend.nn.exported_layer_normalization(x, gamma, beta, axis, epsilon)\n"
        "            if outputs is not None:\n"
        "                return backend.cast(outputs, original_dtype)\n")],
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
# The same for Keras 3.16, which finds packages `keras_NAME` whose names it lists.
_PLUGGABLE = {
    "keras.src.backend.config": [(
        "# Whether NNX is enabled.\n_NNX_ENABLED = False\n",
        'PLUGGABLE_BACKENDS |= {"tartan"}\n\n')],
}
# The same for both.
_COMMON = {
    "keras.src.models.model": [(
        "        # Check if LiteRT export is available (requires TensorFlow or\n",
        '        if backend.backend() == "tartan" and format in (\n'
        '            "tf_saved_model", "openvino", "litert"\n'
        "        ):\n"
        "            from keras_tartan.src.onnx_export import export_converted\n\n"
        "            return export_converted(\n"
        "                self, filepath, format, verbose, input_signature, **kwargs\n"
        "            )\n\n")],
    "keras.src.export.onnx": [(
        "    actual_verbose = verbose\n    if actual_verbose is None:",
        '    if backend.backend() == "tartan":\n'
        "        from keras_tartan.src.onnx_export import export_onnx as export\n\n"
        "        return export(model, filepath, verbose, input_signature, opset_version, **kwargs)\n\n")],
    "keras.src.saving.serialization_lib": [(
        "    if module:\n        # If it's a Keras built-in object,\n",
        '    if registered_name == "tartan>OnnxLayer":\n'
        "        from keras_tartan.layers import OnnxLayer\n\n"
        "        return OnnxLayer\n\n"
        # An optimizer of another backend, such as keras.src.backend.torch.optimizers.torch_adam.Adam.
        '    if str(module).startswith("keras.src.backend.") and ".optimizers." in module:\n'
        '        module = "keras.optimizers"\n\n')],
}
# The lines that answer each caller by name, also for TARTAN_BACKEND_NAME.
_NAMES = ("    return _BACKEND\n",
          '    if _BACKEND == "tartan":\n'
          '        if "_answer" not in globals():\n'
          "            global _answer\n"  # layers call it for each attribute; an import statement takes longer
          "            from keras_tartan._names import answer as _answer\n\n"
          "        return _answer()\n")
_SUPPORTED = 'pip install "keras>=3.15,<3.17"'
_layout = {}  # filled by install()


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from its patched source, never from a cached bytecode file, which lacks the patch."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = self.get_data(path).decode("utf-8")
        return compile(patched(fullname, source), path, "exec", dont_inherit=True)


def patched(module, source):
    """Returns the source with the added lines before each anchor. ImportError unless each anchor occurs exactly
    once."""
    for anchor, added in _layout[module]:
        if source.count(anchor) != 1:
            raise ImportError(
                f"keras_tartan does not know Keras {_keras()[0]}, but 3.15 and 3.16: {_SUPPORTED} (there are "
                f"{source.count(anchor)} places in {module} like {anchor!r}, not 1)")
        source = source.replace(anchor, added + anchor)
    return source


def _keras():
    """Returns the version of the Keras that will be imported, and whether it finds backends as packages."""
    spec = importlib.machinery.PathFinder.find_spec("keras")
    if spec is None or not spec.submodule_search_locations:
        return "unknown", False
    sources = pathlib.Path(spec.submodule_search_locations[0]) / "src"
    texts = [path.read_text(encoding="utf-8") if path.is_file() else ""
             for path in (sources / "version.py", sources / "backend" / "config.py")]
    version = re.search(r'__version__ = "(.+)"', texts[0])
    return version[1] if version else "older than 3", "PLUGGABLE_BACKENDS = " in texts[1]


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _layout:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def add(module, anchor, added):
    """Adds lines before an anchor in another Keras module when it is imported."""
    _layout.setdefault(module, []).append((anchor, added))


def install():
    """Installs the finder once. RuntimeError if Keras was imported before."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "keras.src.backend" in sys.modules:
        raise RuntimeError("import keras_tartan before keras: keras was imported already, with another backend")
    version, is_pluggable = _keras()
    if not is_pluggable and not version.startswith(("3.15.", "unknown")):
        raise ImportError(f"keras_tartan does not know Keras {version}, but 3.15 and 3.16: {_SUPPORTED}")
    for table in (_COMMON, _PLUGGABLE if is_pluggable else _LISTED):
        for module, added in table.items():
            _layout.setdefault(module, []).extend(added)
    add("keras.src.backend.config", *_NAMES)
    sys.meta_path.insert(0, _Finder())
