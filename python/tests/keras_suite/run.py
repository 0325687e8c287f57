# SPDX-License-Identifier: Apache-2.0
"""Runs the tests in the Keras wheel (keras/src/**/*_test.py) with a backend, and compares the results with torch.

    python run.py run --backend tartan --results tartan.jsonl [--jobs 2] [--share 0.1 --seed 7] [FILE ...]
    python run.py baseline torch.jsonl            # stores torch's passes as torch_passes.txt.gz
    python run.py compare tartan.jsonl            # status 1 for an unlisted failure or a listed pass

`run` starts pytest processes for a few files each. A process that crashes, or is silent for --limit seconds, loses
one test, which is recorded as "crashed" or "hung"; another process runs the rest. A test that needs a missing
package is "lacking". `compare` reads ../keras_exclusions.txt; a listed test that passes is an error, too."""

import argparse
import collections
import concurrent.futures
import fnmatch
import gzip
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent.resolve()
PASSES = HERE / "torch_passes.txt.gz"
EXCLUSIONS = HERE.parent / "keras_exclusions.txt"
# Files with many tests: each gets a process of its own and starts first.
LONG = ("applications/", "ops/numpy_test", "trainers/trainer_test", "backend/common/variables_test", "wrappers/",
        "ops/nn_test", "ops/image_test", "models/model_test", "saving/saving_lib_test", "quantizers/")

# Tests that download fail immediately, with every backend.
NO_NETWORK = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}


def sources():
    return pathlib.Path(importlib.util.find_spec("keras").submodule_search_locations[0]) / "src"


def chunks(options):
    """Returns lists of files, one per process. Few tests are not worth many processes."""
    root = sources()
    files = sorted(p.relative_to(root).as_posix() for p in root.rglob("*_test.py"))
    if options.files:
        files = [f for f in files if any(fnmatch.fnmatch(f, w) or f.startswith(w) for w in options.files)]
    if options.share < 0.2:
        return [files[i::options.jobs] for i in range(options.jobs)]
    places = {f: next((i for i, name in enumerate(LONG) if f.startswith(name)), None) for f in files}
    long = sorted((f for f in files if places[f] is not None), key=places.get)
    rest = [f for f in files if places[f] is None]
    return [[f] for f in long] + [rest[i:i + options.chunk] for i in range(0, len(rest), options.chunk)]


