# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX models with the names, arguments and results of onnxruntime.

    session = tartan.InferenceSession("model.onnx")
    (logits,) = session.run(None, {"x": x})
"""

from __future__ import annotations

import concurrent.futures
import copy
import dataclasses
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tartan import _core, _dtypes, _providers, _session_options, _values
from tartan._bindings import IOBinding, OrtValue
from tartan._providers import (
    get_all_providers, get_available_providers, get_device, set_default_logger_severity, set_default_logger_verbosity,
    set_seed)
from tartan._session_options import (
    ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions)
from tartan._tensor import Tensor


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """An input or output of a model. `shape` has a number, a name or None per dimension, and is None if the number
    of dimensions is open. `type` is a text such as "tensor(float)"."""

    name: str
    shape: list[int | str | None] | None
    type: str


@dataclasses.dataclass(frozen=True)
class ModelMetadata:
    """The metadata of a model file. `custom_metadata_map` contains texts added by the producer, by key. Missing
    fields are empty or 0."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


_TYPES = {"float32": "float", "float64": "double"}


def _node_arg(spec):
    type_name = f"tensor({_TYPES.get(spec['dtype'], spec['dtype'])})"
    if spec["map_keys"]:
        type_name = f"map({spec['map_keys']},{type_name})"
    for _ in range(spec["sequence_depth"]):
        type_name = f"seq({type_name})"
    return NodeArg(spec["name"], spec["shape"], type_name)


