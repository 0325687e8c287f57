# SPDX-License-Identifier: Apache-2.0
"""The device on which this process computes, and the eager evaluator."""

from __future__ import annotations

import ctypes
import glob
import os
import sys
import threading
from typing import Any

from tartan import _core
from tartan._types import _Device

_lock = threading.Lock()
_device = None
_eager = None
_process = None  # id of the process that opened the device
_precision = os.environ.get("TARTAN_MATMUL_PRECISION") or "float32"


def is_forked():
    """Returns True if this process was forked after its parent used a driver. OpenCL drivers do not work after a fork,
    so the host computes tensors here. There are no captured functions, and no values on the device."""
    return _process is not None and os.getpid() != _process


def check_process():
    """RuntimeError if this process has no driver, because it was forked."""
    if is_forked():
        raise RuntimeError(
            "tartan was used before this process was forked, but OpenCL drivers do not work after a fork, and this needs "
            "the device: start processes with 'spawn' (multiprocessing.set_start_method), or use tartan after the fork"
        )


_host = None  # (process, evaluator) of a process that was forked


def _host_eager():
    """Returns the evaluator of a process that was forked."""
    global _host
    if _device is None:
        check_process()
    if _host is None or _host[0] != os.getpid():
        _host = (os.getpid(), _core.EagerRuntime(_device, only_host=True))
    return _host[1]


def _renew_lock():
    global _lock
    _lock = threading.Lock()


# Another thread may have held the lock when this process was forked.
os.register_at_fork(after_in_child=_renew_lock)

_bound = False


def bind_drivers():
    """Loads OpenCL drivers that contain LLVM with local symbol binding. Otherwise other frameworks, which publish
    another LLVM to the whole process, would replace the drivers' symbols. Opens no device."""
    global _bound
    if _bound or not hasattr(os, "RTLD_DEEPBIND"):
        return
    _bound = True
    for library in _listed_drivers():
        if any(name in os.path.basename(library) for name in _CPU_DRIVERS):
            try:
                ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
            except OSError:
                pass  # the OpenCL loader reports the error


_CPU_DRIVERS = ("pocl", "intelocl")  # substrings of library names


def _listed_drivers():
    """Returns the libraries in the OpenCL loader's list of drivers: a folder of .icd files, one such file, or a
    library. Does not load a driver."""
    listed = os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors"
    files = sorted(glob.glob(os.path.join(listed, "*.icd"))) if os.path.isdir(listed) else [listed]
    libraries = []
    for path in files:
        if not path.endswith(".icd"):
            libraries.append(path)
            continue
        try:
            with open(path) as file:
                libraries.append(file.read().strip())
        except OSError:
            pass  # the OpenCL loader reports the error
    return libraries


def _keep_environment_readable(event, arguments):
    """Audit hook that runs before os.environ changes, because driver threads read the environment."""
    if event == "os.putenv":
        _core.reserve_variable(arguments[0])


# Audit hooks cannot be removed.
sys.addaudithook(_keep_environment_readable)


def is_open():
    """Returns True if the device in use has been selected. Opens none."""
    return _device is not None


def device() -> _Device:
    """Returns the device in use: selected by set_device, or else by TARTAN_DEVICE, or else a GPU, or else the CPU.

    RuntimeError if there is no OpenCL driver; the message says what to install."""
    global _device, _eager, _process
    with _lock:
        if _device is None:
            bind_drivers()
            _process = os.getpid()
            _device = _core.Device.open("").with_precision(_precision)
            _eager = _core.EagerRuntime(_device)
        check_process()
        return _device


_opened = {}  # index → a further device that is open


def opened(index):
    """Returns the device with an index, the one in use or another one, which stays open."""
    global _process
    bind_drivers()
    check_process()
    _process = os.getpid()
    with _lock:
        if _device is not None and _device.info["index"] == index:
            return _device
        if index not in _opened:
            _opened[index] = _core.Device.open(str(index))
        return _opened[index]


def has_only_cpu_drivers():
    """Returns True if the system's list of drivers has none for GPUs. Does not load a driver."""
    return all(any(name in os.path.basename(library) for name in _CPU_DRIVERS) for library in _listed_drivers())


_threads = None  # number of threads of a CPU driver, if it was set


def limit_threads(count):
    """Sets the number of threads that CPU drivers start, in this process and its children. Returns False if a driver
    has already started with another number."""
    global _threads
    if _process is not None:
        return count == (_threads or len(os.sched_getaffinity(0)))
    # Environment variables of PoCL and of Intel's driver.
    for name in ("POCL_MAX_PTHREAD_COUNT", "CL_CONFIG_CPU_TBB_NUM_WORKERS"):
        os.environ[name] = str(count)
    _threads = count
    return True


def eager():
    """Returns the evaluator that computes tensors when their values are needed."""
    if is_forked():
        return _host_eager()
    if _eager is None:
        device()
    return _eager


def set_device(selector: int | str) -> dict[str, Any]:
    """Selects the device by its index or a substring of its name. Tensors and variables move to it when they are
    used. ValueError with the available devices if nothing matches."""
    global _device, _eager, _process
    bind_drivers()
    check_process()
    _process = os.getpid()
    try:
        opened = _core.Device.open(str(selector))
    except FileNotFoundError as error:
        raise ValueError(str(error)) from None
    with _lock:
        _device = opened.with_precision(_precision)
        _eager = _core.EagerRuntime(_device)
    return opened.info


def set_matmul_precision(precision: str) -> None:
    """Sets the format in which matmuls and convolutions multiply float32 values from now on, also in Keras: "float32"
    (the default), "tf32", "bfloat16" or "float16" on the matrix units of NVIDIA's GPUs since Ampere, "bfloat16" on
    CPUs, too. Sums, results and all other functions stay float32. The environment variable TARTAN_MATMUL_PRECISION
    sets it for a process. Captured functions compile again. ValueError for another name."""
    global _precision, _device, _eager
    known = ("float32", "tf32", "bfloat16", "float16")
    if precision not in known:
        raise ValueError(f"the precision is {precision!r}, not {', '.join(known[:-1])} or {known[-1]}")
    device()
    with _lock:
        _precision = precision
        _device = _device.with_precision(precision)
        _eager = _core.EagerRuntime(_device)


def matmul_precision() -> str:
    """Returns the format that set_matmul_precision chose."""
    return _precision


def list_devices() -> list[dict[str, Any]]:
    """Returns a dictionary (index, name, platform) for every OpenCL device."""
    global _process
    bind_drivers()
    check_process()
    _process = os.getpid()
    return _core.list_devices()
