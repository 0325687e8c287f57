# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX models, with the habits of onnxruntime.

    session = tartan.InferenceSession("model.onnx")
    (logits,) = session.run(None, {"x": x})
"""

import concurrent.futures
import dataclasses
import os
import threading

import numpy as np

from tartan import _core, _dtypes, _runtime, _values
from tartan._tensor import Tensor


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """An input or output of a model: `shape` has a number, a name or None for each dimension, and is None where
    even their number is not fixed; `type` is written as in "tensor(float)"."""

    name: str
    shape: list
    type: str


_TYPES = {"float32": "float", "float64": "double"}


def _node_arg(spec):
    type_name = f"tensor({_TYPES.get(spec['dtype'], spec['dtype'])})"
    for _ in range(spec["sequence_depth"]):
        type_name = f"seq({type_name})"
    return NodeArg(spec["name"], spec["shape"], type_name)


class IOBinding:
    """What a session reads and where it writes, for `run_with_iobinding`."""

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._outputs = []

    def bind_cpu_input(self, name, array):
        self._inputs[name] = array

    def bind_input(self, name, tensor, *unused):
        """A tensor of this package, or anything that NumPy takes for an array."""
        self._inputs[name] = tensor

    def bind_output(self, name, array=None, *unused):
        """Writes an output into `array`, where there is one; else `get_outputs` gives it."""
        self._outputs.append((name, array if isinstance(array, np.ndarray) else None))

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()

    def get_outputs(self):
        return self._results

    def copy_outputs_to_cpu(self):
        return [r.numpy() if isinstance(r, Tensor) else r for r in self._results]


class InferenceSession:
    """A model on a device: compiled once for each signature of its inputs.

    `model` is a path, or the bytes of a file. `device` selects one as `tartan.set_device` does. `tier` is "auto"
    (answers at once, and becomes quicker), "exact" or "ready". `precision` is what a GPU's matrix unit, or with
    "bfloat16" a CPU, may take of the factors of products: "float32" (all), "tf32", "bfloat16" or "float16"; sums are float32,
    other devices compute as ever. With "int8" products by weights have factors of 8 bits, scaled by rows and columns. Thread-safe; the interpreter's lock is released
    while the device works. With `states`, {output: input}, those outputs are inputs of the next run: they are neither
    given nor returned, begin with zeros, and stay on the device where their sizes do; `state`, `set_state` and
    `reset_states` are for them, and one thread at a time runs the session. Errors: FileNotFoundError, ValueError for a model or inputs that are wrong,
    NotImplementedError naming operators that are missing, IndexError for indices out of range."""

    def __init__(self, model, device=None, tier="auto", sess_options=None, providers=None, states=None,
                 precision="float32"):
        if isinstance(model, (bytes, bytearray, memoryview)):
            self._model = _core.Model.load_bytes(bytes(model))
        else:
            self._model = _core.Model.load(os.fspath(model))
        chosen = _runtime.device() if device is None else _core.Device.open(str(device))
        if precision != "float32":
            chosen = chosen.with_precision(precision)
        if states:
            self._session = _core.StateSession.create(self._model, chosen, tier, list(states.items()))
        else:
            self._session = _core.Session.create(self._model, chosen, tier)
        kept = states or {}
        self._device = chosen
        self._inputs = [_node_arg(spec) for spec in self._model.inputs if spec["name"] not in kept.values()]
        self._outputs = [_node_arg(spec) for spec in self._model.outputs if spec["name"] not in kept]
        self._tensors = {spec["name"]: spec["dtype"] for spec in self._model.inputs if spec["is_tensor"]}

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return list(self._outputs)

    def get_providers(self):
        return [self._device.info["name"]]

    def run(self, output_names, input_feed, run_options=None):
        """The outputs of these names, all of them for None, as NumPy arrays (lists for sequences). Inputs by name:
        arrays, tensors of this package, lists; those with a default may be left out."""
        results = self._run(input_feed)
        return [_values.from_core(results[i]) for i in self._positions(output_names)]

    def run_later(self, output_names, input_feed, run_options=None):
        """The same as `run` by a thread of its own: a `concurrent.futures.Future` of the outputs. Arrays must stay as
        they are until it is done. On GPUs copies of one run go on beside kernels of another."""
        future = concurrent.futures.Future()
        feed = self._feed(input_feed)
        positions = self._positions(output_names)

        def work():
            try:
                results = self._session.run(feed)
                future.set_result([_values.from_core(results[i]) for i in positions])
            except BaseException as error:  # whoever waits is told
                future.set_exception(error)

        future.set_running_or_notify_cancel()
        threading.Thread(target=work, name="tartan run").start()
        return future

    def run_async(self, output_names, input_feed, callback, user_data=None, run_options=None):
        """The same, as onnxruntime has it: `callback(outputs, user_data, error)` is called by that thread, with an empty
        text where there is no error, and else without outputs."""

        def tell(future):
            error = future.exception()
            callback([] if error else future.result(), user_data, str(error) if error else "")

        self.run_later(output_names, input_feed).add_done_callback(tell)

    def run_tensors(self, output_names, input_feed):
        """The same, but tensors come as `tartan.Tensor`."""
        results = self._run(input_feed)
        return [self._as_tensor(results[i]) for i in self._positions(output_names)]

    def state(self, name):
        """The value, a NumPy array, with which the input of this name begins the next run."""
        return _values.from_core(self._states().get(name))

    def set_state(self, name, value):
        """Another value for it."""
        self._states().set(name, self._feed({name: value})[name])

    def reset_states(self):
        """All states begin with zeros again."""
        self._states().reset()

    def _states(self):
        if not isinstance(self._session, _core.StateSession):
            raise ValueError("the session has no states: InferenceSession(model, states={output: input})")
        return self._session

    def io_binding(self):
        return IOBinding(self)

    def run_with_iobinding(self, binding, run_options=None):
        names = [name for name, _ in binding._outputs] or None
        results = self.run_tensors(names, binding._inputs)
        for (_, target), result in zip(binding._outputs, results):
            if target is not None:
                np.copyto(target, result.numpy())
        binding._results = results

    def _run(self, feed):
        return self._session.run(self._feed(feed))

    def _feed(self, feed):
        inputs = {}
        for name, value in feed.items():
            # Lists of numbers have no type of their own: they are what the model says.
            wanted = self._tensors.get(name)
            if isinstance(value, (list, tuple, int, float)) and wanted in _dtypes.ALL:
                value = np.asarray(value, _dtypes.numpy_dtype(wanted))
            inputs[name] = _values.to_core(value)
        return inputs

    def _positions(self, names):
        known = [output.name for output in self._outputs]
        if names is None:
            return range(len(known))
        for name in names:
            if name not in known:
                raise ValueError(f"the model has no output '{name}'; it has: {', '.join(known)}")
        return [known.index(name) for name in names]

    @staticmethod
    def _as_tensor(result):
        if not isinstance(result, _core.HostTensor):
            return _values.from_core(result)
        tensor = Tensor(_core.Value.leaf(result))
        tensor._host = result
        return tensor

