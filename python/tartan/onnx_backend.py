# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface: `prepare`, `run_model`, `run_node`, `supports_device`.

    import onnx, tartan.onnx_backend as backend
    outputs = backend.run_model(onnx.load("model.onnx"), [x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from tartan.inference import InferenceSession


class TartanRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Sequence[Any] | Mapping[str, Any], **kwargs: Any) -> Any:
        """Returns the outputs as a named tuple. `inputs` is a list in the model's order or a dictionary."""
        declared = self._session.get_inputs()
        if not isinstance(inputs, dict):
            if len(inputs) > len(declared):
                raise ValueError(f"{len(inputs)} inputs are given, but the model has {len(declared)}")
            inputs = {arg.name: value for arg, value in zip(declared, inputs)}
        names = [arg.name for arg in self._session.get_outputs()]
        return namedtupledict("Outputs", names)(*self._session.run(None, inputs))


class TartanBackend(Backend):
    """Runs ONNX models on the device in use, regardless of the device that ONNX names."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Returns True if the device is supported; `prepare` reports unsupported operators."""
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> TartanRep:
        """Returns a TartanRep for a model of the package onnx."""
        data = model if isinstance(model, bytes) else model.SerializeToString()
        return TartanRep(InferenceSession(data, **kwargs))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """Prepares a model and runs it once; returns its outputs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        """Runs a single node; returns its outputs."""
        graph = helper.make_graph(
            [node], "node",
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for name, x in zip((n for n in node.input if n), inputs)],
            [onnx.ValueInfoProto(name=name) for name in node.output])
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns True for the device names CPU, CUDA, GPU and OPENCL; computation uses the device in use."""
        return device.split(":")[0].upper() in ("CPU", "CUDA", "GPU", "OPENCL")


is_compatible = TartanBackend.is_compatible
prepare = TartanBackend.prepare
run_model = TartanBackend.run_model
run_node = TartanBackend.run_node
supports_device = TartanBackend.supports_device
