# SPDX-License-Identifier: Apache-2.0
"""Progress line on a terminal for slow operations."""

import contextlib
import os
import sys
import threading
import time

_FIRST = 1.0  # seconds before the line appears
_OFTEN = 0.2


def _wanted():
    forced = os.environ.get("TARTAN_PROGRESS", "")
    if forced in ("0", "1"):
        return forced == "1"
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is missing or closed
        return False


@contextlib.contextmanager
def compiling(name):
    """Context that reports on stderr, if it is a terminal, that `name` is being compiled, once that has taken a
    second. TARTAN_PROGRESS=0 and 1 override the check for a terminal. The line is erased at the end."""
    if not _wanted():
        yield
        return
    done = threading.Event()
    begin = time.monotonic()

    def tell():
        told = ""
        wait = _FIRST
        while not done.wait(wait):
            wait = _OFTEN
            line = f"tartan: compiling {name}: {time.monotonic() - begin:.0f} s"
            if line != told:
                print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
                told = line
        if told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, name="tartan tells progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
