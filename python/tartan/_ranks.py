# SPDX-License-Identifier: Apache-2.0
"""The ranks (processes) that an MPI launcher started together with this one. `tartan.distributed` is the public part.

Every rank calls the same collective functions in the same order. With one rank they return their arguments."""

from __future__ import annotations

import atexit
import os
import pickle
import sys

import numpy as np

from tartan import _core, _runtime, _values
from tartan._tensor import to_host

_ranks = None  # the _core.Ranks; None: one rank
_is_joined = False
_has_ended = False  # the ranks have finished or failed

_TRANSPORTS = ("host", "nccl", "peer", "auto")


def started_by_mpi():
    """Returns True if an MPI launcher started this process as one of several. Joins nothing."""
    return _core.started_by_mpi()


def is_joined():
    return _is_joined


def joined():
    """Returns the _core.Ranks, or None for one rank."""
    return _ranks


def join(transport, timeout):
    """Joins the other processes once. Later calls do nothing."""
    global _ranks, _is_joined
    if transport not in _TRANSPORTS:
        raise ValueError(f"the transport is {transport!r}, not one of {', '.join(map(repr, _TRANSPORTS))}")
    if _is_joined:
        return
    if started_by_mpi():
        _ranks = _core.join_ranks(transport, float(timeout))
    _is_joined = True
    if _ranks is None:
        return
    atexit.register(_finish)
    _report_failures()
    agree(f"the transport {transport}, Python {sys.version.split()[0]}")
    _choose_device(_ranks.local_rank)


def _finish():
    """Waits for the other ranks at the end of the program, so that no rank ends while another one needs it."""
    global _has_ended
    if _has_ended:
        return
    _has_ended = True
    try:
        _ranks.finish()
    except (RuntimeError, ValueError) as error:
        print(f"tartan: rank {_ranks.rank} cannot wait for the others: {error}", file=sys.stderr)


def _report_failures():
    """Makes an uncaught exception end all ranks; the others print which rank failed and why."""
    previous = sys.excepthook

    def report(kind, error, trace):
        global _has_ended
        previous(kind, error, trace)
        if not _has_ended:
            _has_ended = True
            _ranks.fail(f"{kind.__name__}: {error}")

    sys.excepthook = report


def _choose_device(local_rank):
    """Selects one of several equal GPUs by the local rank. A device that the user has chosen stays."""
    chosen = os.environ.get("TARTAN_DEVICE", "")
    if _runtime.is_open() or chosen.isdigit():
        return
    devices = [info for info in _runtime.list_devices() if chosen.lower() in info["name"].lower()]
    gpus = [info for info in devices if info["type"] == "gpu"]
    if not gpus:
        return
    equal = [info["index"] for info in gpus if (info["name"], info["platform"]) == (gpus[0]["name"], gpus[0]["platform"])]
    _runtime.set_device(equal[local_rank % len(equal)])


# --- Operations on arrays and Python objects.


def sum_arrays(array):
    """Returns the sum over all ranks of an array of float32, float64, int32 or int64."""
    return array if _ranks is None else _values.array_of(_ranks.all_reduce(to_host(array)))


def gather_arrays(array):
    """Returns the arrays of all ranks, which have one shape, as one array [ranks, …]."""
    return array[None] if _ranks is None else _values.array_of(_ranks.all_gather(to_host(array)))


def gather_objects(value):
    """Returns the list of the values of all ranks, which are pickled."""
    if _ranks is None:
        return [value]
    own = np.frombuffer(pickle.dumps(value), "uint8")
    sizes = gather_arrays(np.array(own.size, "int64"))
    padded = np.zeros(int(sizes.max()), "uint8")
    padded[:own.size] = own
    return [pickle.loads(row[:size].tobytes()) for row, size in zip(gather_arrays(padded), sizes)]


def broadcast_object(value, root=0):
    """Returns the value of a rank, which is pickled. Others need not know its size."""
    if _ranks is None:
        return value
    own = np.frombuffer(pickle.dumps(value if _ranks.rank == root else None), "uint8")
    size = int(broadcast_array(np.array(own.size, "int64"), root))
    data = own if _ranks.rank == root else np.zeros(size, "uint8")
    return pickle.loads(broadcast_array(data, root).tobytes())


def broadcast_array(array, root=0):
    """Returns the array of a rank. All ranks give arrays of one shape and dtype."""
    return array if _ranks is None else _values.array_of(_ranks.broadcast(to_host(array), root))


_TEXT = 160  # bytes of a fact that are compared


def agree(fact):
    """ValueError on all ranks, with a rank and both texts, if the text differs from rank 0's. Ranks may go on then."""
    if _ranks is None:
        return
    own = np.zeros(_TEXT, "uint8")
    data = fact.encode()[:_TEXT]
    own[:len(data)] = np.frombuffer(data, "uint8")
    texts = [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in gather_arrays(own)]
    for rank, text in enumerate(texts):
        if text != texts[0]:
            raise ValueError(f"the ranks differ: rank 0 has {texts[0]}, rank {rank} has {text}")


# --- Sums of variables on the device.


class VariableSums:
    """Variables whose values on the device are replaced by their sums over the ranks. They are adjacent in memory, in
    buckets that are added one after another while the device computes the next ones."""

    def __init__(self, variables):
        self.variables = list(variables)
        self._device = None
        self.buckets = []  # lists of variables

    def place(self):
        """Moves the variables into one buffer on the device in use."""
        device = _runtime.device()
        if self._device is device:
            return
        self._device = device
        memory = _ranks.allocate(device, [(str(v.dtype), list(v.shape)) for v in self.variables])
        self.buckets = []
        size = full = _ranks.bucket_bytes
        for variable, place in zip(self.variables, memory):
            variable.move_to(place, device)
            if size >= full:
                self.buckets.append([])
                size = 0
            self.buckets[-1].append(variable)
            size += int(np.prod(variable.shape)) * np.dtype(str(variable.dtype)).itemsize

    def add(self, program=None):
        """Adds them. `program` computed them last and watches `buckets`; None: they are added after all runs."""
        self.place()
        memory = [[variable.on_device() for variable in bucket] for bucket in self.buckets]
        _ranks.sum(self._device, memory, program)
        for variable in self.variables:
            variable.changed_on_device()
