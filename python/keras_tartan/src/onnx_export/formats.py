# SPDX-License-Identifier: Apache-2.0
"""model.export in formats that other packages write from ONNX: OpenVINO by openvino, LiteRT and SavedModel by onnx2tf.

onnx2tf and TensorFlow run in a process of their own (_onnx2tf_process.py)."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from keras.src import tree
from keras.src.utils import io_utils
from keras_tartan.src.onnx_export.export import proto_of, save

_FORMATS = {"openvino": ("OpenVINO", ".xml", "openvino"), "litert": ("LiteRT", ".tflite", "onnx2tf"),
            "tf_saved_model": ("a SavedModel", "", "onnx2tf")}
_SCRIPT = pathlib.Path(__file__).with_name("_onnx2tf_process.py")


def _has(package):
    return importlib.util.find_spec(package) is not None


def export_converted(model, filepath, format, verbose=None, input_signature=None, **kwargs):
    """Writes the inference computation of a model in a format of Model.export. ImportError names the package to
    install. NotImplementedError says what ONNX or the converter cannot express. No file is left then."""
    title, ending, package = _FORMATS[format]
    path = os.fspath(filepath)
    if kwargs:
        raise ValueError(f"export to {title} takes no {', '.join(kwargs)} with the tartan backend")
    if not path.endswith(ending):
        raise ValueError(f"The {title} export requires the filepath to end with '{ending}'. Got: {filepath}")
    if not _has(package):
        raise ImportError(f"export to {title} needs the package {package} with the tartan backend: pip install {package}")
    proto, signature = proto_of(model, input_signature)
    if format == "openvino":
        _write_openvino(proto, path)
    else:
        _write_by_onnx2tf(proto, path, format, _structures(model, signature))
    if verbose is None or verbose:
        io_utils.print_msg(f"Saved artifact at '{filepath}'.")


def _write_openvino(proto, path):
    import openvino

    try:
        read = openvino.Core().read_model(model=proto.SerializeToString())
    except RuntimeError as error:
        raise NotImplementedError(f"OpenVINO cannot read the exported model: {error}") from error
    openvino.save_model(read, path, compress_to_fp16=False)


def _structures(model, signature):
    """Returns the structures of the arguments and of the results with numbers for tensors; null for unknown results."""
    def numbered(structure):
        numbers = iter(range(len(tree.flatten(structure))))
        return tree.map_structure(lambda leaf: next(numbers), structure)

    results = getattr(model, "_outputs_struct", None)
    return {"inputs": numbered(list(signature)), "outputs": None if results is None else numbered(results)}


def _write_by_onnx2tf(proto, path, format, structures):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        (folder / "structures.json").write_text(json.dumps(structures), encoding="utf-8")
        environment = dict(os.environ, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3")
        done = subprocess.run([sys.executable, str(_SCRIPT), str(folder), format], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            errors = re.findall(r"^\w*(?:Error|Exception)\b.*", done.stdout, re.M) or [f"status {done.returncode}"]
            raise NotImplementedError(f"onnx2tf cannot convert the model to {_FORMATS[format][0]}: {errors[-1][:300]}")
        if format == "litert":
            save((folder / "converted" / "model_float32.tflite").read_bytes(), path)
        else:
            shutil.copytree(folder / "served", path, dirs_exist_ok=True)
