# SPDX-License-Identifier: Apache-2.0
"""Tensors in Python protocols and other packages: copies, pickles, NumPy functions, einops, and the selection of
Keras' backend."""

import copy
import importlib.util
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import tartan

_ROOT = pathlib.Path(__file__).parents[2]


def test_the_version_is_that_of_the_project():
    said = re.search(r'^version = "(.*)"$', (_ROOT / "pyproject.toml").read_text(), re.M).group(1)
    assert tartan.__version__ == said
    assert f"project(tartan VERSION {said} " in (_ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_tensors_are_copied_and_pickled(dtype, shape):
    x = tartan.astype(tartan.asarray(np.arange(int(np.prod(shape))).reshape(shape)), dtype) * 2 if dtype != "bool" else \
        tartan.asarray(np.ones(shape, bool))
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy({"x": [x]})["x"][0]):
        assert type(y) is tartan.Tensor and y.dtype == dtype and y.shape == shape
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    y = copy.copy(x)
    if y.size:
        before = np.array(np.asarray(x))
        y[...] = 0
        np.testing.assert_array_equal(np.asarray(x), before)


def test_results_and_variables_are_copied_and_pickled():
    result = tartan.function(lambda a: a + 1)(tartan.ones(3))
    for y in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert type(y) in (tartan.Tensor, type(result)) and y.tolist() == [2, 2, 2]
    v = tartan.Variable(np.ones(3), name="v")
    for w in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert w.name == "v" and w is not v and w.numpy().tolist() == [1, 1, 1]
        w.assign(np.zeros(3))
    assert v.numpy().tolist() == [1, 1, 1]


def test_a_tensor_without_values_is_copied_and_not_pickled():
    def f(a):
        with pytest.raises(tartan.ConcretizationError):
            pickle.dumps(a)
        return copy.deepcopy(a) * 2

    assert tartan.function(f)(tartan.ones(2)).tolist() == [2, 2]


_UFUNCS = {"sin": 1, "exp": 1, "arctan": 1, "absolute": 1, "conjugate": 1, "isnan": 1, "degrees": 1, "add": 2, "true_divide": 2,
           "maximum": 2, "arctan2": 2, "less_equal": 2, "logical_and": 2, "hypot": 2, "floor_divide": 2, "power": 2, "matmul": 2}


@pytest.mark.parametrize("name", _UFUNCS)
def test_numpys_functions_of_elements_are_computed_here(name, monkeypatch):
    x = np.linspace(0.5, 2, 9, dtype="float32").reshape(3, 3)
    given = [x, x[::-1] + 1][:_UFUNCS[name]]
    monkeypatch.setattr(tartan.Tensor, "numpy", None)  # fails if a value is requested
    found = [getattr(np, name)(*[tartan.asarray(a) for a in given]), getattr(np, name)(tartan.asarray(given[0]), *given[1:])]
    if len(given) == 2:
        found.append(getattr(np, name)(given[0], tartan.asarray(given[1])))
    monkeypatch.undo()
    for y in found:
        assert isinstance(y, tartan.Tensor)
        np.testing.assert_allclose(np.asarray(y), getattr(np, name)(*given), rtol=1e-6)


def test_numpys_functions_of_arrays_are_computed_here(monkeypatch):
    x = np.arange(12, dtype="float32").reshape(3, 4)
    calls = [lambda np, a: np.sum(a, axis=1), lambda np, a: np.mean(a, 0, keepdims=True), lambda np, a: np.std(a, ddof=1),
             lambda np, a: np.concatenate([a, a], axis=1), lambda np, a: np.stack([a, a]), lambda np, a: np.where(a > 3, a, 0),
             lambda np, a: np.reshape(a, (4, 3)), lambda np, a: np.transpose(a), lambda np, a: np.expand_dims(a, 1),
             lambda np, a: np.clip(a, 1, 5), lambda np, a: np.argmax(a, axis=1), lambda np, a: np.add.reduce(a),
             lambda np, a: np.maximum.reduce(a, axis=1), lambda np, a: np.linalg.norm(a), lambda np, a: np.cumsum(a, axis=1),
             lambda np, a: np.matmul(a, a.T), lambda np, a: np.squeeze(a[:1]), lambda np, a: np.moveaxis(a, 0, 1),
             lambda np, a: np.einsum("ij,kj->ik", a, a), lambda np, a: np.fft.rfft(a), lambda np, a: np.zeros_like(a),
             lambda np, a: np.round(a / 7, 2), lambda np, a: np.flip(a, 1), lambda np, a: np.tril(a)]
    for call in calls:
        monkeypatch.setattr(tartan.Tensor, "numpy", None)
        found = call(np, tartan.asarray(x))
        monkeypatch.undo()
        assert isinstance(found, (tartan.Tensor, tartan.ComplexTensor))
        np.testing.assert_allclose(np.asarray(found), call(np, x), rtol=1e-5, atol=1e-5)


