# SPDX-License-Identifier: Apache-2.0
"""Additional Keras layers."""

import base64
import hashlib
import os
import zlib

import keras
from keras_tartan.src import _onnx_training
from keras_tartan.src._type import BackendTensor
from keras_tartan.src._values import cast, convert_to_tensor
from tartan import _core, _dtypes, _onnx_file, _runtime
from tartan._tensor import state
from tartan._values import array_of

# Operands whose values the importer needs: (operator, position).
_DECIDING = {("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Clip", 1), ("Clip", 2), ("Pad", 2), ("Dropout", 1),
             ("Range", 0), ("Range", 1), ("Range", 2), ("OneHot", 2)}
_STATISTICS = {("BatchNormalization", 3), ("BatchNormalization", 4)}


@keras.saving.register_keras_serializable(package="tartan")
class OnnxLayer(keras.layers.Layer):
    """An ONNX model as a layer (tartan.from_onnx); `model` is a path or bytes. The layer is called with a tensor, a
    list in the order of the model's inputs, or a dictionary. It returns a tensor, or a list for several outputs.

    Saved Keras models contain the graph. If its data are in separate files, they contain the path and a checksum
    instead."""

    def __init__(self, model, checksum=None, trains_statistics=False, **options):
        super().__init__(autocast=False, **options)
        self._path, self._data = _read(model)
        self._graph = _onnx_file.read(self._data)
        self._checksum = hashlib.sha256(self._data).hexdigest()
        if checksum not in (None, self._checksum):
            raise ValueError(f"{self._path} is not the model that was saved: its checksum is {self._checksum}, that of "
                             f"the saved one {checksum}")
        self._model = _core.Model.load_bytes(self._data, True) if self._path is None else \
            _core.Model.load(self._path, True)
        self._trains_statistics = bool(trains_statistics)
        self._moving = None  # the model that also computes running statistics, and their names
        if trains_statistics:
            data, names = _onnx_training.with_statistics(self._data if self._path is None else self._path)
            self._moving = (_core.Model.load_bytes(data, True), names)
        count = self._model.own_input_count
        self._inputs = self._model.inputs[:count]
        self._parameters = {}
        uses = {}
        for node in self._graph.nodes:
            for position, name in enumerate(node.inputs):
                uses.setdefault(name, set()).add((node.op, position))
        # Models exported by tartan store constants as nodes, so their scalar initializers are weights.
        has_scalars = self._model.producer.startswith("tartan")
        for spec in self._model.inputs[count:]:
            used = uses.get(spec["name"], set())
            if used & _DECIDING or not spec["shape"] and not has_scalars:
                continue
            self._parameters[spec["name"]] = self._variable(spec["name"], not used & _STATISTICS)
        self.built = True

    def _variable(self, name, is_trained):
        value = array_of(self._model.initializer(name))
        return self.add_weight(shape=value.shape, dtype=str(_dtypes.as_dtype(value.dtype)), trainable=is_trained,
                               initializer=lambda shape, dtype: value, autocast=False, name=name.replace("/", "."))

    def call(self, inputs, training=None):
        given = self._given(inputs)
        feed = {name: value._value for name, value in given.items()}
        feed.update((name, convert_to_tensor(v)._value) for name, v in self._parameters.items())
        if training and self._moving is not None:
            return self._trained(given, feed)
        try:
            values = self._model.apply(feed)
        except RuntimeError:  # values decide shapes
            if state.trace is not None or state.recording:
                raise
            values = self._model.apply(feed, _runtime.eager())
        results = _tensors(values, given)
        if state.notes is not None:
            self._note(given, results)
        return results[0] if len(results) == 1 else results

    def _trained(self, given, feed):
        """Runs with batch statistics and updates the running statistics."""
        model, names = self._moving
        results = _tensors(model.apply(feed), given)
        for name, value in zip(names, results[len(results) - len(names):]):
            self._parameters[name].assign(value)
        results = results[:len(results) - len(names)]
        return results[0] if len(results) == 1 else results

    def _given(self, inputs):
        """Returns tensors by input name, with the dtypes that the model declares."""
        wanted = [spec["name"] for spec in self._inputs]
        if not isinstance(inputs, dict):
            listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            if len(listed) > len(wanted):
                raise ValueError(f"the model of the layer '{self.name}' has {len(wanted)} inputs: it was called with "
                                 f"{len(listed)}")
            inputs = dict(zip(wanted, listed))
        unknown = [name for name in inputs if name not in wanted]
        missing = [spec["name"] for spec in self._inputs if spec["name"] not in inputs and not spec["is_optional"]]
        if unknown or missing:
            raise ValueError(f"the model of the layer '{self.name}' has the inputs {wanted}: "
                             f"{'unknown are' if unknown else 'missing are'} {unknown or missing}")
        return {spec["name"]: self._as_declared(spec, convert_to_tensor(inputs[spec["name"]]))
                for spec in self._inputs if spec["name"] in inputs}

    def _as_declared(self, spec, x):
        wanted = spec["dtype"]
        if not spec["is_tensor"] or wanted not in _dtypes.ALL:
            raise NotImplementedError(f"the layer '{self.name}': its input '{spec['name']}' is of {spec['type']}")
        if x.dtype != wanted and _kind(x.dtype) != _kind(wanted):
            raise ValueError(f"the layer '{self.name}' takes {wanted} for its input '{spec['name']}'. Received: {x.dtype}")
        shape = spec["shape"]
        fits = shape is None or len(shape) == len(x.shape) and all(
            not isinstance(d, int) or d == n for d, n in zip(shape, x.shape))
        if not fits:
            raise ValueError(f"the layer '{self.name}' takes the shape {shape} for its input '{spec['name']}'. Received: "
                             f"{list(x.shape)}")
        return cast(x, wanted)

    def _note(self, given, results):
        """Records the whole model as one operation for export."""
        variables = {name: convert_to_tensor(v) for name, v in self._parameters.items()}
        names = [*given, *variables]
        state.notes.add("a model of ONNX", [*given.values(), *variables.values()], results,
                        {"names": names, "data": self._data, "path": self._path}, "tartan.model")

    def get_config(self):
        config = super().get_config()
        config.pop("autocast", None)
        config["trains_statistics"] = self._trains_statistics
        if self._path is not None:
            return dict(config, model=os.path.abspath(self._path), checksum=self._checksum)
        data = _onnx_file.without_data(self._data, set(self._parameters))
        return dict(config, model=base64.b64encode(zlib.compress(data)).decode("ascii"))

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if "checksum" not in config:
            config["model"] = zlib.decompress(base64.b64decode(config["model"]))
        return cls(**config)


def _tensors(values, given):
    depth = 1 + max(x._depth for x in given.values())
    return [BackendTensor(value, depth) for value in values]


def _kind(dtype):
    return "float" if _dtypes.is_float(dtype) else "bool" if dtype == "bool" else "integer"


def _read(model):
    """Returns the model's path, if its data are in separate files, and the model's bytes."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return None, bytes(model)
    path = os.fspath(model)
    with open(path, "rb") as file:
        data = file.read()
    try:
        is_external = any(x.is_external for x in _onnx_file.read(data).initializers)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return (path if is_external else None), data


__all__ = ["OnnxLayer"]
