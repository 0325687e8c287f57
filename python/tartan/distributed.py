# SPDX-License-Identifier: Apache-2.0
"""Several processes (ranks) that an MPI launcher starts, for data-parallel training.

    # mpirun -n 2 python train.py
    import numpy as np
    import tartan.distributed

    tartan.distributed.initialize()
    mean = tartan.distributed.all_reduce(np.float32([tartan.distributed.rank()]), "mean")

Every rank calls the same functions in the same order, except `send` and `recv`. Without a launcher there is one rank,
and all functions work. Values go through the memory of the host; gradients of `tartan.train` and Keras need not.

A rank that ends by an uncaught exception ends the others, which print its error. If a process is killed or stopped,
the others of its host end within 15 s and say which one it was. So do they if a rank's program has ended while they
wait for it. In other cases they wait for `timeout` seconds."""

from __future__ import annotations

import math

import numpy as np

from tartan import _dtypes, _ranks, _values
from tartan._tensor import Tensor, from_numpy, to_host
from tartan._types import _Array, _DType
from tartan._variable import Variable

__all__ = ["initialize", "is_initialized", "rank", "world_size", "local_rank", "part", "barrier", "all_reduce",
           "all_gather", "reduce_scatter", "broadcast", "send", "recv"]

_SUMMED = ("float32", "float64", "int32", "int64")
_OPERATIONS = ("sum", "mean", "max", "min", "prod")


def initialize(transport: str = "auto", timeout: float = 1800.0) -> None:
    """Joins the processes that `mpirun` (or another MPI launcher) started together with this one, and chooses one of
    several equal GPUs by the local rank. Call it before other functions of tartan. A device chosen by `TARTAN_DEVICE`
    or `tartan.set_device` stays. Later calls do nothing. Without a launcher there is one rank.

    `transport` says how gradients move between devices: "host", "nccl" (between NVIDIA GPUs), "peer" (by copies
    between NVIDIA GPUs of one host), or "auto" for the first of "peer", "nccl" and "host" that all ranks have. With
    "peer" and "nccl" the error says what a rank lacks. `timeout` limits one operation, in seconds.

    RuntimeError if MPI cannot be loaded, with what to install; NotImplementedError if this build has no MPI;
    ValueError if the ranks differ in `transport` or their version of Python."""
    _ranks.join(transport, timeout)


def is_initialized() -> bool:
    """Returns True after `initialize`."""
    return _ranks.is_joined()


def rank() -> int:
    """Returns the number of this process among all, from 0; 0 before `initialize`."""
    ranks = _ranks.joined()
    return 0 if ranks is None else ranks.rank


def world_size() -> int:
    """Returns the number of processes; 1 before `initialize`."""
    ranks = _ranks.joined()
    return 1 if ranks is None else ranks.world_size


def local_rank() -> int:
    """Returns the number of this process among the processes of its host, from 0."""
    ranks = _ranks.joined()
    return 0 if ranks is None else ranks.local_rank


