#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests a change can affect, by the build graph. scripts/check.sh uses it.

    scripts/affected_tests.py [--build FOLDER] [--limit SECONDS] FILE...

Prints a line for each test: run or left, its name, the targets to build with commas between them,
its last time in seconds, and the file that affects it. Tests of the changed folder and of generated
kernels come first, then other test programs, then tests of the whole program and of Python. Within
each kind the fastest come first. A test that was never timed counts as 10 s. With --limit, tests
are left out where the predicted time on all processors exceeds it, but none of the first kind.
Needs a configured build folder, whose first build records the headers of each source."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

UNKNOWN_SECONDS = 10
SOURCES = (".h", ".cc", ".l", ".y", ".proto")
# Tests that read files which no build rule names: the beginning of a path, and a test's name.
READERS = (
    ("bench/RESULTS.md", "results_test"), ("bench/results", "results_test"),
    ("examples/digits/", "cli_program_test"), ("examples/find_package/", "install_test"),
    ("examples/python/", "python_tutorial_test"), ("examples/tile/", "api_tile_examples_test"),
    ("python/README.md", "python_documents_test"), ("README.md", "python_documents_test"),
    ("docs/operators.md", "onnx_test"), (".clang-format", "format_test"),
)
# Tests that take long and seldom find more than a build does.
LAST = ("lint_test", "install_test")
# Folders whose changes show in generated kernels.
GOLDEN = re.compile(r"tile/(graph|poly|plan|lower|loop|codegen|compiler)/")


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:4])} failed: {done.stderr.strip()}")
    return done.stdout


class Graph:
    """The files that each target of a build is made of."""

    def __init__(self, build):
        self.build = build
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
        self.root = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M).group(1) + "/"
        self.targets = set(re.findall(r"^([^:\n]+): ", self.ninja("targets", "all"), re.M))
        self.headers = collections.defaultdict(set)
        current = None
        for line in self.ninja("deps").splitlines():
            if line.startswith("    "):
                self.headers[current].add(self.relative(line.strip()))
            elif line:
                current = line.split(":")[0]
        self.known = {}

    def ninja(self, *arguments):
        return output_of("ninja", "-C", str(self.build), "--quiet", "-n", "-t", *arguments)

    def relative(self, path):
        return path[len(self.root):] if path.startswith(self.root) else path

    def files(self, target):
        """All files that a target is built from, with those of a program that it starts."""
        if target not in self.known:
            inputs = self.ninja("inputs", target).splitlines()
            found = {self.relative(path) for path in inputs}
            for path in inputs:
                found |= self.headers.get(path, set())
            self.known[target] = found
            for other in re.findall(r"^ +\|\| (tartan)$", self.ninja("query", target), re.M):
                self.known[target] = self.known[target] | self.files(other)
        return self.known[target]


class Test:
    def __init__(self, entry, folder, graph):
        self.name, self.folder = entry["name"], folder
        words = entry.get("command", [])
        for item in entry.get("properties", []):
            if item["name"] == "ENVIRONMENT":
                words = words + [value.split("=", 1)[1] for value in item["value"]]
        start = str(graph.build) + "/"
        programs = {word[len(start):] for word in words if word.startswith(start)}
        self.targets = sorted(programs & graph.targets)
        self.reads = {graph.relative(word) for word in words}
        self.is_python = folder.startswith("python")
        if self.is_python and "tartan_python_package" in graph.targets:
            self.targets = ["tartan_python_package", "tartan_python", "tartan"]

    def files(self, graph):
        modules = [target for target in self.targets if target != "tartan_python_package"]
        return set().union(*(graph.files(target) for target in modules))


def tests_of(graph):
    report = json.loads(output_of("ctest", "--test-dir", str(graph.build), "--show-only=json-v1"))
    nodes = report["backtraceGraph"]["nodes"]
    names = report["backtraceGraph"]["files"]
    tests = []
    for entry in report["tests"]:
        node = nodes[entry["backtrace"]]
        while not names[node["file"]].endswith("CMakeLists.txt"):
            node = nodes[node["parent"]]
        folder = graph.relative(os.path.dirname(names[node["file"]]))
        tests.append(Test(entry, folder, graph))
    return tests


def seconds_of(build):
    """The last time of each test, from ctest's own record."""
    record = build / "Testing/Temporary/CTestCostData.txt"
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    fields = [line.split() for line in lines if len(line.split()) == 3]
    return {name: float(seconds) for name, count, seconds in fields if int(count) > 0}


def folder_of(path, folders):
    """The folder of tests that belongs to a file: tests/tile/plan for tile/plan/cpu/x.cc."""
    folder = os.path.dirname(path)
    if folder.startswith("python"):
        return "python/tests"
    if not folder.startswith("tests"):
        folder = os.path.join("tests", folder)
    while folder not in folders and folder not in ("tests", ""):
        folder = os.path.dirname(folder)
    return folder


def cause_of(test, changed, near, graph):
    """How near a test is to a change that can affect it (0 to 2), and the file; or None twice."""
    files = test.files(graph)
    found = []
    for path in changed:
        is_source = path.endswith(SOURCES)
        is_near = near[path] == test.folder or test.folder == "tests/golden" and GOLDEN.match(path)
        everything = path == "CMakeLists.txt" or path.startswith("cmake/")
        if path in files:
            found.append((0 if is_near else 1, path))
        elif path in test.reads or any(
                path.startswith(start) and name == test.name for start, name in READERS):
            found.append((0, path))
        elif test.name in ("repo_test", "top_level_test"):
            found.append((0, path))
        elif is_source and test.name == "format_test":
            found.append((0, path))
        elif everything or is_source and test.name in ("lint_test", "install_test"):
            found.append((1, path))
        elif path in graph.read_files or is_source and path in graph.all_files:
            continue
        elif near[path] == test.folder:
            found.append((1 if test.is_python else 0, path))
    kind, path = min(found, default=(None, None))
    is_whole = test.is_python or "tartan" in test.targets or test.name in LAST
    return kind + 1 if kind == 1 and is_whole else kind, path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds of all tests")
    parser.add_argument("changed", nargs="*", metavar="FILE", help="paths from the root")
    options = parser.parse_args()
    graph = Graph(pathlib.Path(options.build).resolve())
    tests = tests_of(graph)
    graph.all_files = set().union(*(test.files(graph) for test in tests))
    graph.read_files = set().union(*(test.reads for test in tests))
    folders = {test.folder for test in tests}
    near = {path: folder_of(path, folders) for path in options.changed}
    seconds = seconds_of(graph.build)
    affected = []
    for test in tests:
        kind, path = cause_of(test, options.changed, near, graph)
        if path:
            affected.append((kind, seconds.get(test.name, UNKNOWN_SECONDS), test, path))
    total = 0
    processors = len(os.sched_getaffinity(0))
    for kind, cost, test, path in sorted(affected, key=lambda item: item[:2]):
        is_run = kind == 0 or (total + cost) / processors <= options.limit
        total += cost if is_run else 0
        print("run" if is_run else "left", test.name, ",".join(test.targets) or "-", f"{cost:.1f}",
              path, sep="\t")


if __name__ == "__main__":
    main()
