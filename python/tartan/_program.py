# SPDX-License-Identifier: Apache-2.0
"""The command `tartan` of the package: the program that lies in it."""

import os
import pathlib
import sys


def main():
    from tartan import _loader  # names the drivers

    del _loader
    program = pathlib.Path(__file__).parent / "bin" / "tartan"
    if not program.exists():
        sys.exit("tartan: this installation has no program; build it with CMake (see README.md)")
    os.execv(program, [str(program), *sys.argv[1:]])
