# SPDX-License-Identifier: Apache-2.0
"""A computation that runs often enough gets exact (shape-specialised) kernels, regardless of where its operands are."""

import gc
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
import types

import numpy as np
import pytest
import tartan

_DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"

_BEGINNING = """
    import sys, time
    import numpy as np, tartan
    from tartan import _function

    def wait_for_exact(run, tier):
        end = time.monotonic() + 200
        run()
        first = tier()
        begin = time.monotonic()
        while time.monotonic() < begin + 4:  # runs that lose enough time to be worth a compilation
            run()
        while time.monotonic() < end:
            run()
            time.sleep(0.2)  # idle time for it
            for thread in list(_function._background):
                thread.join()
            if tier() == "exact":
                return first
        raise AssertionError(f"the kernels are {tier()} ones")
"""

# Each case starts without compiled kernels; `first` is the tier of the first execution.
_WAYS = {
    "a captured function": """
        f = tartan.function(lambda x, y: tartan.tanh(x @ y) + 1)
        x, y = np.full((17, 9), 0.25, "f4"), np.full((9, 5), 0.5, "f4")
        def run():
            np.testing.assert_allclose(np.asarray(f(x, y)), np.tanh(x @ y) + 1, rtol=1e-5)
        def tier():
            (program,) = f._programs.values()
            return program.tier
    """,
    "a captured function with a variable": """
        v = tartan.Variable(np.zeros((17,), "f4"))
        seen = 0
        @tartan.function
        def f(x):
            v.assign(v.value + x)
            return v.value * 2
        def run():
            global seen
            seen += 1
            np.testing.assert_array_equal(np.asarray(f(np.ones(17, "f4"))), np.full(17, 2 * seen, "f4"))
        def tier():
            (program,) = f._programs.values()
            return program.tier
    """,
    "a session": """
        session = tartan.InferenceSession(sys.argv[1])
        x = np.full((3, 1, 28, 28), 0.5, "f4")
        expected = session.run(None, {"x": x})[0].copy()
        def run():
            np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-4, atol=1e-5)
        def tier():
            return tartan.explain(session).tier
    """,
    "a session with tensors": """
        session = tartan.InferenceSession(sys.argv[1])
        x = tartan.asarray(np.full((3, 1, 28, 28), 0.5, "f4")) * 1
        expected = session.run(None, {"x": np.asarray(x)})[0].copy()
        def run():
            (scores,) = session.run_tensors(None, {"x": x})
            np.testing.assert_allclose(np.asarray(scores), expected, rtol=1e-4, atol=1e-5)
        def tier():
            return tartan.explain(session).tier
    """,
}


@pytest.mark.skipif("TARTAN_TIER" in os.environ, reason="the tier is chosen")
@pytest.mark.parametrize("way", list(_WAYS))
def test_runs_reach_exact_kernels(way, tmp_path):
    code = textwrap.dedent(_BEGINNING) + textwrap.dedent(_WAYS[way]) + "\nprint(wait_for_exact(run, tier))\n"
    done = subprocess.run([sys.executable, "-c", code, str(_DIGITS)], capture_output=True, text=True, timeout=280,
                          env=dict(os.environ, TARTAN_CACHE_DIR=str(tmp_path)))
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    assert done.stdout.split()[-1] in ("ready", "host")


_STEP = """
    import sys
    import numpy as np, tartan
    from tartan import _function

    weights = tartan.Variable(np.linspace(-1, 1, 35).reshape(7, 5).astype("f4"))
    seen = tartan.Variable(np.zeros((), "int32"))
    mask = tartan.Variable(np.zeros(5, "bool"))

    @tartan.function
    def step(x):
        y = tartan.tanh(x @ weights.value)
        weights.assign(weights.value - 0.5 * (x.mT @ y))
        seen.assign(seen.value + 1)
        mask.assign(tartan.logical_not(mask.value))
        return tartan.sum(y * y), x

    x = np.cos(np.arange(21)).reshape(3, 7).astype("f4")
    w = np.asarray(weights.value).astype("f8")
    tiers = []
    for number in range(6):
        loss, same = step(x)
        y = np.tanh(x @ w)
        w -= 0.5 * (x.T @ y)
        np.testing.assert_allclose(np.asarray(loss), np.sum(y * y), rtol=1e-4)
        np.testing.assert_array_equal(np.asarray(same), x)
        np.testing.assert_allclose(np.asarray(weights.value), w, rtol=1e-4, atol=1e-5)
        assert int(seen.value) == number + 1
        np.testing.assert_array_equal(np.asarray(mask.value), np.full(5, number % 2 == 0))
        (program,) = step._programs.values()
        tiers.append(program.tier)
        for thread in list(_function._background):
            thread.join()
    print(*tiers)
"""


@pytest.mark.skipif("TARTAN_TIER" in os.environ, reason="the tier is chosen")
@pytest.mark.parametrize("host, first", [("on", "host"), ("off", "ready")])
def test_a_small_step_starts_without_kernels_and_a_second_process_with_exact_ones(host, first, tmp_path):
    environment = dict(os.environ, TARTAN_CACHE_DIR=str(tmp_path), TARTAN_HOST=host, TARTAN_CHECK_SWAP="1")
    tiers = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(_STEP)], capture_output=True, text=True,
                              timeout=280, env=environment)
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
        tiers.append(done.stdout.split())
    assert tiers == [[first] * 3 + ["exact"] * 3, ["exact"] * 6]


def test_a_function_without_exact_kernels_says_why(monkeypatch):
    from tartan import _core, _function

    create = _core.Program.create

    def fail(*args, **options):
        if options.get("apart"):
            raise RuntimeError("the compiler was ended")
        return create(*args, **options)

    monkeypatch.setattr(_function, "_core", type("Core", (), {
        **{n: getattr(_core, n) for n in dir(_core) if not n.startswith("__")},
        "Program": type("Program", (), {"create": staticmethod(fail)})}))
    f = tartan.function(lambda x: x * 3, name="triple")
    with pytest.warns(RuntimeWarning, match="triple continues with slower kernels.*the compiler was ended"):
        for _ in range(4):
            np.testing.assert_array_equal(np.asarray(f(np.ones(3, "f4"))), np.full(3, 3, "f4"))
        for thread in list(_function._background):
            thread.join()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ends", ["collected", "process"])
def test_exact_kernels_that_nobody_needs_any_more_are_cancelled(ends, monkeypatch):
    from tartan import _core, _function

    create, began = _core.Program.create, threading.Event()

    def compile_for_ever(*args, apart=False, cancellation=None, **options):
        while apart and not cancellation.is_cancelled:
            began.set()
            time.sleep(0.01)
        return create(*args, cancellation=cancellation, **options)

    monkeypatch.setattr(_function, "_core", types.SimpleNamespace(
        **{n: getattr(_core, n) for n in dir(_core) if not n.startswith("__") and n != "Program"},
        Program=types.SimpleNamespace(create=compile_for_ever)))
    monkeypatch.setattr(_function, "_EXIT_SECONDS", 0.1)
    f = tartan.function(lambda x: x * 5, name="five")
    for _ in range(4):
        np.testing.assert_array_equal(np.asarray(f(np.ones(3, "f4"))), np.full(3, 5, "f4"))
    assert began.wait(60)
    if ends == "collected":
        del f
        gc.collect()
        for thread in list(_function._background):
            thread.join(60)
    else:
        _function._wait_for_background()
    assert not _function._background and not _function._improvements
