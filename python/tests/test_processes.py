# SPDX-License-Identifier: Apache-2.0
"""Processes that were forked or interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import tartan


def _run(code, **environment):
    """Runs a script in a separate process and returns the last line of its output."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                          env=dict(os.environ, **environment), timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


def _interrupted(monkeypatch, cancels):
    """Captures a function and interrupts its compilation, which ends with an error if it `cancels`. Returns the captured
    function and the names of the programs that were created."""
    from tartan import _core

    begun, goes_on, created = threading.Event(), threading.Event(), []
    create = _core.Program.create

    class Slow:
        @staticmethod
        def create(*args, **kwargs):
            if args[5] == "soonest":  # the background creates exact ones
                created.append(args[4])
                begun.set()
                assert goes_on.wait(60)
                if not cancels:
                    kwargs.pop("cancellation")
            return create(*args, **kwargs)

    class Core:
        Program = Slow

        def __getattr__(self, name):
            return getattr(_core, name)

    monkeypatch.setattr("tartan._function._core", Core())
    monkeypatch.setattr("tartan._function.first_tier", lambda: "ready")
    interrupt = threading.Thread(target=lambda: begun.wait(60) and os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    # Distinct formulas, because a program that is in the cache is not compiled.
    power = tartan.function(lambda x: x * x * (2 + cancels))
    with pytest.raises(KeyboardInterrupt):
        power(np.arange(3000.0))
    interrupt.join()
    goes_on.set()
    return power, created


@pytest.mark.parametrize("cancels", [False, True])
def test_a_function_computes_after_ctrl_c_during_its_compilation(cancels, monkeypatch):
    power, created = _interrupted(monkeypatch, cancels)
    np.testing.assert_array_equal(power(np.arange(3000.0)), np.arange(3000.0) ** 2 * (2 + cancels))
    assert len(created) == 2


def test_ctrl_c_ends_the_thread_and_the_processes_that_compile(tmp_path):
    assert _run("""
    import os, signal, threading, time
    import keras_tartan, keras, numpy as np
    from keras import layers
    from tartan import _core, _function

    model = keras.Sequential([keras.Input((24, 24, 3))])
    for width in range(8, 32):
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
    model.add(layers.GlobalAveragePooling2D())
    model.compile("sgd", "mse")
    x, y = np.zeros((2, 24, 24, 3), "float32"), np.zeros((2, 31), "float32")
    create, errors = _core.Program.create, []

    class Program:
        @staticmethod
        def create(*args, **kwargs):
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                return create(*args, **kwargs)
            except Exception as error:
                errors.append(str(error))
                raise

    _core.Program.create = Program.create
    try:
        model.fit(x, y, verbose=0)
    except KeyboardInterrupt:
        pass
    while _function._background:
        time.sleep(0.01)
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        children = file.read().split()
    _core.Program.create = create
    model.fit(x, y, verbose=0)
    print(errors, children)
    """, KERAS_BACKEND="tartan", TARTAN_HOST="off", TARTAN_CACHE_DIR=str(tmp_path),
        POCL_CACHE_DIR=str(tmp_path)) == "['the compilation was cancelled'] []"


_FORK = """
    import os, sys, numpy as np, tartan
    variable = tartan.Variable(np.ones(3, "float32"))
    def use():
        x = tartan.function(tartan.exp)(np.zeros((70, 80), "float32"))
        y = tartan.scan(lambda c, row: (c + row, c), tartan.zeros(80), x)[0]
        z = tartan.linalg.matmul(x.mT, x) + tartan.argsort(y)
        return np.asarray(tartan.sum(y) + tartan.grad(lambda x: tartan.sum(x * x))(z)[0, 0]).item()
    if "{used}":
        use()
        tartan.function(lambda: variable.assign(variable.value + 1))()
        pending = tartan.ones(5) + 1
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = "nothing"
        try:
            text = str({child})
        except RuntimeError as error:
            text = str(error)
        finally:
            os.write(write, text.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    print(os.read(read, 999).decode())
    """


@pytest.mark.parametrize("used", ["", "1"])
def test_a_child_computes_whether_or_not_the_parent_has_used_a_device(used):
    """After a fork the host computes, because drivers do not work. 70 ones in 80 columns, and 2 (70 + 0)."""
    assert _run(_FORK.format(used=used, child="use()")) == "5740.0"


def test_a_child_computes_what_was_pending_in_the_parent():
    assert _run(_FORK.format(used="1", child="pending.tolist()")) == "[2.0, 2.0, 2.0, 2.0, 2.0]"


def test_a_child_is_told_that_a_variable_is_on_the_device_of_the_parent():
    result = _run(_FORK.format(used="1", child="variable.numpy()"))
    assert "fork" in result and "spawn" in result


def test_grandchildren_compute():
    nested = """(lambda pid: os.waitpid(pid, 0)[1] if pid else os._exit(int(use() != 5740)))(os.fork()) + 7"""
    assert _run(_FORK.format(used="1", child=nested)) == "7"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_of_a_dataset_use_operations(method, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
    import multiprocessing, sys
    import keras_tartan, keras, numpy as np
    from keras import layers, ops

    class Pictures(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            x = ops.convert_to_tensor(np.random.default_rng(index).random((4, 12, 12, 3), "float32"))
            x = layers.RandomFlip(seed=index)(ops.image.resize(x, (6, 6)))
            return x, ops.one_hot([0, 1, 2, 0], 3)

    if __name__ == "__main__":
        multiprocessing.set_start_method(sys.argv[1])
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((6, 6, 3)), layers.Flatten(), layers.Dense(3)])
        model.compile("sgd", "mse")
        found = model.predict(np.ones((2, 6, 6, 3), "float32"), verbose=0)
        several = Pictures(workers=2, use_multiprocessing=True)
        losses = [model.evaluate(data, verbose=0) for data in (several, Pictures())]
        model.fit(several, epochs=2, verbose=0)
        print(abs(losses[0] - losses[1]) < 1e-5)
    """))
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), method], capture_output=True, text=True,
                          env=dict(os.environ, KERAS_BACKEND="tartan"), timeout=300)
    assert done.stdout.strip() == "True", done.stderr[-3000:]
