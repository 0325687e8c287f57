#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Patches copies of Python packages so that they detect no AVX-512, AMX or AVX-VNNI. Other runtimes
can then be compared with Tartan as on a processor with AVX2.

    scripts/without_avx512.py FOLDER…

Each folder is a copy of an environment, as by `cp -a`: every `cpuid` instruction in its shared
libraries becomes a breakpoint, which tests/pretend/pretend_cpuid.cc answers. Then, in a build with
TARTAN_BUILD_TESTS=ON:

    LD_PRELOAD=build/tests/pretend_cpuid.so:build/tests/pretend_processor.so TARTAN_PRETEND=avx512,avxvnni \\
        COPY/bin/python scripts/compare_models.py …"""

import pathlib
import re
import subprocess
import sys


def segments(library):
    """The segments of code: (address, offset in the file, size)."""
    headers = subprocess.run(["readelf", "-lW", library], capture_output=True, text=True, check=True).stdout
    pattern = r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E"
    return [(int(a, 16), int(o, 16), int(s, 16)) for o, a, s in re.findall(pattern, headers)]


def addresses(library):
    """The address of each cpuid instruction, found by a disassembler, because its two bytes also
    occur inside other instructions."""
    with subprocess.Popen(["objdump", "-dw", library], stdout=subprocess.PIPE, text=True) as listing:
        for line in listing.stdout:
            if match := re.match(r"\s*([0-9a-f]+):\s+0f a2\s+cpuid", line):
                yield int(match[1], 16)


def patch(library):
    code = segments(library)
    found = list(addresses(library))
    with open(library, "r+b") as file:
        for address in found:
            begin, offset = next((a, o) for a, o, size in code if a <= address < a + size)
            file.seek(address - begin + offset)
            assert file.read(2) == b"\x0f\xa2", f"{library}: no cpuid at {address:#x}"
            file.seek(address - begin + offset)
            file.write(b"\xcc\x90")  # int3; nop
    return len(found)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for folder in sys.argv[1:]:
        for library in sorted(pathlib.Path(folder).rglob("*.so*")):
            if not library.is_symlink() and (count := patch(str(library))):
                print(f"{count:4} {library}")


if __name__ == "__main__":
    main()
