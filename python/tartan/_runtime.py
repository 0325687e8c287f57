# SPDX-License-Identifier: Apache-2.0
"""The device that this process computes on, and what computes there."""

import ctypes
import glob
import os
import sys
import threading
import warnings

from tartan import _core

_lock = threading.Lock()
_device = None
_eager = None
_process = None  # that opened it


def _check_process():
    if _process is not None and os.getpid() != _process:
        raise RuntimeError(
            "tartan was used before this process was forked, and OpenCL drivers do not survive that: "
            "start processes by 'spawn' (multiprocessing.set_start_method), or use tartan after the fork"
        )


_bound = False


def bind_drivers():
    """Loads OpenCL drivers that bring LLVM, with names of their own: TensorFlow brings another LLVM whose names
    would take the place of theirs if it were loaded in between. Opens no device."""
    global _bound
    if _bound or not hasattr(os, "RTLD_DEEPBIND"):
        return
    _bound = True
    for path in sorted(glob.glob(os.path.join(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), "*.icd"))):
        try:
            with open(path) as file:
                library = file.read().strip()
            if "pocl" not in library:
                continue
            if "tensorflow" in sys.modules:
                warnings.warn("TensorFlow was imported before tartan, and PoCL may crash then: import tartan first")
            ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
        except OSError:
            pass  # the loader of OpenCL tells what is wrong


def _keep_environment_readable(event, arguments):
    """Before os.environ changes: drivers read the environment in threads of their own."""
    if event == "os.putenv":
        _core.reserve_variable(arguments[0])


# Hooks stay for the life of a process.
sys.addaudithook(_keep_environment_readable)


def device():
    """The device in use: what set_device chose, else TARTAN_DEVICE, else a GPU, else the CPU.

    Raises RuntimeError telling what to install where there is no OpenCL driver."""
    global _device, _eager, _process
    with _lock:
        if _device is None:
            bind_drivers()
            _process = os.getpid()
            _device = _core.Device.open("")
            _eager = _core.EagerRuntime(_device)
        _check_process()
        return _device


_opened = {}  # index → a device that is open beside the one in use


def opened(index):
    """The device of that index: the one in use, or another that stays open."""
    global _process
    bind_drivers()
    _check_process()
    _process = os.getpid()
    with _lock:
        if _device is not None and _device.info["index"] == index:
            return _device
        if index not in _opened:
            _opened[index] = _core.Device.open(str(index))
        return _opened[index]


_CPU_DRIVERS = ("pocl", "intelocl")  # in names of libraries


def has_only_cpu_drivers():
    """Returns whether the system's list of drivers has none for GPUs. It starts no driver."""
    listed = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
    libraries = [listed]
    if os.path.isdir(listed):
        libraries = []
        for path in glob.glob(os.path.join(listed, "*.icd")):
            with open(path) as file:
                libraries.append(file.read())
    return all(any(name in os.path.basename(library) for name in _CPU_DRIVERS) for library in libraries)


_threads = None  # of a CPU's driver, where somebody said how many


def limit_threads(count):
    """Sets how many threads drivers of CPUs start, in this process and its children. False where a driver has started with
    another number."""
    global _threads
    if _process is not None:
        return count == (_threads or len(os.sched_getaffinity(0)))
    # The variables of PoCL and of Intel's driver.
    for name in ("POCL_MAX_PTHREAD_COUNT", "CL_CONFIG_CPU_TBB_NUM_WORKERS"):
        os.environ[name] = str(count)
    _threads = count
    return True


def eager():
    """What computes tensors when their values are asked for."""
    if _eager is None:
        device()
    _check_process()
    return _eager


def set_device(selector):
    """Chooses the device by its index or a part of its name. Tensors and variables move to it when they are
    next used. ValueError where nothing matches, listing what there is."""
    global _device, _eager, _process
    bind_drivers()
    _check_process()
    _process = os.getpid()
    try:
        opened = _core.Device.open(str(selector))
    except FileNotFoundError as error:
        raise ValueError(str(error)) from None
    with _lock:
        _device = opened
        _eager = _core.EagerRuntime(opened)
    return opened.info


def list_devices():
    """A dictionary (index, name, platform) for every OpenCL device."""
    global _process
    bind_drivers()
    _check_process()
    _process = os.getpid()
    return _core.list_devices()
