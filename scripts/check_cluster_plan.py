#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions of `tartan plan-cluster` with steps of `tartan train` under mpirun.

Usage: scripts/check_cluster_plan.py MODEL --data DATA [--batch 32] [--ranks 2,4] [--host-link 4GB:20us].

For each number of ranks and each form it prints the predicted and the measured median step, and ends with 1 if one
differs by more than --tolerance. Every rank uses one thread of the CPU. The step of one device is profiled by as many
processes at once as there will be ranks, because these share processors and the bandwidth of memory. The prediction
needs the bandwidth between two ranks on this host: --host-link."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

_FORMS = {"none": "data parallel", "optimizer": "optimizer sharded", "gradients": "gradients sharded",
          "parameters": "parameters sharded"}


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("model")
    parser.add_argument("--data", required=True, help="as of tartan train")
    parser.add_argument("--batch", type=int, default=32, help="examples per rank")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--shard", default="none", help=f"a list of {', '.join(_FORMS)}")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=3, help="time of profiling")
    parser.add_argument("--rounds", type=int, default=3, help="alternate rounds, of which the fastest counts")
    parser.add_argument("--host-link", default="4GB:20us", help="BANDWIDTH[:LATENCY] between two ranks")
    parser.add_argument("--tolerance", type=float, default=0.15)
    parser.add_argument("--batch-per-rank", action="store_true",
                        help="tartan train takes --batch per rank, not the batch of all ranks")
    parser.add_argument("--train-flags", default="", help="more flags of train, such as '--loss mse'")
    parser.add_argument("--program", default=str(root / "build" / "tartan"))
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to core:overload-allowed")
    return parser.parse_args()


def _output(command):
    """Runs a command whose CPU driver has one thread, and returns its standard output."""
    environment = {**os.environ, "POCL_MAX_PTHREAD_COUNT": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


def _predicted(args, ranks):
    """Returns the milliseconds of a step on one device, and of each form: medians over the processes. mpirun starts
    these, so that they have the processors of the ranks, but they do not communicate."""
    command = [args.program, "plan-cluster", args.model, "--batch", str(args.batch), "--devices", str(ranks),
               "--per-host", str(ranks), "--link", args.host_link, "--no-overlap", "--jitter", "0",
               "--time", str(args.seconds), "--format", "json", "--quiet", *_shared_flags(args)]
    with tempfile.TemporaryDirectory() as folder:
        to_file = ["sh", "-c", f'exec "$0" "$@" >{folder}/$$']  # several documents on one output would mix
        _output([*args.mpirun.split(), "-n", str(ranks), *to_file, *command])
        reports = [json.loads(path.read_text()) for path in pathlib.Path(folder).iterdir()]
    forms = {form["form"] for form in reports[0]["forms"]}
    times = {name: statistics.median(form["step_ms"] for report in reports for form in report["forms"]
                                     if form["form"] == name) for name in forms}
    return statistics.median(report["step_ms"] for report in reports), times


def _shared_flags(args):
    """Returns the flags of train that plan-cluster has, too."""
    words = args.train_flags.split()
    shared = {"--loss", "--optimizer", "--precision", "--shape"}
    return [word for i, word in enumerate(words) if word in shared or (i > 0 and words[i - 1] in shared)]


def _measured(args, ranks, shard):
    """Returns the median milliseconds of a step of rank 0."""
    batch = args.batch if args.batch_per_rank else args.batch * ranks
    command = [*args.mpirun.split(), "-n", str(ranks), args.program, "train", args.model, "--data", args.data, "--batch",
               str(batch), "--steps", str(args.steps), "--format", "json", "--quiet", *args.train_flags.split()]
    if shard != "none":
        command += ["--shard", shard]
    for line in reversed(_output(command).splitlines()):
        if line.startswith("{"):
            report = json.loads(line)
            if report.get("done"):
                return report["median_step_ms"]
    sys.exit(f"{' '.join(command)} printed no report")


def main():
    args = _arguments()
    if shutil.which(args.mpirun.split()[0]) is None:
        sys.exit(f"{args.mpirun.split()[0]} is not installed: apt-get install openmpi-bin")
    shards = args.shard.split(",")
    unknown = [shard for shard in shards if shard not in _FORMS]
    if unknown:
        sys.exit(f"--shard {unknown[0]} is not one of {', '.join(_FORMS)}")
    print(f"{'ranks':>5}  {'form':<18}  {'one device':>10}  {'predicted':>10}  {'measured':>10}  {'ratio':>6}")
    is_far = False
    for ranks in (int(count) for count in args.ranks.split(",")):
        rounds = [(*_predicted(args, ranks), {shard: _measured(args, ranks, shard) for shard in shards})
                  for _ in range(args.rounds)]
        alone = min(times[0] for times in rounds)
        for shard in shards:
            # Other work of the machine only slows steps down.
            predicted = min(times[1][_FORMS[shard]] for times in rounds)
            measured = min(times[2][shard] for times in rounds)
            is_far |= abs(predicted / measured - 1) > args.tolerance
            print(f"{ranks:>5}  {_FORMS[shard]:<18}  {alone:>7.2f} ms  {predicted:>7.2f} ms  {measured:>7.2f} ms  "
                  f"{predicted / measured:>6.2f}", flush=True)
    sys.exit(int(is_far))


if __name__ == "__main__":
    main()
