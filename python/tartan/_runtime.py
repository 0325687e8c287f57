# SPDX-License-Identifier: Apache-2.0
"""The device that this process computes on, and what computes there."""

import os
import threading

from tartan import _core

_lock = threading.Lock()
_device = None
_eager = None
_process = os.getpid()


def _check_process():
    if os.getpid() != _process:
        raise RuntimeError(
            "tartan was used before this process was forked, and OpenCL drivers do not survive that: "
            "start processes by 'spawn' (multiprocessing.set_start_method), or import tartan after the fork"
        )


def device():
    """The device in use: what set_device chose, else TARTAN_DEVICE, else a GPU, else the CPU.

    Raises RuntimeError telling what to install where there is no OpenCL driver."""
    global _device, _eager
    with _lock:
        if _device is None:
            _device = _core.Device.open("")
            _eager = _core.EagerRuntime(_device)
        _check_process()
        return _device


def eager():
    """What computes tensors when their values are asked for."""
    if _eager is None:
        device()
    _check_process()
    return _eager


def set_device(selector):
    """Chooses the device by its index or a part of its name. Tensors and variables move to it when they are
    next used. ValueError where nothing matches, listing what there is."""
    global _device, _eager
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
    return _core.list_devices()
