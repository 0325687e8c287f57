# SPDX-License-Identifier: Apache-2.0
"""Compares the stubs (*.pyi) with the implementation (names and parameters), and runs mypy on a program."""

import ast
import enum
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
_MODULES = ["tartan", "tartan.fft", "tartan.linalg", "tartan.random", "tartan.inference", "tartan.keras", "tartan.onnx_backend",
            "tartan._core"]
# Methods created in a loop, with the parameters of the functions of the same names.
_MADE = set("sum prod mean var std min max any all argmin argmax transpose squeeze clip round".split())


def _tree(module):
    name = module.partition(".")[2] or "__init__"
    return ast.parse((_FOLDER / f"{name}.pyi").read_text(), feature_version=(3, 9))


def _module(name):
    if name == "tartan.onnx_backend":
        pytest.importorskip("onnx")
    return importlib.import_module(name)


def _is_public(name):
    return not name.startswith("_") or name in ("__array_api_version__", "__array_namespace_info__")


def _declared(body):
    """Maps a name to the nodes that declare it."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            found.setdefault(node.target.id, []).append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):  # "import x as x" is public
            for alias in node.names:
                if alias.asname is not None and alias.asname == alias.name:
                    found.setdefault(alias.asname, []).append(node)
    return found


def _names_of(module):
    """Returns the public names of a module."""
    if module is tartan:  # submodules exist only once they are imported
        return {n for n in dir(module) if _is_public(n)} - {"keras", "onnx_backend"}
    if hasattr(module, "__all__"):
        results = {n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__}
        return set(module.__all__) | results
    own = {n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__ or module.__name__ == "tartan._core"}
    return {n for n in own if _is_public(n)}


@pytest.mark.parametrize("name", _MODULES)
def test_names(name):
    declared = {n for n in _declared(_tree(name).body) if _is_public(n)}
    assert declared == _names_of(_module(name))


def _parameters(arguments):
    """Returns (name, kind, whether there is a default) for each parameter of a declaration."""
    P = inspect.Parameter
    placed = [(a.arg, P.POSITIONAL_ONLY) for a in arguments.posonlyargs] + \
        [(a.arg, P.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    first = len(placed) - len(arguments.defaults)
    result = [(name, kind, k >= first) for k, (name, kind) in enumerate(placed)]
    if arguments.vararg:
        result.append((arguments.vararg.arg, P.VAR_POSITIONAL, False))
    result += [(a.arg, P.KEYWORD_ONLY, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        result.append((arguments.kwarg.arg, P.VAR_KEYWORD, False))
    return result


def _listed(signature):
    return [(p.name, p.kind, p.default is not p.empty) for p in signature.parameters.values()]


def _check_function(nodes, function, place):
    signature = inspect.signature(function)
    if len(nodes) == 1:
        assert _parameters(nodes[0].args) == _listed(signature), place
        return
    for node in nodes:  # overloads: every call that one allows must fit the function
        assert any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list), place
        parameters = _parameters(node.args)
        keywords = {n: None for n, kind, _ in parameters if kind is inspect.Parameter.KEYWORD_ONLY}
        placed = [n for n, kind, _ in parameters if kind < inspect.Parameter.VAR_POSITIONAL]
        signature.bind(*placed, **keywords)


def _check_defaults(node, function, place):
    signature = inspect.signature(function)
    named = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(named[len(named) - len(node.args.defaults):], node.args.defaults))
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None]
    for argument, default in pairs:
        assert ast.literal_eval(default) == signature.parameters[argument.arg].default, f"{place}: {argument.arg}"


@pytest.mark.parametrize("name", [m for m in _MODULES if m != "tartan._core"])
def test_parameters_of_functions(name):
    module, checked = _module(name), 0
    for function, nodes in _declared(_tree(name).body).items():
        if isinstance(nodes[0], ast.FunctionDef) and _is_public(function):
            _check_function(nodes, getattr(module, function), f"{name}.{function}")
            if len(nodes) == 1:
                _check_defaults(nodes[0], getattr(module, function), f"{name}.{function}")
            checked += 1
    assert checked or name == "tartan.inference"


def _members_of(kind):
    """Returns the public members of a class that this package defines, including operators."""
    found = set()
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] != "tartan":
            continue
        for name, value in vars(base).items():
            is_operator = name.startswith("__") and inspect.isfunction(value)
            if not name.startswith("_") or is_operator or name == "__array_priority__":
                found.add(name)
    return found - {"__repr__", "__setattr__", "__delattr__"}


def _fields(kind):
    return set(getattr(kind, "__dataclass_fields__", ())) | set(getattr(kind, "_fields", ()))


def _classes():
    for module in _MODULES:
        for name, nodes in _declared(_tree(module).body).items():
            if isinstance(nodes[0], ast.ClassDef) and _is_public(name):
                yield module, name


@pytest.mark.parametrize("module, name", list(_classes()))
def test_members_of_classes(module, name):
    kind = getattr(_module(module), name)
    (node,) = _declared(_tree(module).body)[name]
    declared = _declared(node.body)
    if module == "tartan._core":
        assert {n for n in declared if _is_public(n)} == {n for n in vars(kind) if _is_public(n)}
        return
    if _fields(kind):
        assert set(declared) == _fields(kind)
        return
    if issubclass(kind, enum.Enum):
        values = {n.targets[0].id: ast.literal_eval(n.value) for n in node.body if isinstance(n, ast.Assign)}
        assert values == {name: member.value for name, member in kind.__members__.items()}
        return
    assert set(declared) == _members_of(kind)
    for member, nodes in declared.items():
        found = inspect.getattr_static(kind, member)
        place = f"{name}.{member}"
        if isinstance(nodes[0], ast.AnnAssign):
            continue
        decorators = {d.id for d in nodes[0].decorator_list if isinstance(d, ast.Name)}
        assert ("property" in decorators) == isinstance(found, property), place
        assert ("classmethod" in decorators) == isinstance(found, classmethod), place
        if isinstance(found, classmethod):
            _check_function(nodes, found.__func__, place)
        elif kind in (tartan.Tensor, tartan.ComplexTensor) and member in _MADE:
            wanted = _listed(inspect.signature(getattr(tartan, member)))[1:]
            assert _parameters(nodes[0].args)[1:] == wanted, place
            _check_defaults(nodes[0], getattr(tartan, member), place)
        elif inspect.isfunction(found):
            _check_function(nodes, found, place)
            _check_defaults(nodes[0], found, place)


def test_the_package_says_that_it_has_types():
    assert (_FOLDER / "py.typed").exists()
    stubs = {p.stem for p in _FOLDER.glob("*.pyi")}
    assert stubs == {m.partition(".")[2] or "__init__" for m in _MODULES}


_PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


def test_the_program_with_types_runs():
    spec = importlib.util.spec_from_file_location("typed_program", _PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    assert len(program.main()) == 7


def test_mypy_finds_the_faults_of_a_program_and_nothing_else(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed: pip install mypy")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(_PROGRAM)],
        capture_output=True, text=True, env=dict(os.environ, MYPYPATH=str(_FOLDER.parent)))
    assert result.returncode == 0, result.stdout + result.stderr
