# SPDX-License-Identifier: Apache-2.0
"""The modules of tartan and keras_tartan import each other in one direction. Imports inside functions count, too."""

import ast
import graphlib
import pathlib

import pytest

_PYTHON = pathlib.Path(__file__).parent.parent
_PACKAGES = ("tartan", "keras_tartan")


def _modules(root):
    """Maps the names of all modules to their files. A package is its `__init__.py`."""
    found = {}
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(tree, names):
    """Returns the modules that a syntax tree imports. `from package import module` imports the module alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name whole modules"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in names or whole == "tartan._core" else node.module)
    return found & set(names)


def _graph(root):
    modules = _modules(root)
    return {name: _imported(ast.parse(path.read_text(encoding="utf-8")), modules) - {name} for name, path in modules.items()}


def _circle(graph):
    """Returns the modules of a circle, each of which imports the next one, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return None


def test_no_modules_import_each_other():
    graph = _graph(_PYTHON)
    assert "tartan._tensor" in graph["tartan._primitives"] and "tartan._elementwise" in graph["tartan"]
    assert "tartan._from_onnx" in graph["tartan"] and "keras_tartan.layers" in graph["tartan._from_onnx"]  # in a function
    circle = _circle(graph)
    assert circle is None, " imports ".join(circle)


@pytest.mark.parametrize("back", ["import tartan.c", "def f():\n    from tartan import c", "from tartan.c import x as y",
                                  "if False:\n    import tartan.c as d"])
def test_a_circle_of_three_is_found(tmp_path, back):
    for name, text in {"tartan/__init__": "", "tartan/a": "from tartan import b", "tartan/b": back,
                       "tartan/c": "from tartan.a import f", "keras_tartan/__init__": "import tartan.c"}.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    circle = _circle(_graph(tmp_path))
    assert set(circle) == {"tartan.a", "tartan.b", "tartan.c"}
    (tmp_path / "tartan/c.py").write_text("import numpy")
    assert _circle(_graph(tmp_path)) is None
