# SPDX-License-Identifier: Apache-2.0
"""Times training steps of PyTorch's DistributedDataParallel, one process per GPU, for bench_ranks.py:
autocast, the fused AdamW, the loss read after each step."""

import os
import pathlib
import tempfile
import time

import torch
from torch.nn import functional as F

import large_networks


def train(rank, ranks, name, precision, steps, result, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(0)
    network = large_networks.NETWORKS[name]()
    module = network.module.train().cuda()
    if ranks > 1:
        torch.distributed.init_process_group("nccl", rank=rank, world_size=ranks)
        module = torch.nn.parallel.DistributedDataParallel(module, [rank], gradient_as_bucket_view=True)
    x, target = (t.cuda() for t in network.data(rank))
    optimizer = torch.optim.AdamW(module.parameters(), 1e-4, weight_decay=0, fused=True)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = F.cross_entropy(module(x).flatten(0, -2), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        times.append((time.perf_counter() - begin) * 1e3)
    if rank == 0:
        pathlib.Path(result).write_text(" ".join(map(str, times)))
    if ranks > 1:
        torch.distributed.destroy_process_group()


def step_times(name, precision, ranks, steps):
    """Returns the milliseconds of the steps of rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        result = str(pathlib.Path(folder, "times"))
        port = 29500 + os.getpid() % 1000
        torch.multiprocessing.spawn(train, (ranks, name, precision, steps, result, port), nprocs=ranks)
        return [float(ms) for ms in pathlib.Path(result).read_text().split()]
