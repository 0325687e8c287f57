# SPDX-License-Identifier: Apache-2.0
"""model.export(path, format="onnx")."""

import os
import tempfile

from keras.src import tree
from keras.src.export.export_utils import get_input_signature, make_input_spec
from keras.src.utils import io_utils

# Supported by runtimes for years.
_OPSET = 18


def export_onnx(model, filepath, verbose=None, input_signature=None, opset_version=None, **kwargs):
    """Writes the inference computation of a model as an ONNX model. Sizes that are None stay open; the first one of
    every input is named 'batch'. NotImplementedError names an operation that cannot be written and its layer; no
    file is left then."""
    if kwargs:
        raise ValueError(f"export to ONNX takes no {', '.join(kwargs)} with the tartan backend")
    proto, _ = proto_of(model, input_signature, opset_version)
    save(proto.SerializeToString(), os.fspath(filepath))
    if verbose is None or verbose:
        io_utils.print_msg(f"Saved artifact at '{filepath}'.")


def proto_of(model, input_signature=None, opset_version=None):
    """Returns the ONNX model of a model as a protocol buffer, and the signature of its inputs."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError("export to ONNX needs the package onnx: pip install onnx") from error
    from keras_tartan.src.onnx_export.model import build

    if input_signature is None:
        input_signature = get_input_signature(model)
    else:
        input_signature = tree.map_structure(_spec, input_signature)
        if not isinstance(input_signature, (list, tuple)):
            input_signature = [input_signature]
    return build(model, input_signature, _OPSET if opset_version is None else int(opset_version)), input_signature


def _spec(given):
    from keras.src import layers

    # The shape of a tensor counts except for its batch size. A specification counts unchanged.
    if isinstance(given, layers.InputSpec):
        return make_input_spec(given)
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        return make_input_spec(given)
    raise TypeError(f"`input_signature` must consist of keras.InputSpec, keras.KerasTensor and tensors, not {type(given)}")


def save(data, path):
    """Writes a file atomically."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
