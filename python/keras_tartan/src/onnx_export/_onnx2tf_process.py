# SPDX-License-Identifier: Apache-2.0
"""Converts FOLDER/model.onnx by onnx2tf, in a process without Tartan:

    python _onnx2tf_process.py FOLDER litert            # FOLDER/converted/model_float32.tflite
    python _onnx2tf_process.py FOLDER tf_saved_model    # FOLDER/served, with the endpoint `serve`

FOLDER/structures.json has the structures of the arguments and results of `serve`. onnx2tf guesses where channels are, so
its results are compared with onnxruntime's. The last error in the output says what failed."""

import json
import pathlib
import sys

import numpy as np
import onnx2tf
import onnxruntime
import tensorflow as tf

_TOLERANCE = 1e-3  # of the largest value of a result
_OPEN_SIZES = (16, 64, 24)  # tried for dimensions without a size, except the first one of a tensor


def converted(folder):
    """Returns onnxruntime's session for the model."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    names = [x.name for x in session.get_inputs()]
    onnx2tf.convert(input_onnx_file_path=str(folder / "model.onnx"), output_folder_path=str(folder / "converted"),
                    copy_onnx_input_output_names_to_tflite=True, keep_shape_absolutely_input_names=names,
                    output_signaturedefs=True, non_verbose=True)
    return session


def _example(session):
    """Returns inputs and results of the model."""
    random = np.random.default_rng(0)
    failure = None
    for size in _OPEN_SIZES:
        feed = {}
        for x in session.get_inputs():
            shape = [d if isinstance(d, int) else 3 if axis == 0 else size for axis, d in enumerate(x.shape)]
            dtype = x.type[len("tensor("):-1].replace("float", "float32").replace("float3216", "float16")
            feed[x.name] = (random.random(shape) * 2).astype("float64" if dtype == "double" else dtype)
        try:
            return feed, session.run(None, feed)
        except Exception as error:  # the model does not take these sizes
            failure = error
    raise failure


def _compare(session, names, compute):
    feed, wanted = _example(session)
    for name, found, expected in zip(names, compute(feed), wanted):
        found = np.asarray(found, "float64").reshape(expected.shape)
        bound = _TOLERANCE * max(1.0, np.abs(expected.astype("float64")).max(initial=0))
        error = np.abs(found - expected).max(initial=0)
        if not error <= bound:
            raise ValueError(f"the converted model computes other values: '{name}' differs by {error:.3g}")


def _outputs(session):
    return [x.name for x in session.get_outputs()]


def write_litert(folder):
    from ai_edge_litert.interpreter import Interpreter

    session = converted(folder)

    def compute(feed):
        interpreter = Interpreter(str(folder / "converted" / "model_float32.tflite"))
        if not interpreter.get_signature_list():
            raise ValueError("the converted model has no signature")
        found = interpreter.get_signature_runner()(**feed)
        return [found[name] for name in _outputs(session)]

    _compare(session, _outputs(session), compute)


def write_saved_model(folder):
    session = converted(folder)
    names = [x.name for x in session.get_inputs()]
    loaded = tf.saved_model.load(str(folder / "converted"))
    function = loaded.signatures["serving_default"]
    specs = function.structured_input_signature[1]
    structures = json.loads((folder / "structures.json").read_text(encoding="utf-8"))

    def mapped(of, structure):
        if isinstance(structure, dict):
            return {name: mapped(of, part) for name, part in structure.items()}
        return [mapped(of, part) for part in structure] if isinstance(structure, list) else of(structure)

    def computed(args):
        results = function(**{names[number]: x for number, x in args.items()})
        return [results[name] for name in sorted(results, key=lambda name: (len(name), name))]

    def serve(*args):
        results = computed(dict(zip(tf.nest.flatten(structures["inputs"]), tf.nest.flatten(args))))
        if structures["outputs"] is None:
            return results[0] if len(results) == 1 else results
        return mapped(results.__getitem__, structures["outputs"])

    _compare(session, _outputs(session), lambda feed: computed({k: tf.constant(feed[n]) for k, n in enumerate(names)}))
    module = tf.Module()
    module.loaded = loaded
    module.serve = tf.function(serve, input_signature=mapped(
        lambda number: tf.TensorSpec(specs[names[number]].shape, specs[names[number]].dtype, names[number]),
        structures["inputs"]))
    tf.saved_model.save(module, str(folder / "served"), signatures={"serving_default": function})


if __name__ == "__main__":
    {"litert": write_litert, "tf_saved_model": write_saved_model}[sys.argv[2]](pathlib.Path(sys.argv[1]))