def test_others_say_what_to_do_and_what_needs_values_takes_them(tmp_path):
    x = tartan.asarray(np.arange(6.0).reshape(2, 3))
    for call, name in ((lambda: np.interp(x, x, x), "numpy.interp"), (lambda: np.spacing(x), "numpy.spacing"),
                       (lambda: np.median(x), "numpy.median"), (lambda: np.add.outer(x, x), "numpy.add.outer"),
                       (lambda: np.sum(x, where=np.ones((2, 3), bool)), "numpy.sum with where="),
                       (lambda: np.sin(x, where=np.ones((2, 3), bool)), "numpy.sin with where"),
                       (lambda: np.linalg.eig(x), "numpy.linalg.eig")):
        with pytest.raises(TypeError, match=f"{name}.*numpy.asarray"):
            call()
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.asarray(x))
    assert np.allclose(x, np.asarray(x)) and np.array_equal(x, x)
    total = np.ones((2, 3))
    total += x
    np.testing.assert_array_equal(total, np.asarray(x) + 1)
    assert isinstance(np.float32(2) * x, tartan.Tensor) and isinstance(np.sin(tartan.Variable(np.ones(2))), tartan.Tensor)


@pytest.mark.parametrize("first", ["einops", "tartan"])
def test_einops_knows_tensors_whichever_is_imported_first(first):
    pytest.importorskip("einops", reason="einops is not installed: pip install einops")
    code = f"""
import {first}
import einops, tartan, numpy as np
x = np.arange(24, dtype="float32").reshape(2, 3, 4)
t = tartan.asarray(x)
for f in (lambda a: einops.rearrange(a, "b h w -> w (b h)"), lambda a: einops.reduce(a, "b h w -> b", "mean"),
          lambda a: einops.reduce(a, "b h (w q) -> h w", "max", q=2), lambda a: einops.repeat(a, "b h w -> b h w c", c=3),
          lambda a: einops.einsum(a, a, "b h w, b k w -> b h k"), lambda a: einops.pack([a, a], "* h w")[0]):
    y = f(t)
    assert isinstance(y, tartan.Tensor), type(y)
    np.testing.assert_allclose(np.asarray(y), f(x), rtol=1e-6)
slope = tartan.grad(lambda a: tartan.sum(einops.reduce(a, "b h w -> b", "mean") ** 2))(t)
captured = tartan.function(lambda a: einops.rearrange(a, "b h w -> h (b w)"))
print(slope.shape, captured(t).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(2, 3, 4) (3, 8)"


def _with_site(code, **environment):
    """Runs a process in which the package is installed, including its .pth."""
    folder = str(pathlib.Path(tartan.__file__).parents[1])
    kept = {k: v for k, v in os.environ.items() if k not in ("KERAS_BACKEND", "KERAS_HOME")}
    start = f"import site; site.addsitedir({folder!r})\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, env={**kept, **environment})


_BACKEND = "import keras; print(keras.backend.backend(), type(keras.ops.ones(2)).__module__.split('.')[0])"


@pytest.fixture
def keras_home(tmp_path):
    if importlib.util.find_spec("keras") is None:
        pytest.skip("Keras is not installed")
    if not (pathlib.Path(tartan.__file__).parents[1] / "keras_tartan_finder.py").exists():
        pytest.skip("the finder is not beside the package")
    return tmp_path


def test_keras_backend_is_chosen_when_keras_is_imported(keras_home):
    done = _with_site("import os; os.environ['KERAS_BACKEND'] = 'tartan'\n" + _BACKEND, KERAS_HOME=str(keras_home))
    assert done.stdout.split()[:1] == ["tartan"], done.stderr
    (keras_home / "keras.json").write_text(json.dumps({"backend": "tartan", "floatx": "float32"}))
    done = _with_site(_BACKEND, KERAS_HOME=str(keras_home))
    assert done.stdout.split()[:1] == ["tartan"], done.stderr
    # The environment variable has priority over the file, and other backends are unaffected.
    done = _with_site("import sys, keras_tartan_finder as f; f._look(); print('keras_tartan' in sys.modules)",
                      KERAS_HOME=str(keras_home), KERAS_BACKEND="numpy")
    assert done.stdout.split() == ["False"], done.stderr


@pytest.mark.parametrize("name", ["Tartan", "TARTAN", "tartan "])
def test_letters_of_the_name_may_be_large(keras_home, name):
    done = _with_site(_BACKEND, KERAS_HOME=str(keras_home), KERAS_BACKEND=name)
    assert done.stdout.split()[:1] == ["tartan"], done.stderr
    (keras_home / "keras.json").write_text(json.dumps({"backend": name}))
    done = _with_site(_BACKEND, KERAS_HOME=str(keras_home))
    assert done.stdout.split()[:1] == ["tartan"], done.stderr


@pytest.mark.parametrize("name", ["keras_tartan", "tartan.keras"])
def test_another_name_says_what_to_write(keras_home, name):
    done = _with_site("import keras", KERAS_HOME=str(keras_home), KERAS_BACKEND=name)
    assert done.stderr.strip().splitlines()[-1] == f"ImportError: KERAS_BACKEND has the backend {name!r}: write 'tartan'"


_IN_A_SCRIPT = "import os\nos.environ['KERAS_BACKEND'] = 'tartan'\n" + _BACKEND


@pytest.mark.parametrize("home", ["no folder", "broken keras.json", "another backend in keras.json"])
def test_a_script_chooses_the_backend_whatever_the_home_has(keras_home, home):
    place = {"HOME": "/nonexistent"} if home == "no folder" else {"KERAS_HOME": str(keras_home)}
    text = {"broken keras.json": "{", "another backend in keras.json": '{"backend": "torch"}'}.get(home)
    if text:
        (keras_home / "keras.json").write_text(text)
    done = _with_site(_IN_A_SCRIPT, **place)
    assert done.stdout.split()[:1] == ["tartan"], done.stderr


def test_another_library_may_import_keras_first(keras_home):
    (keras_home / "library.py").write_text("import keras\n")
    done = _with_site(_IN_A_SCRIPT.replace("import keras;", f"import sys; sys.path.append({str(keras_home)!r}); import library, keras;"),
                      KERAS_HOME=str(keras_home))
    assert done.stdout.split()[:1] == ["tartan"], done.stderr


def _without_site(code, **environment):
    """Runs a process with the package in a folder of PYTHONPATH, where Python does not read its .pth."""
    kept = {k: v for k, v in os.environ.items() if k not in ("KERAS_BACKEND", "KERAS_HOME")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**kept, **environment})


def test_libraries_that_list_backends_by_name_get_the_name_of_the_option(keras_home):
    (keras_home / "picky.py").write_text("import keras\nname, config = keras.backend.backend(), keras.config.backend()\n")
    (keras_home / "other.py").write_text("from keras.config import backend\nname = backend()\n")
    code = (f"import sys; sys.path.append({str(keras_home)!r}); import keras, picky, other\n"
            "print(keras.backend.backend(), picky.name, picky.config, other.name, keras.src.backend.Variable.__mro__[2].__module__,\n"
            "      keras.Sequential([keras.layers.Dense(2)]).predict(keras.ops.ones((1, 2)), verbose=0).shape)")
    for option, wanted in (("", "tartan tartan tartan tartan"), ("picky=torch", "tartan torch torch tartan"),
                           ("jax", "jax jax jax jax"), ("picky=torch, other=numpy", "tartan torch torch numpy")):
        done = _with_site(code, KERAS_HOME=str(keras_home), KERAS_BACKEND="tartan", TARTAN_BACKEND_NAME=option)
        assert done.stdout.strip() == wanted + " keras.src.backend.common.variables (1, 2)", done.stderr
    done = _with_site(code, KERAS_HOME=str(keras_home), KERAS_BACKEND="tartan", TARTAN_BACKEND_NAME="picky=pytorch")
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError: TARTAN_BACKEND_NAME has the backend 'pytorch'")


_LISTING = {
    "comparisons": "if keras.backend.backend() == 'tensorflow': pass\n"
                   "elif keras.config.backend() == 'jax': pass\nelif 'torch' != keras.backend.backend(): {end}\n",
    "a tuple": "if keras.backend.backend() not in ('tensorflow', 'torch', 'jax'): {end}\n",
}


@pytest.mark.parametrize("form", _LISTING)
def test_a_library_that_knows_other_backends_only_gets_a_warning_with_the_option(keras_home, form):
    library = "import keras\nfor _ in range(2):\n    " + _LISTING[form].replace("\n", "\n    ").rstrip() + "\n"
    code = f"import sys; sys.path.append({str(keras_home)!r}); import "
    (keras_home / "picky.py").write_text(library.format(end="raise NotImplementedError"))
    (keras_home / "calm.py").write_text(library.format(end="pass"))
    (keras_home / "other.py").write_text("import copy, json, keras, pickle\nname = keras.backend.backend()\n"
                                         "print(name != 'jax' and name != 'torch' and name == 'tartan', {name: 1}['tartan'])\n"
                                         "print(type(pickle.loads(pickle.dumps(name))), copy.deepcopy(name), json.dumps(name))\n")
    run = lambda name, **more: _with_site(code + name, KERAS_HOME=str(keras_home), KERAS_BACKEND="tartan", **more)
    done = run("picky")
    assert "UserWarning: picky has no branch for Keras' backend 'tartan'" in done.stderr
    assert "TARTAN_BACKEND_NAME=picky=torch" in done.stderr and done.stderr.endswith("NotImplementedError\n")
    done = run("calm")
    assert done.returncode == 0 and done.stderr.count("UserWarning") == 1, done.stderr
    assert "UserWarning" not in run("calm", TARTAN_BACKEND_NAME="calm=numpy").stderr
    done = run("other")
    assert done.stdout == "True 1\n<class 'str'> tartan \"tartan\"\n" and "UserWarning" not in done.stderr, done.stderr


def test_importing_tartan_installs_the_hook(keras_home):
    done = _without_site(_IN_A_SCRIPT.replace("import keras", "import tartan; import keras"), KERAS_HOME=str(keras_home))
    assert done.stdout.split()[:1] == ["tartan"], done.stderr
    # Also after an import of Keras that failed without the hook.
    done = _without_site("try:\n    import keras\nexcept ValueError as error:\n    print(error)\nimport tartan\n" + _BACKEND,
                         KERAS_HOME=str(keras_home), KERAS_BACKEND="tartan")
    assert done.stdout.splitlines()[0] == "Unable to import backend : tartan"
    assert done.stdout.splitlines()[1].split()[:1] == ["tartan"], done.stderr


def _write_keras(folder, version=None, backend=""):
    """Writes a package in the form of another Keras."""
    place = folder / "keras" / "src" / "backend"
    place.mkdir(parents=True)
    for path in (folder / "keras" / "__init__.py", place.parent / "__init__.py", place / "__init__.py"):
        path.write_text("")
    (folder / "keras" / "__init__.py").write_text("import keras.src.backend.config")
    (place / "config.py").write_text(f"def backend(): return {backend!r}")
    if version:
        (place.parent / "version.py").write_text(f'__version__ = "{version}"\n')
    return f"import sys; sys.path.insert(0, {str(folder)!r}); import keras"


def test_keras_that_was_imported_with_another_backend_says_so(keras_home):
    code = _write_keras(keras_home, backend="jax") + "; import os; os.environ['KERAS_BACKEND'] = 'tartan'; import tartan"
    done = _without_site(code, KERAS_BACKEND="jax")
    assert "uses the backend 'jax': set KERAS_BACKEND and import tartan before the first import of keras" in done.stderr
    done = _without_site(code.replace("'tartan'", "'jax'"), KERAS_BACKEND="jax")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", ["3.12.1", None])
def test_another_version_of_keras_is_answered_with_the_pip_line(keras_home, version):
    done = _with_site(_write_keras(keras_home, version), KERAS_BACKEND="tartan")
    name = version or "older than 3"
    assert done.stderr.strip().splitlines()[-1] == (
        f"ImportError: keras_tartan does not know Keras {name}, but 3.15 and 3.16: pip install \"keras>=3.15,<3.17\"")


def test_the_hook_costs_nothing_when_python_starts(keras_home):
    done = _with_site("import sys; print('keras_tartan_finder' in sys.modules, 'tartan' in sys.modules, 'numpy' in sys.modules)",
                      KERAS_HOME=str(keras_home))
    assert done.stdout.split() == ["True", "False", "False"], done.stderr
