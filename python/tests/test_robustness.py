# SPDX-License-Identifier: Apache-2.0
"""Long runs, failures, threads and processes with captured functions and the Keras backend."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import tartan

_STEPS = int(os.environ.get("TARTAN_LONG_STEPS", "2000"))


def _run(code, **environment):
    """Runs a script in a separate process and returns the last line of its output."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                          env=dict(os.environ, **environment), timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


_KERAS = """
    import keras_tartan, keras, numpy as np, os, resource, threading, sys
    def kib():
        return int(open("/proc/self/statm").read().split()[1]) * 4
    def network(width=16):
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(width, activation="relu"),
                                  keras.layers.Dropout(0.1), keras.layers.Dense(3)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
        return model
    random = np.random.default_rng(0)
    x, y = random.standard_normal((16, 8)).astype("float32"), random.integers(0, 3, 16)
"""


def test_memory_does_not_grow_over_many_steps():
    grown = int(_run(_KERAS + f"""
    model = network()
    for step in range({_STEPS}):
        if step == {_STEPS} // 4:
            from tartan import _function
            for thread in list(_function._background):  # compiles kernels, which take memory of their own
                thread.join()
            model.train_on_batch(x, y)
            begin = kib()
        model.train_on_batch(x, y)
    print(kib() - begin)
    """, KERAS_BACKEND="tartan"))
    assert grown < 4096  # KiB; a few bytes per step are allowed for the interpreter


def test_memory_does_not_grow_over_many_eager_operations():
    grown = int(_run(f"""
    import tartan, numpy as np
    def kib():
        return int(open("/proc/self/statm").read().split()[1]) * 4
    x = tartan.asarray(np.ones((50, 60), "float32"))
    for step in range({_STEPS}):
        if step == {_STEPS} // 4:
            begin = kib()
        x = tartan.exp(tartan.negative(x)) if step % 2 else tartan.log(tartan.add(x, 1.0))
        if step % 5 == 0:
            np.asarray(x)
    print(kib() - begin)
    """))
    assert grown < 4096


class _Counted:
    """An eager evaluator that counts evaluations."""

    def __init__(self, runtime):
        self.runtime, self.calls = runtime, 0

    def evaluate(self, values):
        self.calls += 1
        return self.runtime.evaluate(values)


def test_long_chains_with_shortcuts_are_computed_once(monkeypatch):
    counted = _Counted(tartan._runtime.eager())
    monkeypatch.setattr(tartan._runtime, "eager", lambda: counted)
    start = np.linspace(-1, 1, 21, dtype="float32").reshape(3, 7)
    x, want = tartan.asarray(start), start.astype("float64")
    for _ in range(60):
        shortcut, before = x, want
        for _ in range(10):
            x, want = tartan.tanh(x * 1.25), np.tanh(want * 1.25)
        x, want = (x + shortcut) * 0.5, (want + before) * 0.5
    np.testing.assert_allclose(x.numpy(), want, rtol=1e-5, atol=1e-6)
    assert counted.calls <= 5  # 1,320 operations, of which at most 400 are pending


def test_results_that_are_constants_compile_nothing(tmp_path):
    assert _run("""
        import os, pathlib, tartan
        from tartan._tensor import constant
        x = constant(0, "int32")
        for turn in range(3):
            x = x + 1
            assert int(x) == turn + 1 and bool(x < 9) and float(tartan.zeros(()) + turn) == turn
        print(len(list(pathlib.Path(os.environ["TARTAN_CACHE_DIR"]).rglob("*.kernels"))))
    """, TARTAN_CACHE_DIR=str(tmp_path), TARTAN_HOST="on") == "0"


@pytest.mark.parametrize("assigns", [False, True])
def test_values_read_in_a_loop_do_not_lengthen_its_chains(assigns):
    x, want, depths = tartan.asarray([1.0, -2.0, 0.0]), np.array([1.0, -2.0, 0.0]), []
    for turn in range(40):
        if assigns:
            x[turn % 3] = x[(turn + 1) % 3] * 0.5 + 1.0
            want[turn % 3] = want[(turn + 1) % 3] * 0.5 + 1.0
        else:
            x, want = tartan.tanh(x * 1.5) + 0.25, np.tanh(want * 1.5) + 0.25
        np.testing.assert_allclose(float(tartan.sum(x)), want.sum(), rtol=1e-5, atol=1e-6)
        depths.append(x._depth)
    np.testing.assert_allclose(x.numpy(), want, rtol=1e-5, atol=1e-6)
    assert max(depths) < 32


