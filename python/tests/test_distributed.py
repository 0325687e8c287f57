# SPDX-License-Identifier: Apache-2.0
"""tartan.distributed: ranks that mpirun starts."""

import os

import numpy as np
import pytest
import tartan
import tartan.distributed as distributed

from ranks import needs_mpi, run, start


def test_one_process_is_one_rank():
    distributed.initialize()
    x = np.float32([[1, 2], [3, 4]])
    assert (distributed.rank(), distributed.world_size(), distributed.local_rank()) == (0, 1, 0)
    assert distributed.part(5) == slice(0, 5)
    for op in ("sum", "mean", "max", "min", "prod"):
        assert distributed.all_reduce(tartan.asarray(x), op).tolist() == x.tolist()
    assert distributed.all_gather(x).shape == (1, 2, 2)
    assert distributed.reduce_scatter(x).tolist() == distributed.broadcast(x).tolist() == x.tolist()
    distributed.barrier()


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="op is 'median', not one of 'sum'"):
        distributed.all_reduce(np.zeros(2), "median")
    with pytest.raises(ValueError, match="root is 3, but there are 1 ranks"):
        distributed.broadcast(np.zeros(2), 3)
    with pytest.raises(ValueError, match="to is 0, which is this rank"):
        distributed.send(np.zeros(2), 0)
    with pytest.raises(ValueError, match="transport is 'udp'"):
        distributed.initialize(transport="udp")
    with pytest.raises(ValueError, match="needs a floating-point dtype, not int32"):
        distributed.all_reduce(np.zeros(2, "int32"), "mean")


@needs_mpi
def test_collective_operations_are_numpys_over_the_ranks(tmp_path):
    body = """
distributed.initialize()
rank = distributed.rank()
def value(r, dtype="float32"):
    return (np.arange(12).reshape(6, 2) * (r + 1) - 5).astype(dtype)
found = {"part": list(range(7))[distributed.part(7)], "local": distributed.local_rank()}
for op in ("sum", "mean", "max", "min", "prod"):
    found[op] = distributed.all_reduce(tartan.asarray(value(rank)), op).tolist()
for dtype in ("float16", "int8", "float64", "bool"):
    found[dtype] = distributed.all_reduce(value(rank, dtype)).tolist()
found["gather"] = distributed.all_gather(value(rank, "int16")).tolist()
found["scatter"] = distributed.reduce_scatter(value(rank)).tolist()
found["broadcast"] = distributed.broadcast(value(rank), 2).tolist()
if rank == 0:
    distributed.send(value(7), 1)
if rank == 1:
    found["recv"] = distributed.recv((6, 2), "float32", 0).tolist()
try:
    distributed.all_reduce(np.zeros(2 + rank))
except ValueError as error:
    found["error"] = str(error)
distributed.barrier()
report(found)
"""
    found = run(body, tmp_path, 3)
    values = [(np.arange(12).reshape(6, 2) * (r + 1) - 5) for r in range(8)]
    stack = np.stack(values[:3])
    for rank, of_rank in enumerate(found):
        for op in ("sum", "mean", "max", "min", "prod"):
            np.testing.assert_allclose(of_rank[op], getattr(np, op)(stack, axis=0), rtol=1e-6)
        assert of_rank["float16"] == of_rank["float64"] == stack.sum(0).tolist()
        assert of_rank["int8"] == stack.astype("int8").sum(0).astype("int8").tolist()
        assert of_rank["bool"] == (stack != 0).any(0).tolist()
        assert of_rank["gather"] == stack.tolist()
        assert of_rank["scatter"] == stack.sum(0)[2 * rank:2 * rank + 2].tolist()
        assert of_rank["broadcast"] == values[2].tolist()
        assert of_rank["error"] == "the ranks differ: rank 0 has all_reduce of float64[2], rank 1 has all_reduce of float64[3]"
        assert of_rank["local"] == rank
    assert found[1]["recv"] == values[7].tolist()
    assert sum((of_rank["part"] for of_rank in found), []) == list(range(7))


@needs_mpi
def test_a_rank_that_raises_ends_the_others_with_its_error(tmp_path):
    done = start("""
distributed.initialize()
if distributed.rank() == 1:
    raise KeyError("the third file")
distributed.barrier()
report("not reached")
""", tmp_path, 2)
    assert done.returncode != 0
    assert "rank 1 failed: KeyError: 'the third file'" in done.stderr
    assert not os.path.exists(tmp_path / "result2.0")


@needs_mpi
def test_a_rank_that_ends_early_does_not_leave_the_others_waiting(tmp_path):
    done = start("""
distributed.initialize()
if distributed.rank() == 1:
    sys.exit(0)
distributed.barrier()
report("not reached")
""", tmp_path, 2)
    assert done.returncode != 0
    assert "has ended, but rank 0 waits for it in all-reduce" in done.stderr


@pytest.mark.skipif(not hasattr(tartan._core, "Ranks"), reason="this build has no MPI")
def test_a_missing_plug_in_says_what_to_install(tmp_path):
    done = start("distributed.initialize()\n", tmp_path, 1, OMPI_COMM_WORLD_SIZE="2", TARTAN_MPI_PLUGIN="/no/plug-in.so")
    assert done.returncode != 0
    line = done.stderr.strip().splitlines()[-1]
    assert "RuntimeError" in line and "MPI cannot be loaded" in line and "apt-get install openmpi-bin" in line


_TRAIN = """
import onnx
from onnx import TensorProto, helper
import tartan.train
rng = np.random.default_rng(3)
weights = [helper.make_tensor(name, TensorProto.FLOAT, shape, rng.normal(size=shape).astype("float32").ravel() * 0.3)
           for name, shape in (("w", (6, 8)), ("b", (8,)), ("v", (8, 3)))]
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["i"]),
         helper.make_node("Relu", ["i"], ["j"]), helper.make_node("MatMul", ["j", "v"], ["y"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 6))],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", 3))], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
x, y = rng.normal(size=(75, 6)).astype("float32"), rng.integers(0, 3, 75)
distributed.initialize()
trainer = tartan.train.Trainer(model, "softmax_cross_entropy", "adamw", rate=1e-2, seed=4)
lines = []
result = trainer.fit((x, y), batch=16, epochs=4, log_every=1, log=lines.append)
mine = distributed.part(16)
losses = [trainer.step((x[:16][mine], y[:16][mine])) for _ in range(3)]
report([[line["loss"] for line in result["history"]], losses, trainer.parameters["w"].tolist(), len(lines)])
"""


@needs_mpi
def test_a_trainer_has_the_curve_of_one_process(tmp_path):
    (alone,) = run(_TRAIN, tmp_path, 1)
    for rank, found in enumerate(run(_TRAIN, tmp_path, 2)):
        assert len(found[0]) == len(alone[0]) >= 20
        for i in range(3):
            np.testing.assert_allclose(found[i], alone[i], rtol=1e-5, atol=1e-6)
        assert found[3] == (len(found[0]) if rank == 0 else 0)
