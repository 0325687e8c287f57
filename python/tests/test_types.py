# SPDX-License-Identifier: Apache-2.0
"""Compares the stubs (*.pyi) with what python/stubs/write_stubs.py writes, and runs mypy on a program."""

import ast
import importlib
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import pytest
import tartan

_FOLDER = pathlib.Path(tartan.__file__).parent


def _loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "stubs"))
import write_stubs as stubs  # noqa: E402


@pytest.mark.parametrize("name", stubs.MODULES)
def test_a_stub_is_what_the_script_writes(name):
    text = stubs.path_of(name, _FOLDER).read_text()
    if name == "tartan.onnx_backend":
        pytest.importorskip("onnx")
    if name == "tartan._core":
        nanobind = pytest.importorskip("nanobind")
        if f"nanobind {nanobind.__version__}." not in text:
            pytest.skip("the stub was written with another version of nanobind")
        if not hasattr(tartan._core, "Ranks"):
            pytest.skip("the stub was written with MPI, which this build lacks")
    assert text == stubs.stub_of(name), "run  PYTHONPATH=build/python python python/stubs/write_stubs.py"


def _overloads():
    tree = ast.parse(stubs.path_of("tartan", _FOLDER).read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list):
            yield pytest.param(node, id=f"{node.name}-{node.lineno}")


@pytest.mark.parametrize("node", list(_overloads()))
def test_every_call_that_an_overload_allows_fits_the_function(node):
    placed = [a.arg for a in node.args.posonlyargs + node.args.args]
    inspect.signature(getattr(tartan, node.name)).bind(*placed, **{a.arg: None for a in node.args.kwonlyargs})


def test_every_public_name_is_in_a_stub():
    for name in stubs.MODULES[:-1]:
        if name == "tartan.onnx_backend":
            pytest.importorskip("onnx")
        text = stubs.path_of(name, _FOLDER).read_text()
        for public in stubs.names_of(importlib.import_module(name)):
            assert public in text, f"{name}.{public}"


def test_the_package_says_that_it_has_types():
    assert (_FOLDER / "py.typed").exists()
    files = {p.stem for p in _FOLDER.glob("*.pyi")}
    assert files == {m.partition(".")[2] or "__init__" for m in stubs.MODULES}


_PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


def test_the_program_with_types_runs():
    assert len(_loaded(_PROGRAM).main()) == 7


def test_mypy_finds_the_faults_of_a_program_and_nothing_else(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed: pip install mypy")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(_PROGRAM)],
        capture_output=True, text=True, env=dict(os.environ, MYPYPATH=str(_FOLDER.parent)))
    assert result.returncode == 0, result.stdout + result.stderr
