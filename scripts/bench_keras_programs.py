#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs small programs of the kinds at keras.io on several backends in one run, and compares losses and times.

    scripts/bench_keras_programs.py --backend tartan=PYTHON --backend torch=PYTHON --backend jax=PYTHON
        [--program NAME …] [--steps 5] [--rounds 5]

For each program and backend, one process starts with nothing on disk, and a second one with what the first left there.
The backends alternate, and no two processes work at the same time. Columns:
first, second: seconds of the first step in these processes, with processor seconds in parentheses;
early: median milliseconds of the next steps in the first process, while Tartan compiles;
steady: median milliseconds in the second process after compilation, alternating between the backends, with the
processor milliseconds of all threads in parentheses, which other programs on the machine disturb less;
loss: the largest relative difference to the losses of the first backend."""

import argparse
import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

from keras_process import KerasProcess


def step_of(made):
    """Returns a function that executes a training step of a program, and returns the loss."""
    if callable(made) and not isinstance(made, tuple):
        return made
    import keras
    from keras_programs import kit

    model, loss, x, y = made
    kit.set_weights(model)
    model.compile(keras.optimizers.Adam(1e-3), loss)
    return lambda: float(model.train_on_batch(x, y))


def settle():
    """Waits for compilation in the background."""
    if os.environ["KERAS_BACKEND"] == "tartan":
        from tartan import _function

        for thread in list(_function._background):
            thread.join()


def processor_seconds():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def serve(name, steps):
    """The process of a backend: executes some steps, and then as many as each line of the input says."""
    if os.environ["KERAS_BACKEND"] == "tartan":
        import tartan  # noqa: F401
    import keras
    from keras_programs import PROGRAMS

    keras.utils.set_random_seed(1)
    step = step_of(PROGRAMS[name]())
    losses, times, processor = [], [], processor_seconds()
    for number in range(steps):
        began = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - began)
        if number == 0:
            processor = processor_seconds() - processor
    print(json.dumps({"losses": losses, "times": times, "processor": processor}), flush=True)
    for line in sys.stdin:
        if line.strip() == "settle":
            settle()
        clock = time.process_time if line.strip() == "processor" else time.perf_counter
        began, start, count = time.perf_counter(), clock(), 0
        while time.perf_counter() - began < 0.3 and count < 100:
            step()
            count += 1
        print((clock() - start) / count * 1e3, flush=True)


class Server(KerasProcess):
    """A process that runs a program on a backend."""

    def __init__(self, backend, python, program, steps, disk):
        environment = dict(os.environ, KERAS_BACKEND=backend, TARTAN_CACHE_DIR=disk, POCL_CACHE_DIR=disk,
                           JAX_COMPILATION_CACHE_DIR=disk, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                           CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
        command = [python, __file__, "--serve", program, "--steps", str(steps)]
        super().__init__(command, environment)

    def close(self):
        """Ends the process as a user's does, so that Tartan completes and keeps its kernels."""
        self.process.stdin.close()
        self.process.wait()


def difference(losses, others):
    return max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses, others))


def compare(program, backends, steps, rounds):
    """Returns a row of figures for each backend."""
    rows, servers = {}, {}
    for backend, python in backends.items():
        disk = tempfile.mkdtemp(prefix="keras-programs-")
        try:
            first = Server(backend, python, program, steps, disk)
            first.request("settle")
            first.close()
            servers[backend] = second = Server(backend, python, program, steps, disk)
        except RuntimeError as error:
            print(f"{program}: {backend}: {error}", file=sys.stderr)
            continue
        times = first.start["times"]
        rows[backend] = {"first_s": times[0], "processor_s": first.start["processor"],
                         "second_s": second.start["times"][0], "second_processor_s": second.start["processor"],
                         "early_ms": statistics.median(times[1:]) * 1e3, "losses": first.start["losses"]}
    for server in servers.values():
        server.request("settle")
    steady = {(backend, what): [] for backend in servers for what in ("wall", "processor")}
    for _ in range(rounds):
        for (backend, what), found in steady.items():
            time.sleep(0.1)  # the threads of the previous process must stop spinning
            found.append(servers[backend].request(what))
    for (backend, what), found in steady.items():
        rows[backend][f"{what}_ms"] = statistics.median(found)
    for server in servers.values():
        server.close()
    return rows


def ratio(rows, backend, what):
    """Returns the time of the fastest other backend divided by the time of `backend`, as text."""
    others = [other[what] for name, other in rows.items() if name != backend]
    return f"{min(others) / rows[backend][what]:.2f}" if others else "-"


def report(program, rows):
    reference = next(iter(rows.values()))["losses"] if rows else []
    for backend, row in rows.items():
        print(f"{program:18} {backend:7} first {row['first_s']:6.2f} s ({row['processor_s']:6.2f})  "
              f"second {row['second_s']:5.2f} s ({row['second_processor_s']:5.2f})  early {row['early_ms']:8.2f} ms  "
              f"steady {row['wall_ms']:8.2f} ms ({row['processor_ms']:8.2f})  "
              f"loss {difference(row['losses'], reference):.1e}  "
              f"best other / steady {ratio(rows, backend, 'wall_ms')} ({ratio(rows, backend, 'processor_ms')})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.steps)
        return
    backends = dict(backend.split("=", 1) for backend in options.backend)
    names = options.program
    if not names:
        source = pathlib.Path(__file__).parent / "keras_programs" / "__init__.py"
        names = [line.split('"')[1] for line in source.read_text().splitlines() if line.startswith('    "')]
    for program in names:
        report(program, compare(program, backends, options.steps, options.rounds))


if __name__ == "__main__":
    main()
