#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole models in Tartan and other runtimes on the processor, alternating in one run, and
reports the peak memory of each process.

    pip install numpy onnx onnxruntime openvino
    scripts/compare_models.py FOLDER [--tartan build/tartan] [--model NAME …] [--peer onnxruntime --peer openvino]
        [--threads N] [--rounds N] [--seconds X]

FOLDER has a folder for each model: NAME/model.onnx with NAME/test_data_set_0/input_*.pb. Every
engine runs in float32 with N threads. Each engine and round has its own process on N processors.
Milliseconds are medians over the rounds of the medians of a process. Memory is the maximum of
all rounds but the first, which may compile kernels."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def inputs_of(folder):
    import onnx
    from onnx import numpy_helper

    names = [i.name for i in onnx.load(folder / "model.onnx", load_external_data=False).graph.input]
    files = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda p: int(p.stem.split("_")[-1]))
    return {n: numpy_helper.to_array(onnx.load_tensor(f)) for n, f in zip(names, files)}, dict(zip(names, files))


def onnxruntime_runner(model, inputs, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino_runner(model, inputs, threads):
    import openvino

    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(str(model), "CPU", config).create_infer_request()
    return lambda: request.infer(inputs)


PEERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}


def time_peer(peer, folder, threads, seconds):
    """Prints the median milliseconds of a run; called in a separate process."""
    inputs, _ = inputs_of(folder)
    run = PEERS[peer](folder / "model.onnx", inputs, threads)
    for _ in range(3):
        run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(json.dumps({"median_ms": statistics.median(times) * 1e3}))


def measure(command, processors):
    """The JSON that a process prints, and its peak memory in MB."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, preexec_fn=lambda: os.sched_setaffinity(0, processors))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}: ended with {child.returncode}")
        output.seek(0)
        return json.loads(output.read()), usage.ru_maxrss / 1024


def command_of(engine, folder, options):
    if engine != "tartan":
        return [sys.executable, __file__, str(folder), "--time-peer", engine, "--threads", str(options.threads),
                "--seconds", str(options.seconds)]
    command = [options.tartan, "bench", folder / "model.onnx", "--tier", "exact", "--format", "json",
               "--time", str(options.seconds), "--threads", str(options.threads)]
    for name, file in inputs_of(folder)[1].items():
        command += ["--input", f"{name}=@{file}"]
    return command


def compare(folder, engines, options):
    processors = sorted(os.sched_getaffinity(0))[-options.threads:]
    times, memory = {e: [] for e in engines}, {e: [] for e in engines}
    for turn in range(options.rounds + 1):
        for engine in engines:
            found, peak = measure(command_of(engine, folder, options), processors)
            if turn == 0:
                continue  # the first round compiles kernels and reads files from disk
            times[engine].append(found["median_ms"])
            memory[engine].append(peak)
    return {e: (statistics.median(times[e]), max(memory[e])) for e in engines}


def print_table(rows, engines):
    others = [e for e in engines if e != "tartan"]
    print("| model |" + "".join(f" {e} ms |" for e in engines) + " best other / tartan |"
          + "".join(f" {e} MB |" for e in engines))
    print("|---" * (2 * len(engines) + 2) + "|")
    ratios = []
    for name, found in rows.items():
        ratios.append(min(found[e][0] for e in others) / found["tartan"][0])
        print(f"| {name} |" + "".join(f" {found[e][0]:.3g} |" for e in engines) + f" {ratios[-1]:.2f} |"
              + "".join(f" {found[e][1]:.0f} |" for e in engines))
    print(f"\ngeometric mean {math.exp(statistics.mean(map(math.log, ratios))):.3f}, least {min(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tartan", default="build/tartan")
    parser.add_argument("--model", action="append")
    parser.add_argument("--peer", action="append", choices=PEERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--time-peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.time_peer:
        return time_peer(options.time_peer, options.folder, options.threads, options.seconds)
    engines = (options.peer or list(PEERS)) + ["tartan"]
    names = options.model or sorted(p.parent.name for p in options.folder.glob("*/model.onnx"))
    rows = {}
    for name in names:
        rows[name] = compare(options.folder / name, engines, options)
        print(name, {e: f"{t:.4g} ms, {m:.0f} MB" for e, (t, m) in rows[name].items()}, file=sys.stderr, flush=True)
    print_table(rows, engines)


if __name__ == "__main__":
    main()
