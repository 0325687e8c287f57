# SPDX-License-Identifier: Apache-2.0
"""Runs programs under mpirun for tests of several ranks."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tartan import _core

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or not hasattr(_core, "Ranks"),
    reason="mpirun is not installed (apt-get install openmpi-bin), or this build has no MPI")

_HEAD = """
import json, os, sys
import numpy as np
import tartan
import tartan.distributed as distributed
from tartan import _function
_function._EXACT_AFTER = 10**9  # no compilation in the background, for which the program would wait
def report(value):
    with open(f"{sys.argv[1]}.{distributed.rank()}", "w") as file:
        json.dump(value, file)
"""
KERAS = """
os.environ["KERAS_BACKEND"] = "tartan"
import keras
keras.distribution.initialize()
keras.utils.set_random_seed(5)
"""
DATA_PARALLEL = KERAS + "keras.distribution.set_distribution(keras.distribution.DataParallel())\n"


def start(body, folder, ranks, **environment):
    """Runs a program and returns the completed process. With one rank there is no mpirun."""
    path = folder / "program.py"
    path.write_text(_HEAD + body)
    launcher = [] if ranks == 1 else ["mpirun", "-n", str(ranks)]
    settings = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    return subprocess.run([*launcher, sys.executable, str(path), str(folder / f"result{ranks}")], text=True,
                          env={**os.environ, **settings, **environment}, capture_output=True, timeout=300)


def run(body, folder, ranks, **environment):
    """Returns what each rank has given to `report`."""
    done = start(body, folder, ranks, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"result{ranks}.{rank}").read_text()) for rank in range(ranks)]