class InferenceSession:
    """A model on a device, compiled once per signature of its inputs.

    Positional arguments are those of onnxruntime. `path_or_bytes` is a path or the bytes of a file. `sess_options`
    is a `SessionOptions` object, whose docstring lists the options in use. `providers` are names such as
    "CPUExecutionProvider", or pairs of a name and options; `provider_options` may have a dictionary for each. The
    first provider with a device on this machine is used. "CUDAExecutionProvider" and similar names select a GPU
    (option `device_id`), or warn that there is none. Without providers, the device in use applies
    (`tartan.set_device`).

    Keyword arguments:

    - `device` selects a device as `tartan.set_device` does. With a list such as [0, 1], the batch of each run is
      split over the devices (the open first dimension of the first input), each with its own thread, and outputs
      are joined. ValueError if the model has no such dimension. A device may occur several times.
    - `tier` is "auto" (starts with ready kernels, later exact ones), "exact" (shape-specialised kernels) or "ready"
      (dynamic-shape kernels).
    - `precision` is the precision of matmul operands on a GPU's tensor cores, or with "bfloat16" also on a CPU:
      "float32", "tf32", "bfloat16" or "float16"; sums are float32, and other devices compute in float32. With
      "int8", matmuls by weights use 8-bit operands, scaled per row and column.
    - `states`, {output: input}, feeds outputs back as inputs of the next run. They are neither passed nor returned,
      start with zeros, and stay on the device if their sizes do not change. `state`, `set_state` and `reset_states`
      access them. Only one thread at a time may run such a session.

    Thread-safe; the GIL is released while the device works. Errors: FileNotFoundError, ValueError for an invalid
    model or inputs, NotImplementedError with the names of unsupported operators, IndexError for indices out of
    range."""

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview,
                 sess_options: SessionOptions | None = None, providers: Sequence[Any] | None = None,
                 provider_options: Sequence[Any] | None = None, *, device: int | str | Sequence[int | str] | None = None,
                 tier: str = "auto", states: Mapping[str, str] | None = None, precision: str = "float32",
                 disabled_optimizers: Sequence[str] | None = None) -> None:
        _session_options.apply(sess_options)
        if disabled_optimizers:
            _session_options.report_unused(["disabled_optimizers"], "arguments of InferenceSession")
        self._options = sess_options if sess_options is not None else SessionOptions()
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model = _core.Model.load_bytes(bytes(path_or_bytes))
        else:
            self._model = _core.Model.load(os.fspath(path_or_bytes))
        self._tier, self._kept, self._precision = tier, dict(states or {}), precision
        if device is not None and providers:
            raise ValueError("an InferenceSession takes a device or providers, not both")
        self._open(providers, provider_options, device)
        kept = self._kept
        self._inputs = [_node_arg(spec) for spec in self._model.inputs if spec["name"] not in kept.values()]
        self._outputs = [_node_arg(spec) for spec in self._model.outputs if spec["name"] not in kept]
        self._tensors = {spec["name"]: spec["dtype"] for spec in self._model.inputs if spec["is_tensor"]}

    def _open(self, providers, provider_options, device=None):
        pairs = _providers.normalized(providers, provider_options)
        if device is None:
            devices = [_providers.device_for(pairs)]
        else:
            devices = [_core.Device.open(str(selector)) for selector in _selectors(device)]
        if self._precision != "float32":
            devices = [opened.with_precision(self._precision) for opened in devices]
        if len(devices) > 1 and self._kept:
            raise ValueError(f"a session with states takes one device, not {len(devices)}")
        if len(devices) > 1:
            self._session = _core.ParallelSession.create(self._model, devices, self._tier)
        elif self._kept:
            self._session = _core.StateSession.create(self._model, devices[0], self._tier, list(self._kept.items()))
        else:
            self._session = _core.Session.create(self._model, devices[0], self._tier)
        self._device, self._asked = devices[0], pairs

    def get_inputs(self) -> list[NodeArg]:
        """Returns the inputs of a run as NodeArgs, including inputs with defaults."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Returns the outputs of a run as NodeArgs."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Returns an empty list: initializers that can be overridden are part of `get_inputs`."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """Returns the metadata of the model file."""
        return ModelMetadata(**self._model.metadata)

    def get_session_options(self) -> SessionOptions:
        """Returns the options of the session."""
        return self._options

    def get_providers(self) -> list[str]:
        """Returns the provider of the session's device under onnxruntime's name, followed by "CPUExecutionProvider"."""
        return _providers.names_of(self._device.info)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Returns the options of each provider in `get_providers`, as texts."""
        asked = dict(self._asked)
        return {name: {key: str(value) for key, value in asked.get(name, {}).items()} for name in self.get_providers()}

    def set_providers(self, providers: Sequence[Any] | None = None,
                      provider_options: Sequence[Any] | None = None) -> None:
        """Moves the session to the device of other providers. States are reset to zeros."""
        self._open(providers, provider_options)

    def enable_fallback(self) -> None:
        """Does nothing: a failed run is not repeated on another device."""

    def disable_fallback(self) -> None:
        """Does nothing: a failed run is not repeated on another device."""

    def end_profiling(self) -> None:
        """NotImplementedError: use `tartan.explain(session, profile=True)`, which measures each kernel."""
        raise NotImplementedError("sessions write no profile: use tartan.explain(session, profile=True), which measures the kernels")

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[Any]:
        """Returns the named outputs, or all for None or an empty list, as writable NumPy arrays (lists for
        sequences). Inputs are given by name: arrays, tensors of this package, OrtValues, lists. Inputs with
        defaults may be omitted. ValueError for an unknown output."""
        _session_options.check_run_options(run_options)
        positions = self._positions(output_names)
        return _owned(self._run(input_feed), positions)

    def run_later(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  run_options: Any = None) -> Future[list[Any]]:
        """Runs like `run` in a new thread, and returns a `concurrent.futures.Future` of the outputs. Input arrays
        must not change until it is done. On GPUs, copies of one run overlap with kernels of another."""
        _session_options.check_run_options(run_options)
        future = concurrent.futures.Future()
        feed = self._feed(input_feed)
        positions = self._positions(output_names)

        def work():
            try:
                future.set_result(_owned(self._session.run(feed), positions))
            except BaseException as error:  # reported through the future
                future.set_exception(error)

        future.set_running_or_notify_cancel()
        threading.Thread(target=work, name="tartan run").start()
        return future
    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], None], user_data: Any = None,
                  run_options: Any = None) -> None:
        """Runs like `run_later`, with onnxruntime's interface: the thread calls `callback(outputs, user_data,
        error)`. The error text is empty on success; otherwise there are no outputs."""

        def tell(future):
            error = future.exception()
            callback([] if error else future.result(), user_data, str(error) if error else "")

        self.run_later(output_names, input_feed).add_done_callback(tell)

    def run_tensors(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Runs like `run`, but returns `tartan.Tensor` objects."""
        results = self._run(input_feed)
        return [self._as_tensor(results[i]) for i in self._positions(output_names)]

    def state(self, name: str) -> Any:
        """Returns the value of a state input at the start of the next run, as a NumPy array."""
        return _values.from_core(self._states().get(name))

    def set_state(self, name: str, value: Any) -> None:
        """Sets the value of a state input for the next run."""
        self._states().set(name, self._feed({name: value})[name])

    def reset_states(self) -> None:
        """Resets all states to zeros."""
        self._states().reset()

    def _states(self):
        if not isinstance(self._session, _core.StateSession):
            raise ValueError("the session has no states: InferenceSession(model, states={output: input})")
        return self._session

    def io_binding(self) -> IOBinding:
        """Returns an empty IOBinding for this session."""
        return IOBinding(self)

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, Any],
                            run_options: Any = None) -> list[OrtValue]:
        """Runs like `run` with OrtValues as inputs, and returns a list of OrtValues."""
        _session_options.check_run_options(run_options)
        return [OrtValue(result) for result in self.run_tensors(output_names, input_dict_ort_values)]

    def create_ortvalue_from_shape_and_type(self, shape: Sequence[int], element_type: Any, device_type: str,
                                            device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """OrtValue.ortvalue_from_shape_and_type."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs with the inputs bound to an IOBinding, and writes to its outputs."""
        _session_options.check_run_options(run_options)
        iobinding._take(self.run_tensors(list(iobinding._outputs), iobinding._inputs))

    def _run(self, feed):
        return self._session.run(self._feed(feed))

    def _feed(self, feed):
        inputs = {}
        for name, value in feed.items():
            # Lists of numbers have no dtype; the model's dtype is used.
            wanted = self._tensors.get(name)
            if isinstance(value, OrtValue):
                value = value._value
            if isinstance(value, (list, tuple, int, float)) and wanted in _dtypes.ALL:
                value = np.asarray(value, _dtypes.numpy_dtype(wanted))
            inputs[name] = _values.to_core(value)
        return inputs

    def _positions(self, names):
        known = [output.name for output in self._outputs]
        if names is None or len(names) == 0:
            return range(len(known))
        for name in names:
            if name not in known:
                raise ValueError(f"the model has no output '{name}'; it has {', '.join(known)}")
        return [known.index(name) for name in names]

    @staticmethod
    def _as_tensor(result):
        if not isinstance(result, _core.HostTensor):
            return _values.from_core(result)
        tensor = Tensor(_core.Value.leaf(result))
        tensor._host = result
        return tensor


def _selectors(device):
    """Returns the selectors of one device or of a list of devices. ValueError for an empty list."""
    if isinstance(device, (str, int, np.integer)):
        return [device]
    selectors = list(device)
    if not selectors:
        raise ValueError("device is an empty list: give at least one device")
    return selectors


def _owned(results, positions):
    """Returns results of the core as writable arrays that share no memory. Arrays without other owners are not
    copied."""
    spans, made = [], {}

    def own(value):
        if isinstance(value, list):
            return [own(element) for element in value]
        if not isinstance(value, _core.HostTensor):
            return _values.from_core(value)
        shape, dtype = value.shape, _dtypes.numpy_dtype(value.dtype)
        flat = value.take_bytes()
        begin = flat.__array_interface__["data"][0]
        if any(begin < other_end and other < begin + flat.size for other, other_end in spans):
            flat = flat.copy()
        else:
            spans.append((begin, begin + flat.size))
        return flat.view(dtype).reshape(shape)

    outputs = []
    for position in positions:
        is_again = position in made
        value = made[position] if is_again else own(results[position])
        outputs.append(copy.deepcopy(value) if is_again else value)
        made[position] = value
    return outputs


__all__ = ["ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "InferenceSession", "IOBinding", "ModelMetadata",
           "NodeArg", "OrtValue", "RunOptions", "SessionOptions", "get_all_providers", "get_available_providers",
           "get_device", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed"]
