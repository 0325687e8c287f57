# SPDX-License-Identifier: Apache-2.0
"""The command `tartan` of the package, which runs the program installed with it."""

import os
import pathlib
import sys


def main():
    from tartan import _loader  # passes the drivers to the program

    del _loader
    program = pathlib.Path(__file__).parent / "bin" / "tartan"
    if not program.exists():
        sys.exit("tartan: this installation has no tartan program; build it with CMake (see README.md)")
    os.execv(program, [str(program), *sys.argv[1:]])
