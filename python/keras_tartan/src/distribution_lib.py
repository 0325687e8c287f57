# SPDX-License-Identifier: Apache-2.0
"""Implements what `keras.distribution` requires of a backend. Each rank (process) has one device, and `DataParallel` replicates
the variables on them. `trainer.py` and `_ranks.py` divide batches and add gradients."""

from tartan import _ranks, _runtime, distributed

_NO_MODEL_PARALLEL = (
    "the tartan backend has no ModelParallel yet: variables are not divided over devices. DataParallel replicates them, "
    "with the whole model on each device")


def _join():
    """Joins the processes if a launcher started several, so that `DataParallel()` alone is enough."""
    if not _ranks.is_joined() and _ranks.started_by_mpi():
        initialize(None, None, None)


def list_devices(device_type=None):
    """Returns the devices of all ranks, "gpu:0", "gpu:1" or "cpu:0" and so on: one per rank. The list is empty for a
    type that this rank's device does not have."""
    _join()
    found = _runtime.device().info["type"]
    if device_type is not None and device_type.lower() != found:
        return []
    return [f"{found}:{rank}" for rank in range(distributed.world_size())]


def get_device_count(device_type=None):
    return len(list_devices(device_type))


def initialize(job_addresses, num_processes, process_id):
    """Joins the processes that an MPI launcher started. `job_addresses` is not needed: the launcher knows them.
    ValueError if `num_processes` or `process_id` is not the launcher's."""
    from keras.src.utils import rng_utils

    distributed.initialize()
    for name, given, found in (("num_processes", num_processes, distributed.world_size()),
                               ("process_id", process_id, distributed.rank())):
        if given is not None and given != found:
            raise ValueError(f"{name} is {given}, but the MPI launcher says {found}: start the ranks with "
                             "`mpirun -n N python train.py`, and leave the argument out")
    # Ranks that shuffle and initialize alike need one seed.
    seed = rng_utils.get_random_seed()
    if seed is None and distributed.world_size() > 1:
        from keras.src.random import seed_generator

        rng_utils.set_random_seed(_ranks.broadcast_object(seed_generator.make_default_seed()))


def num_processes():
    _join()
    return distributed.world_size()


def process_id():
    return distributed.rank()


def distribute_tensor(tensor, layout):
    """Returns the tensor, which every rank has as a whole. NotImplementedError for a layout that divides it over more
    than one device."""
    check_layout(layout)
    return tensor


def distribute_variable(value, layout):
    return distribute_tensor(value, layout)


def distribute_data_input(per_process_batch, layout, batch_dim_name):
    """Returns the rank's part of a batch."""
    return per_process_batch


def check_layout(layout):
    """NotImplementedError if a tensor would be divided over devices."""
    mesh = getattr(layout, "device_mesh", None)
    if mesh is None:
        return
    sizes = dict(zip(mesh.axis_names, mesh.devices.shape))
    if any(axis is not None and sizes[axis] > 1 for axis in layout.axes):
        raise NotImplementedError(f"{_NO_MODEL_PARALLEL} (the layout is {tuple(layout.axes)})")


def check_distribution(distribution):
    """NotImplementedError for ModelParallel."""
    from keras.src.distribution.distribution_lib import ModelParallel

    if isinstance(distribution, ModelParallel):
        raise NotImplementedError(_NO_MODEL_PARALLEL)


def _to_backend_mesh(device_mesh):
    return device_mesh


def _to_backend_layout(tensor_layout):
    if tensor_layout.device_mesh is None:
        raise ValueError("Cannot create sharding when device mesh is not set for TensorLayout.")
    return tensor_layout
