# SPDX-License-Identifier: Apache-2.0
"""Maps devices to the names of onnxruntime's execution providers."""

import warnings

from tartan import _runtime

_CPU = "CPUExecutionProvider"
# GPU providers, and a substring of the vendor's name; "" matches any vendor.
_GPU_VENDORS = {
    "CUDAExecutionProvider": "nvidia", "TensorrtExecutionProvider": "nvidia", "NvTensorRTRTXExecutionProvider": "nvidia",
    "ROCMExecutionProvider": "advanced micro", "MIGraphXExecutionProvider": "advanced micro",
    "DmlExecutionProvider": "", "WebGpuExecutionProvider": "", "CoreMLExecutionProvider": "apple",
    "OpenCLExecutionProvider": ""}
# The first provider is the one that a session on such a GPU reports.
_NAMES = (("nvidia", "CUDAExecutionProvider"), ("advanced micro", "ROCMExecutionProvider"))


def _gpus():
    if _runtime.has_only_cpu_drivers():
        return []
    return [info for info in _runtime.list_devices() if info["type"] == "gpu"]


def _name_of(info):
    """Returns the provider name of a device for clients of onnxruntime."""
    if info["type"] != "gpu":
        return _CPU
    made_by = f"{info['vendor']} {info['platform']}".lower()
    return next((name for vendor, name in _NAMES if vendor in made_by), "OpenCLExecutionProvider")


def names_of(info):
    """Returns the providers of a session on a device."""
    name = _name_of(info)
    return [name] if name == _CPU else [name, _CPU]


def get_available_providers() -> list[str]:
    """Returns the providers with a device on this machine, the fastest first: GPUs under onnxruntime's names, then
    "CPUExecutionProvider"."""
    return [*dict.fromkeys(_name_of(info) for info in _gpus()), _CPU]


def get_all_providers() -> list[str]:
    """Returns the provider names that `InferenceSession` accepts."""
    return [*_GPU_VENDORS, _CPU]


def get_device() -> str:
    """Returns "GPU" if there is one, else "CPU"."""
    return "GPU" if _gpus() else "CPU"


def _gpu(name, options):
    """Returns the device that a GPU provider selects, or None after a warning."""
    gpus = _gpus()
    vendor = _GPU_VENDORS[name]
    fitting = [info for info in gpus if vendor in f"{info['vendor']} {info['platform']}".lower()] or gpus
    number = int(options.get("device_id", 0) or 0)
    if number < len(fitting):
        return fitting[number]
    found = f"device_id {number} of {len(fitting)} GPUs" if gpus else "no OpenCL driver here has a GPU"
    warnings.warn(f"{name} is not available: {found}; the next provider is used", stacklevel=6)
    return None


def normalized(providers, provider_options=None):
    """Joins providers and provider_options to pairs (name, options). ValueError if they do not match."""
    providers = [providers] if isinstance(providers, str) else list(providers or ())
    if provider_options is not None and len(provider_options) != len(providers):
        raise ValueError(f"provider_options has {len(provider_options)} entries for {len(providers)} providers")
    pairs = []
    for number, entry in enumerate(providers):
        name, options = entry if isinstance(entry, (tuple, list)) else (entry, {})
        if not isinstance(name, str):
            raise ValueError(f"a provider must be a name or a pair (name, options), not {entry!r}")
        if provider_options is not None:
            if options:
                raise ValueError(f"the options of {name} are given twice: in providers and in provider_options")
            options = provider_options[number]
        pairs.append((name, dict(options or {})))
    return pairs


def _cpu_device():
    if _runtime.has_only_cpu_drivers():
        return _runtime.device()
    found = next((info for info in _runtime.list_devices() if info["type"] == "cpu"), None)
    if found is not None:
        return _runtime.opened(found["index"])
    current = _runtime.device()
    warnings.warn(f"{_CPU} is not available: no OpenCL driver here has a CPU; {current.info['name']} is used", stacklevel=5)
    return current


def device_for(pairs):
    """Returns the device of the first available provider: the device in use if none is named, the CPU if none of the
    named ones is available."""
    if not pairs:
        return _runtime.device()
    for name, options in pairs:
        if name == _CPU:
            break
        if name not in _GPU_VENDORS:
            warnings.warn(f"{name} is not available: tartan has {', '.join(get_available_providers())}", stacklevel=5)
            continue
        info = _gpu(name, options)
        if info is not None:
            return _runtime.opened(info["index"])
    return _cpu_device()


def set_default_logger_severity(level: int) -> None:
    """Does nothing: tartan has no log with severity levels."""


def set_default_logger_verbosity(level: int) -> None:
    """Does nothing: tartan has no log with verbosity levels."""


def set_seed(seed: int) -> None:
    """NotImplementedError: random nodes take their `seed` from the model."""
    raise NotImplementedError("a seed for all models is not supported: nodes with random numbers have their own seeds in the model")
