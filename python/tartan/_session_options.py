# SPDX-License-Identifier: Apache-2.0
"""Session and run options with the names of onnxruntime."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Sequence
from typing import Any

from tartan import _runtime


class GraphOptimizationLevel(enum.IntEnum):
    """Optimization levels of onnxruntime. They have no effect on Tartan's compiler."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Sequential or parallel node execution in onnxruntime; no effect here."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Node order in onnxruntime; no effect here."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


_DEFAULTS = {
    "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "execution_order": ExecutionOrder.DEFAULT,
    "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0,
    "intra_op_num_threads": 0, "log_severity_level": -1, "log_verbosity_level": 0, "logid": "",
    "optimized_model_filepath": "", "profile_file_prefix": "onnxruntime_profile_", "use_deterministic_compute": False,
    "use_per_session_threads": True}


class SessionOptions:
    """Options of an `InferenceSession`. `intra_op_num_threads` is the number of threads that a CPU's driver starts.
    The driver serves the whole process, so the first session decides. Other changed options are reported once as
    unused. AttributeError for names that onnxruntime does not have."""

    __slots__ = (*_DEFAULTS, "_entries", "_overrides")

    def __init__(self) -> None:
        for name, value in _DEFAULTS.items():
            setattr(self, name, value)
        self._entries = {}
        self._overrides = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Stores a setting as text; it is reported as unused."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """Returns the value of add_session_config_entry for `key`. RuntimeError if there is none."""
        if key not in self._entries:
            raise RuntimeError(f"the session options have no entry '{key}'")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Names the size of an open dimension. Unused: the sizes of the inputs decide."""
        self._overrides[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Names the size of an open dimension by its denotation. Unused: the sizes of the inputs decide."""
        self._overrides[denotation] = size

    def add_initializer(self, name: str, value: Any) -> None:
        """NotImplementedError: a session uses the weights of its file."""
        raise NotImplementedError(f"session options cannot replace the initializer '{name}': write it into the model")

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """NotImplementedError: external data is read from files in the model's folder."""
        raise NotImplementedError("session options cannot provide external data: put the files beside the model")

    def register_custom_ops_library(self, path: str) -> None:
        """NotImplementedError: operator libraries of onnxruntime are not supported."""
        raise NotImplementedError(f"{path}: libraries of operators that were made for onnxruntime cannot be used")

    def has_providers(self) -> bool:
        """Returns False: providers are passed to `InferenceSession`."""
        return False

    def _unused(self):
        """Returns the names of changed options without effect."""
        changed = [n for n, v in _DEFAULTS.items() if getattr(self, n) != v and n != "intra_op_num_threads"]
        return changed + sorted(self._entries) + [f"the free dimension {name}" for name in self._overrides]


class RunOptions:
    """Options of a run. A run with `terminate` set does not start; other options have no effect."""

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches", "terminate", "_entries")

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self._entries = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Stores a setting as text."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """Returns the value of add_run_config_entry for `key`. RuntimeError if there is none."""
        if key not in self._entries:
            raise RuntimeError(f"the run options have no entry '{key}'")
        return self._entries[key]


def check_run_options(options):
    """RuntimeError if the run must not start."""
    if getattr(options, "terminate", False):
        raise RuntimeError("the run did not begin: terminate is set in its RunOptions")


_reported = set()


def report_unused(names, what):
    """Warns about options without effect, once per process and name."""
    new = [name for name in names if name not in _reported]
    if new:
        _reported.update(new)
        warnings.warn(f"{what} that tartan does not use: {', '.join(new)}", stacklevel=4)


def apply(options):
    """Applies session options before the device is opened. TypeError for other objects."""
    if options is None:
        return
    if not isinstance(options, SessionOptions):
        known = [n for n in _DEFAULTS if hasattr(options, n)]
        if "intra_op_num_threads" not in known:
            raise TypeError(f"sess_options must be a tartan.SessionOptions, not {options!r}; give a device as device=…")
        copied = SessionOptions()  # an object of onnxruntime itself
        for name in known:
            value = getattr(options, name)
            setattr(copied, name, int(value) if isinstance(_DEFAULTS[name], enum.IntEnum) else value)
        options = copied
    threads = options.intra_op_num_threads
    if threads > 0 and not _runtime.limit_threads(threads):
        report_unused([f"intra_op_num_threads={threads} (the driver of the CPU has started with another number)"],
                      "session options")
    report_unused(options._unused(), "session options")
