#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the type stubs of the package (python/tartan/*.pyi) from the package itself:

    PYTHONPATH=build/python python python/stubs/write_stubs.py

Types are the annotations of functions. Functions made in loops have none, and some have `Any` for values that convert
to a tensor, a dtype or a shape. For them, stub_tables.py gives the type by the name of the parameter. The stub
of `_core` comes from nanobind. python/tests/test_types.py compares the stubs with the output of this file."""

import ast
import dataclasses
import enum
import importlib
import inspect
import pathlib
import re

from stub_tables import (
    ALIASES, CONSTANTS, GENERIC, HEADERS, INCLUDE_NONE, MADE, MEMBERS, OF_FUNCTIONS, PARAMETERS, RETURNS, WITH_TABLES)

MODULES = ["tartan", "tartan.fft", "tartan.linalg", "tartan.random", "tartan.distributed", "tartan.inference",
           "tartan.keras", "tartan.onnx_backend", "tartan.train", "tartan._core"]
_LICENSE = "# SPDX-License-Identifier: Apache-2.0\n"
_WIDTH = 120

# --- Functions.

def _text(annotation):
    """Returns an annotation as text; None if there is none."""
    if annotation is inspect.Parameter.empty:
        return None
    if annotation is None:
        return "None"
    text = getattr(annotation, "__forward_arg__", annotation)
    if not isinstance(text, str):
        text = text.__name__ if inspect.isclass(text) and not hasattr(text, "__args__") else str(text)
    return ALIASES.get(text, text)


def _type_of(parameter, place):
    """Returns the type of a parameter of the function at `place`."""
    default = parameter.default
    if f"{place}.{parameter.name}" in OF_FUNCTIONS:
        return OF_FUNCTIONS[f"{place}.{parameter.name}"]
    written = _text(parameter.annotation)
    if written not in (None, "Any") or written and place.rpartition(".")[0] not in WITH_TABLES:
        return written
    if isinstance(default, bool):
        return "_bool"
    if parameter.name == "axis" and isinstance(default, int):
        return "int"
    found = PARAMETERS.get(parameter.name)
    if found is None and written is None and isinstance(default, (int, float, str)):
        found = type(default).__name__
    found = found or "Any"
    return f"{found} | None" if default is None and found not in INCLUDE_NONE else found


def _parts(signature, place):
    """Returns the parameters of a signature as texts."""
    result, kinds = [], inspect.Parameter
    parameters = list(signature.parameters.values())
    for number, p in enumerate(parameters):
        if p.kind is kinds.KEYWORD_ONLY and all(q.kind < kinds.VAR_POSITIONAL for q in parameters[:number]):
            result.append("*")
        stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = p.name if p.name in ("self", "cls") else f"{stars}{p.name}: {_type_of(p, place)}"
        if p.default is not p.empty:
            text += f" = {p.default!r}"
        result.append(text)
        last = number + 1 == len(parameters) or parameters[number + 1].kind is not kinds.POSITIONAL_ONLY
        if p.kind is kinds.POSITIONAL_ONLY and last:
            result.append("/")
    return result


def _definition(name, parts, returned, indent="", note=""):
    line = f"{indent}def {name}({', '.join(parts)}) -> {returned}: ...{note}"
    if len(line) <= _WIDTH:
        return line
    lines, current = [f"{indent}def {name}("], ""
    for k, part in enumerate(parts):
        piece = part + (", " if k + 1 < len(parts) else f") -> {returned}: ...{note}")
        if current and len(f"{indent}    {current}{piece}".rstrip()) > _WIDTH:
            lines.append(f"{indent}    {current}".rstrip())
            current = ""
        current += piece
    return "\n".join([*lines, f"{indent}    {current}"])


def _function(name, function, place):
    signature = inspect.signature(function)
    returned = _text(signature.return_annotation) or RETURNS.get(place, "Tensor")
    return _definition(name, _parts(signature, place), returned)


# --- Classes.

def _members_of(kind):
    """Returns the public members of a class that this package defines, including operators."""
    found = {}
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "tartan":
            for name, value in vars(base).items():
                is_operator = name.startswith("__") and inspect.isfunction(value)
                if not name.startswith("_") or is_operator or name == "__array_priority__":
                    found.setdefault(name, inspect.getattr_static(kind, name))
    return {n: v for n, v in found.items() if n not in ("__repr__", "__setattr__", "__delattr__")}


def _returned(kind, name, function):
    """Returns the type of a method's or property's value."""
    found = _text(inspect.signature(function).return_annotation)
    if kind.__name__ not in ("Tensor", "ComplexTensor"):
        return found
    if name == "at" and kind.__name__ == "ComplexTensor":
        return "Any"
    # The classes share their operators, whose annotations say Tensor.
    return (MEMBERS.get(name) or re.sub(r"\bTensor\b", "Self", found or "Self")).replace("Self", kind.__name__)


def _member(kind, name, value):
    place = f"{kind.__name__}.{name}"
    if isinstance(value, property):
        return f"    @property\n    def {name}(self) -> {_returned(kind, name, value.fget)}: ..."
    if not isinstance(value, (classmethod, staticmethod)) and not inspect.isfunction(value):
        return f"    {name}: {_attribute(kind, name)}"
    lines = [f"    @{type(value).__name__}"] if isinstance(value, (classmethod, staticmethod)) else []
    function = getattr(value, "__func__", value)
    signature = inspect.signature(function)
    if name in MADE and "Tensor" in kind.__name__:
        tartan = importlib.import_module("tartan")
        _, *others = _parts(inspect.signature(getattr(tartan, name)), name)
        parts = ["self", *others]
    else:
        parts = _parts(signature, place)
    note = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    lines.append(_definition(name, parts, _returned(kind, name, function), "    ", note))
    return "\n".join(lines)


def _attribute(kind, name):
    """Returns the type of an attribute with a slot: its annotation, or the type of its default."""
    found = kind.__dict__.get("__annotations__", {}).get(name) or MEMBERS.get(name)
    if found is None:
        found = type(getattr(kind(), name)).__name__
    return _text(found)


def _class(kind):
    name = kind.__name__
    doc = f'    """{_first_sentence(kind.__doc__)}"""' if kind.__doc__ else None
    if issubclass(kind, enum.Enum):
        body = [f"    {member} = {value.value}" for member, value in kind.__members__.items()]
        return "\n".join([f"class {name}(enum.IntEnum):", doc, "", *body])
    if hasattr(kind, "_fields"):
        return "\n".join([f"class {name}(NamedTuple):",
                          *(f"    {field}: {_text(kind.__annotations__.get(field, 'Tensor'))}" for field in kind._fields)])
    if dataclasses.is_dataclass(kind):
        fields = [f"    {f.name}: {_text(f.type)}" for f in dataclasses.fields(kind)]
        return "\n".join(["@dataclasses.dataclass(frozen=True)", f"class {name}:", doc, "", *fields])
    members = [_member(kind, n, v) for n, v in _members_of(kind).items()]
    head = f"class {name}({GENERIC[name]}):" if name in GENERIC else f"class {name}:"
    return "\n".join([head, doc, *(["", *members] if members else [])])


def _first_sentence(text):
    return re.split(r"(?<=[.])\s|:\s|;\s", " ".join(text.split()))[0].rstrip(".:;") + "."


# --- Modules.

def names_of(module):
    """Returns the public names of a module."""
    if module.__name__ == "tartan":  # submodules exist only once they are imported
        special = ("__array_api_version__", "__array_namespace_info__", "__version__")
        return {n for n in dir(module) if not n.startswith("_") or n in special} - {"keras", "onnx_backend"}
    if hasattr(module, "__all__"):
        results = {n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__}
        return set(module.__all__) | results
    return {n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__ and not n.startswith("_")}


def _of_core():
    import nanobind
    from nanobind.stubgen import StubGen

    module = importlib.import_module("tartan._core")
    stub = StubGen(module)
    stub.put(module)
    text = ast.unparse(_Complete().visit(ast.parse(stub.get())))
    heading = f"{_LICENSE}# Written by python/stubs/write_stubs.py with nanobind {nanobind.__version__}.\n"
    return (heading + re.sub(r":\n +\.\.\.(?=\n|$)", ": ...", text) + "\n").replace(
        "from typing import Annotated", "from typing import Any")


def stub_of(name):
    """Returns the text of a module's stub."""
    if name == "tartan._core":
        return _of_core()
    module = importlib.import_module(name)
    header, prefix = HEADERS[name], name.partition(".")[2]
    constants, classes, functions, imported = [], [], [], []
    is_written = set(re.findall(r"^(?:def|class) (\w+)", header, re.M))
    for public in sorted(names_of(module)):
        value = getattr(module, public)
        if public in is_written or inspect.ismodule(value):
            continue
        if inspect.isclass(value) and not _is_elsewhere(value, name):
            classes.append((value, _class(value)))
        elif name != "tartan" and callable(value) and _is_elsewhere(value, name):
            imported.append(f"from tartan import {public} as {public}")
        elif name == "tartan" and public in names_of(importlib.import_module("tartan.inference")):
            imported.append(f"from tartan.inference import {public} as {public}")
        elif callable(value):
            functions.append(_function(public, value, f"{prefix}.{public}" if prefix else public))
        else:
            constants.append(f"{public}: {CONSTANTS.get(public) or _constant(value)}")
    classes.sort(key=lambda found: len(found[0].__mro__))
    body = "\n".join([*constants, "", *(f"{text}\n" for _, text in classes), *functions])
    header = header.replace("{of_inference}", "\n".join(imported)).replace("{of_tartan}", "\n".join(imported))
    text = _LICENSE + header.lstrip("\n") + body.strip("\n") + "\n"
    return _with_bool(text) if name == "tartan" else text.replace("_bool", "bool").replace(
        "from builtins import bool as bool\n", "")