def part(count: int) -> slice:
    """Returns the slice of `count` examples that belongs to this rank: count * r // n up to count * (r + 1) // n for
    rank r of n. The slices of all ranks are disjoint and cover all examples. Some are empty if count < n."""
    if count < 0:
        raise ValueError(f"a batch has {count} examples")
    r, n = rank(), world_size()
    return slice(count * r // n, count * (r + 1) // n)


def barrier() -> None:
    """Waits until all ranks have called it."""
    _ranks.sum_arrays(np.zeros(1, "int32"))


def _array(x):
    if isinstance(x, Variable):
        x = x.value
    array = x.numpy() if isinstance(x, Tensor) else np.asarray(x)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    return array


def _check_operation(op):
    if op not in _OPERATIONS:
        raise ValueError(f"op is {op!r}, not one of {', '.join(map(repr, _OPERATIONS))}")


def _check_rank(number, name, may_be_own=True):
    if not 0 <= number < world_size():
        raise ValueError(f"{name} is {number}, but there are {world_size()} ranks, from 0")
    if number == rank() and not may_be_own:
        raise ValueError(f"{name} is {number}, which is this rank")


def _check_same(array, what):
    """ValueError on all ranks if shapes or dtypes differ. Otherwise a wrong value or a wait without end would follow."""
    _ranks.agree(f"{what} of {array.dtype}{list(array.shape)}")


def _sum_dtype(array):
    name = str(array.dtype)
    if name in _SUMMED:
        return name
    if name in ("float16", "bfloat16"):
        return "float32"
    if array.dtype.kind in "biu":
        return "int64"
    raise ValueError(f"{name} cannot be added over ranks: only {', '.join(_SUMMED)}, float16, bfloat16 and integers")


def all_reduce(x: _Array, op: str = "sum") -> Tensor:
    """Returns the elementwise "sum", "mean", "max", "min" or "prod" over all ranks: the same bits on each rank, with
    the shape and dtype of `x`, which are equal on all ranks. float16 and bfloat16 are added in float32.

    ValueError on all ranks if shapes or dtypes differ, and for another `op`. "mean" needs a floating-point dtype.
    ConcretizationError in a function that is being captured (`tartan.function`)."""
    _check_operation(op)
    array = _array(x)
    _check_same(array, "all_reduce")
    if op in ("max", "min", "prod"):
        return from_numpy(getattr(np, op)(_ranks.gather_arrays(array), axis=0).astype(array.dtype))
    wide = array.astype(_sum_dtype(array))
    if op == "mean" and array.dtype.kind in "biu":
        raise ValueError(f"the mean over ranks needs a floating-point dtype, not {array.dtype}")
    total = _ranks.sum_arrays(wide)
    if op == "mean":
        total = total / wide.dtype.type(world_size())
    return from_numpy(total.astype(array.dtype))


def all_gather(x: _Array) -> Tensor:
    """Returns the values of all ranks in a new first dimension: [world_size, *x.shape], on every rank. Shapes and
    dtypes are equal on all ranks; ValueError on all ranks if not."""
    array = _array(x)
    _check_same(array, "all_gather")
    return from_numpy(np.array(_ranks.gather_arrays(array)))


def reduce_scatter(x: _Array, op: str = "sum") -> Tensor:
    """Returns this rank's part of the "sum" or "mean" over all ranks: rows r * m up to (r + 1) * m of the first
    dimension, which has m * world_size rows. ValueError for another number of rows, or if shapes or dtypes differ."""
    if op not in ("sum", "mean"):
        raise ValueError(f"op is {op!r}, not 'sum' or 'mean'")
    array = _array(x)
    size = world_size()
    if array.ndim == 0 or array.shape[0] % size:
        raise ValueError(f"reduce_scatter divides the first dimension by {size} ranks, but the shape is "
                         f"{list(array.shape)}")
    _check_same(array, "reduce_scatter")
    wide = np.ascontiguousarray(array.astype(_sum_dtype(array)).reshape(size, array.shape[0] // size, *array.shape[1:]))
    ranks = _ranks.joined()
    part_of_sum = wide[0] if ranks is None else _values.array_of(ranks.reduce_scatter(to_host(wide)))
    if op == "mean":
        part_of_sum = part_of_sum / wide.dtype.type(size)
    return from_numpy(part_of_sum.astype(array.dtype))


def broadcast(x: _Array, root: int = 0) -> Tensor:
    """Returns the value of rank `root` on all ranks. Each rank gives a value of one shape and dtype; ValueError on all
    ranks if they differ, and if there is no such rank."""
    _check_rank(root, "root")
    array = _array(x)
    _check_same(array, "broadcast")
    return from_numpy(np.array(_ranks.broadcast_array(array, root)))


def send(x: _Array, to: int) -> None:
    """Sends a value to a rank, which calls `recv`. Waits until it has been taken over. ValueError if there is no such
    rank, or if it is this one."""
    _check_rank(to, "to", may_be_own=False)
    array = _array(x)
    if array.size:
        _ranks.joined().send(to_host(array), to)


def recv(shape: tuple[int, ...], dtype: _DType, source: int) -> Tensor:
    """Waits for the value that rank `source` sends, of this shape and dtype, and returns it. ValueError if there is no
    such rank, or if it is this one."""
    _check_rank(source, "source", may_be_own=False)
    wanted = _dtypes.numpy_dtype(dtype)
    if math.prod(shape) == 0:
        return from_numpy(np.zeros(shape, wanted))
    received = _ranks.joined().receive(str(wanted), list(shape), source)
    return from_numpy(np.array(_values.array_of(received)))
