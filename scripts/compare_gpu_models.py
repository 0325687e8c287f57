#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole models in Tartan and PyTorch on a GPU, in one run.

    scripts/compare_gpu_models.py FOLDER [--tartan build/tartan] [--model NAME …] [--precision tf32] [--seconds X]

FOLDER has NAME/model.onnx with NAME/test_data_set_0/input_*.pb, as for compare_models.py.
PyTorch runs the same network from torchvision or transformers with its own weights, eagerly and
as a CUDA graph. Its types are strict float32, TF32 and, for 16 bits, the whole network in that
type. Its inputs and outputs stay on the device. Tartan's medians are from `tartan bench
--on-device`, with the sum of its kernel times."""

import argparse
import json
import os
import statistics
import subprocess
import sys


def torch_network(name, batch):
    """The network and its input, on the device."""
    import torch
    import torchvision.models as vision

    images = {"resnet50": 224, "mobilenet_v2": 224, "efficientnet_b0": 224, "squeezenet1_1": 224, "vit_b_16": 224}
    if name in images or name == "resnet18":
        side = images.get(name, 64)
        return getattr(vision, name)(), torch.randn(batch, 3, side, side)
    import transformers

    if name == "bert_base":
        config = transformers.BertConfig(attn_implementation="sdpa")
        return transformers.BertModel(config), torch.randint(0, 30000, (batch, 128))
    if name == "gpt2_prefill":
        config = transformers.GPT2Config(use_cache=False)
        return transformers.GPT2LMHeadModel(config), torch.randint(0, 50000, (batch, 128))
    if name == "lstm100":
        return torch.nn.LSTM(128, 128), torch.randn(100, batch, 128)
    return None


def time_torch(name, batch, seconds):
    """Milliseconds per kind of execution."""
    import torch

    network = torch_network(name, batch)
    if network is None:
        return {}
    module, data = network
    module, data = module.cuda().eval(), data.cuda()
    if data.dim() == 4:
        module = module.to(memory_format=torch.channels_last)
        data = data.to(memory_format=torch.channels_last)
    results = {}
    torch.backends.cudnn.benchmark = True
    for kind, tf32, dtype in (("fp32", False, None), ("tf32", True, None), ("bf16", True, torch.bfloat16)):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        if dtype is not None:
            module = module.to(dtype)
            data = data.to(dtype) if data.is_floating_point() else data
        with torch.inference_mode():
            results[f"torch {kind} eager"] = median_ms(lambda: module(data), seconds)
            try:
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    for _ in range(3):
                        module(data)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    module(data)
                results[f"torch {kind} graph"] = median_ms(graph.replay, seconds)
            except Exception as error:  # a network that cannot be captured
                print(f"{name}: no graph: {str(error)[:100]}", file=sys.stderr)
    return results


def median_ms(run, seconds):
    import time

    import torch

    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def time_tartan(tartan, folder, name, batch, precision, seconds):
    command = [tartan, "--format", "json", "--quiet", "--tier", "exact", "--precision", precision, "bench", "--on-device"]
    command += [f"{folder}/{name}/model.onnx", "--batch", str(batch), "--time", str(seconds), "--profile"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip()[:300]}", file=sys.stderr)
        return {}
    report = json.loads(done.stdout)
    kernels = sum(kernel["ms"] for kernel in report["profile"])
    if os.environ.get("TARTAN_TOP"):
        for kernel in report["profile"][: int(os.environ["TARTAN_TOP"])]:
            print(f"    {1e3 * kernel['ms']:8.1f} us  {kernel['kernel']}", file=sys.stderr)
    return {f"tartan {precision}": report["median_ms"], f"{report['kernels']} kernels": kernels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tartan", default="build/tartan")
    parser.add_argument("--model", action="append", metavar="NAME[:BATCH]")
    parser.add_argument("--precision", action="append", choices=["float32", "tf32", "bfloat16", "float16"])
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    for entry in arguments.model or ["resnet50", "resnet50:32", "bert_base", "vit_b_16"]:
        name, _, batch = entry.partition(":")
        batch = int(batch or 1)
        results = time_torch(name, batch, arguments.seconds)
        for precision in arguments.precision or ["float32", "tf32", "bfloat16"]:
            results |= time_tartan(arguments.tartan, arguments.folder, name, batch, precision, arguments.seconds)
        print(f"{name}, batch {batch}: ", end="")
        print(", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in results.items()), flush=True)


if __name__ == "__main__":
    main()