def test_states_that_change_before_a_value_is_read_do_not_lengthen_their_chains():
    weights, want, depths = tartan.asarray(np.ones((4, 3), "float32")), np.ones((4, 3)), []
    for turn in range(30):
        loss, slope = tartan.value_and_grad(lambda w: tartan.sum(tartan.tanh(w * (turn % 3 + 1)) ** 2))(weights)
        value = np.tanh(want * (turn % 3 + 1))
        weights = weights - slope * 0.01
        np.testing.assert_allclose(float(loss), (value**2).sum(), rtol=1e-4)  # `weights` depends on the same operations
        want = want - 0.01 * 2 * value * (1 - value**2) * (turn % 3 + 1)
        depths.append(weights._depth)
    np.testing.assert_allclose(weights.numpy(), want, rtol=1e-4)
    assert max(depths) < 32


def test_an_error_of_a_held_tensor_is_not_one_of_the_tensor_that_is_read():
    x = tartan.asarray([1.0, 2.0, 4.0])
    index = tartan.asarray([2, 3]) + tartan.asarray([0, 4])
    doubled = x * 2
    wrong = tartan._tensor.operator("Gather", [doubled, index])
    assert float(tartan.sum(doubled)) == 14
    with pytest.raises(IndexError):
        wrong.numpy()


def test_gradients_pass_through_values_read_in_a_long_chain():
    x = tartan.asarray([0.5, -0.25])
    with tartan.recording():
        y = x
        for _ in range(30):
            y = y * 1.01
            assert float(y[0]) > 0
        slope = tartan.gradients(tartan.sum(y), [x])[0]
    np.testing.assert_allclose(slope.numpy(), np.full(2, 1.01**30), rtol=1e-5)


def test_a_chain_that_nobody_asks_for_stays_within_the_stack():
    x = tartan.asarray(np.zeros(3, "float32"))
    for _ in range(5000):
        x = tartan.add(x, 1.0)
    np.testing.assert_array_equal(np.asarray(x), [5000.0] * 3)


def test_an_exception_in_a_step_leaves_variables_whole():
    variable = tartan.Variable(np.arange(4, dtype="float32"))

    @tartan.function
    def step(x, fails):
        variable.assign(tartan.add(variable.value, x))
        if fails:
            raise KeyError("in the midst")
        return variable.value

    one = np.ones(4, "float32")
    step(one, False)
    with pytest.raises(KeyError):
        step(one, True)
    np.testing.assert_array_equal(np.asarray(variable), [1, 2, 3, 4])
    np.testing.assert_array_equal(np.asarray(step(one, False)), [2, 3, 4, 5])


def test_an_exception_in_a_step_of_keras_leaves_weights_whole():
    result = _run(_KERAS + """
    class Stop(Exception): pass
    class Layer(keras.layers.Layer):
        fails = False
        def call(self, x):
            if self.fails:
                raise Stop("in the midst of a step")
            return x
    last = Layer()
    model = keras.Sequential([*network().layers, last])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.train_on_batch(x, y)
    before, steps = [np.array(w) for w in model.get_weights()], int(model.optimizer.iterations)
    last.fails, failed = True, False
    try:
        model.train_on_batch(x[:7], y[:7])  # another size is captured anew
    except Stop:
        failed = True
    same = all(np.array_equal(a, b) for a, b in zip(before, model.get_weights()))
    same &= int(model.optimizer.iterations) == steps
    last.fails = False
    loss = model.train_on_batch(x[:7], y[:7])
    print(failed and same and np.isfinite(loss) and int(model.optimizer.iterations) == steps + 1)
    """, KERAS_BACKEND="tartan")
    assert result == "True"