class Suite:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.begin = time.time()
        self.count = collections.Counter()

    def note(self, line):
        with self.lock:
            self.count[line["outcome"]] += 1
            with open(self.options.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def process(self, files, folder, done):
        """Runs one pytest process. Returns the test during which it ended and the reason, or None if it completed."""
        results, skips = folder / "results", folder / "done"
        results.write_text("")
        skips.write_text("\n".join(done))
        options = self.options
        environment = dict(os.environ, KERAS_BACKEND=options.backend, KERAS_SUITE_RESULTS=str(results),
                           KERAS_SUITE_DONE=str(skips), KERAS_SUITE_SHARE=f"{options.share} {options.seed}",
                           PYTHONHASHSEED="0", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", **NO_NETWORK)
        log = open(folder / "log", "w", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short",
                   "--continue-on-collection-errors", "-c", str(HERE / "pytest.ini"),
                   *[str(sources() / f) for f in files]]
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder,
                                 start_new_session=True)
        current, ended = None, False
        heard, place = time.time(), 0
        while True:
            ended = child.poll() is not None
            with open(results, encoding="utf-8") as file:
                file.seek(place)
                text = file.read()
            whole = text[:text.rfind("\n") + 1]
            place += len(whole.encode())
            for line in map(json.loads, whole.splitlines()):
                heard = time.time()
                if "begin" in line:
                    current = line["begin"]
                    continue
                current = None
                done.append(line["test"])
                self.note(line)
            if ended:
                break
            if time.time() - heard > options.limit:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return current or files[0], "hung", ""
            time.sleep(0.2)
        log.close()
        if child.returncode in (0, 1, 2, 5) and current is None:
            return None
        return current or files[0], "crashed", f"status {child.returncode}: " + (folder / "log").read_text()[-1500:]

    def work(self, files):
        done = []
        with tempfile.TemporaryDirectory(prefix="keras-suite-") as folder:
            while True:
                before = len(done)
                ended = self.process(files, pathlib.Path(folder), done)
                if ended is None:
                    break
                test, outcome, text = ended
                has_progress = len(done) > before
                done.append(test)
                self.note({"test": test, "outcome": outcome, "text": text})
                if test in files and not has_progress:  # it ended outside a test and would do so again
                    break
        print(f"{time.time() - self.begin:7.0f} s  {dict(self.count)}  {files[0]} + {len(files) - 1}", flush=True)


def run(options):
    pathlib.Path(options.results).write_text("")
    suite = Suite(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(suite.work, filter(None, chunks(options))))
    return 0


def outcomes(path):
    with open(path, encoding="utf-8") as file:
        return {line["test"]: line["outcome"] for line in map(json.loads, file)}


def baseline(options):
    passes = sorted(test for test, outcome in outcomes(options.results).items() if outcome == "passed")
    with open(PASSES, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("\n".join(passes).encode())
    print(f"{len(passes)} tests pass")
    return 0


def exclusions():
    listed = []
    for line in EXCLUSIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            listed.append(line.split(maxsplit=2))
    return listed


def matches(rule, test):
    file, _, name = test.partition("::")
    return fnmatch.fnmatchcase(file, rule[0]) and fnmatch.fnmatchcase(name, rule[1])


def compare(options):
    with gzip.open(PASSES, "rt", encoding="utf-8") as file:
        theirs = set(file.read().splitlines())
    ours, listed = outcomes(options.results), exclusions()
    if options.share < 1 or options.files:  # a partial run: missing tests are not failures
        theirs &= {test for test, outcome in ours.items() if outcome != "lacking"}
    if not theirs:
        print("no test that passes with torch was run")
        return 1
    bad = sorted(test for test in theirs if ours.get(test) != "passed")
    unlisted = [test for test in bad if not any(matches(rule, test) for rule in listed)]
    healed = sorted(test for test, outcome in ours.items() if outcome == "passed" and test in theirs
                    and any(matches(rule, test) and not rule[2].startswith("sometimes") for rule in listed))
    is_whole = options.share == 1 and not options.files
    idle = [" ".join(rule) for rule in listed if is_whole and not rule[2].startswith("sometimes")
            and not any(matches(rule, test) for test in bad)]
    broken = sorted(test for test, outcome in ours.items() if outcome in ("crashed", "hung"))
    table = collections.defaultdict(lambda: [0, 0])
    for test in theirs:
        folder = test.split("/")[0]
        table[folder][0] += ours.get(test) == "passed"
        table[folder][1] += 1
    for folder, (good, all_) in sorted(table.items()):
        print(f"{folder:16} {good:6} of {all_:6}  {100 * good / all_:6.2f} %")
    share = 1 - len(bad) / len(theirs)
    print(f"{'all':16} {len(theirs) - len(bad):6} of {len(theirs):6}  {100 * share:6.2f} %")
    for title, tests in (("fail and are not listed", unlisted), ("are listed and pass", healed),
                         ("lines list nothing", idle),
                         ("crashed or hung", broken)):
        if tests:
            print(f"{len(tests)} {title}:", *tests[:options.most], sep="\n  ")
    return int(bool(unlisted or healed or idle or broken) or share < options.least)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for command, function in (("run", run), ("baseline", baseline), ("compare", compare)):
        sub = commands.add_parser(command)
        sub.set_defaults(function=function)
        if command == "run":
            sub.add_argument("--results", required=True)
            sub.add_argument("--backend", default="tartan")
            sub.add_argument("--jobs", type=int, default=2)
            sub.add_argument("--chunk", type=int, default=20)
            sub.add_argument("--limit", type=float, default=300)
            sub.add_argument("--seed", type=int, default=0)
        else:
            sub.add_argument("results")
        sub.add_argument("--share", type=float, default=1.0)
        sub.add_argument("--least", type=float, default=0.98)
        sub.add_argument("--most", type=int, default=50)
        sub.add_argument("files", nargs="*")
    options = parser.parse_args()
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