def _is_elsewhere(value, name):
    """Returns True if a value of a module is defined by another public module."""
    if inspect.isclass(value):
        return name == "tartan" and value.__module__ in ("tartan.inference", "tartan._session_options", "tartan._bindings")
    return name == "tartan.linalg" and value.__name__ in names_of(importlib.import_module("tartan"))


def _constant(value):
    return "_ElementType" if type(value).__name__ == "DType" else type(value).__name__


def _with_bool(text):
    """Returns the stub with `_bool` for the type of Python: in `tartan`, `bool` is an element type."""
    head, _, rest = text.partition("import numpy as np")
    return head + "import numpy as np" + re.sub(r"(?:(?<=[:|>,] )|(?<=\[))bool\b", "_bool", rest)


class _Complete(ast.NodeTransformer):
    """Completes a stub of nanobind: gives parameters to generic types that have none, and drops the shapes of arrays."""

    _WHOLE = {"tuple": "tuple[Any, ...]", "dict": "dict[str, Any]", "list": "list[Any]", "Sequence": "Sequence[Any]"}

    def visit_Subscript(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated":
            return self.visit(node.slice.elts[0])
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node):
        whole = self._WHOLE.get(node.id)
        return ast.parse(whole, mode="eval").body if whole and isinstance(node.ctx, ast.Load) else node

    def visit_FunctionDef(self, node):
        if node.name == "__eq__":  # as in `object`
            node.args.posonlyargs[-1].annotation = ast.Name("object", ast.Load())
        return self.generic_visit(node)

    def visit_Constant(self, node):
        return ast.Constant(" ".join(node.value.split())) if isinstance(node.value, str) and "\n" in node.value else node


def path_of(name, folder):
    return pathlib.Path(folder) / f"{name.partition('.')[2] or '__init__'}.pyi"


if __name__ == "__main__":
    for each in MODULES:
        path_of(each, pathlib.Path(__file__).parents[1] / "tartan").write_text(stub_of(each))