def test_two_threads_predict_at_once():
    result = _run(_KERAS + """
    models = [network(16), network(24)]
    data = [random.standard_normal((rows, 8)).astype("float32") for rows in (16, 40, 33)]
    wanted = [[model.predict(rows, verbose=0) for rows in data] for model in models]
    wrong = []
    def work(seed):
        order = np.random.default_rng(seed)
        for _ in range(40):
            m, d = order.integers(0, 2), order.integers(0, 3)
            if not np.allclose(models[m].predict(data[d], verbose=0), wanted[m][d], rtol=1e-5, atol=1e-6):
                wrong.append((m, d))
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(len(wrong))
    """, KERAS_BACKEND="tartan")
    assert result == "0"


def test_two_threads_compute_and_differentiate_at_once():
    failures = []

    def work(seed):
        random = np.random.default_rng(seed)
        try:
            for size in range(20, 40):
                x = random.standard_normal((size, 3)).astype("float32")
                f = tartan.grad(lambda v: tartan.tile("function (X[N, M]) -> (S) { Y = X * X * X; S[] = +(Y[i, j]); }")(v))
                np.testing.assert_allclose(np.asarray(f(tartan.asarray(x))), 3 * x * x, rtol=1e-4, atol=1e-5)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_the_environment_changes_while_kernels_compile():
    """Drivers pass the environment to their linkers."""
    result = _run("""
    import os, threading, numpy as np, tartan
    stop = []
    def churn():
        for i in range(10**9):
            if stop: return
            os.environ[f"CHURN{i % 5000}"] = "x" * (i % 50)
    functions = []
    for k in range(6):
        text = f"function (X) -> (O) {{ O = sin(X * {k}.5 + {os.getpid()}.25); }}"
        functions.append(tartan.function(lambda x, text=text: tartan.tile(text)(x)))
        functions[-1](np.ones(100 + k, "float32"))
    thread = threading.Thread(target=churn)
    thread.start()
    for f in functions:
        for _ in range(4):
            f(np.ones(f_size := 100 + functions.index(f), "float32"))
    from tartan import _function
    for background in list(_function._background):
        background.join()
    stop.append(1)
    thread.join()
    print("done")
    """)
    assert result == "done"


def test_the_environment_is_read_while_it_grows():
    """PoCL reads variables at each launch in its own threads."""
    result = _run("""
    import ctypes, os, subprocess, threading, tartan
    library = ctypes.CDLL(None)
    read = library.getenv
    read.restype = ctypes.c_char_p
    stop, count = [], [0]
    def ask():
        names = ctypes.create_string_buffer(b"NOT_THERE".ljust(16, b"\\0") * 100)
        while not stop:
            # Asks for each name several times, without Python's lock: sorted by what getenv answers.
            library.qsort(names, 100, 16, library.getenv)
            count[0] += 1
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(20000):
        os.environ[f"GROWN{i}"] = str(i)
        if i % 3 == 0:
            del os.environ[f"GROWN{i}"]
    os.environ["NAME\\udcff"] = "\\udcfe"
    stop.append(1)
    for thread in threads:
        thread.join()
    for i in range(20000):
        assert read(f"GROWN{i}".encode()) == (None if i % 3 == 0 else str(i).encode())
    assert read(b"NAME\\xff") == b"\\xfe" and count[0]
    seen = subprocess.run(["env"], capture_output=True).stdout
    assert b"GROWN19999=19999" in seen and b"GROWN0=" not in seen
    print("done")
    """)
    assert result == "done"


def test_derivatives_pass_through_captured_functions():
    f = tartan.function(lambda a: tartan.tanh(a) * 2)
    x = np.linspace(-1, 1, 5, dtype="float32")
    wanted = 2 * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(tartan.grad(lambda a: tartan.sum(f(a)))(x).numpy(), wanted, rtol=1e-5)
    loss = tartan.function(lambda a: tartan.sum(f(a)))
    f(x), loss(x)  # captured already
    np.testing.assert_allclose(tartan.grad(loss)(x).numpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(tartan.function(tartan.grad(loss))(x).numpy(), wanted, rtol=1e-5)
    weight = tartan.Variable(np.full(5, 3, "float32"))
    step = tartan.function(lambda a: tartan.sum(weight.value * a * a))
    with tartan.recording():
        value = weight.value
        (by_weight,) = tartan.gradients(step(x), [value])
    np.testing.assert_allclose(by_weight.numpy(), x * x, rtol=1e-6)
