# SPDX-License-Identifier: Apache-2.0
"""Rewrites Tile functions for tartan.vmap: adds a mapped leading axis to some operands. The syntax tree is the one of
tile/lang, which tartan._core binds."""

from typing import NamedTuple, Optional

import numpy as np
from tartan._core import TileExpr, parse_tile

_OF_ELEMENTS = frozenset("""
    add sub mul div mod neg cmp_eq cmp_ne cmp_lt cmp_le cmp_gt cmp_ge bit_and bit_or bit_xor bit_not bit_left bit_right
    logical_and logical_or logical_not cond select abs sign ceil floor round trunc sqrt recip exp expm1 log log1p pow sin cos
    tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh max min fmod erf sigmoid relu isnan isinf ident mad dot16 dot8
    dot8u as_float as_bfloat as_int as_uint as_bool stop_gradient""".split())
_ALONG_AN_AXIS = frozenset(["index", "sort", "argsort", "cumsum", "cumprod"])


class Unsupported(Exception):
    """The function has a form that this file does not rewrite."""


class _Term(NamedTuple):
    """Part of an expression: its node, whether it is mapped, its sizes without the mapped one (None if unknown), and
    its number if it is a known constant."""

    expr: TileExpr
    mapped: bool = False
    shape: Optional[tuple] = ()
    number: Optional[int] = None


class _Rewriter:
    """Rewrites a function for partly mapped operands."""

    def __init__(self, function, mapped, shapes, size):
        self.function, self.size = function, TileExpr.of_number(size)
        self.dims = []
        self.terms = {}  # by name
        self.statements = []
        self.text = str(function)
        self.index = TileExpr.of_name(self._unused("v"))
        for name, dims, is_mapped, shape in zip(function.inputs, function.dims, mapped, shapes):
            self._operand(name, dims, is_mapped, shape, size)

    def _unused(self, letter):
        """Returns a name that occurs nowhere in the text."""
        number = 0
        while f"{letter}{number}" in self.text:
            number += 1
        return f"{letter}{number}"

    def _operand(self, name, dims, mapped, shape, size):
        self.terms[name] = _Term(TileExpr.of_name(name), mapped, shape)
        if dims is not None:
            if len(dims) != len(shape):
                raise Unsupported("rank")
            for dim, known in zip(dims, shape):
                if not dim.isdigit():
                    self.terms.setdefault(dim, _Term(TileExpr.of_name(dim), number=known))
            dims = [str(size), *dims] if mapped else dims
        self.dims.append(dims)

    def run(self):
        for statement in self.function.statements:
            if statement.contraction is None:
                term = self._term(statement.value)
                self.terms[statement.target] = term
                self.statements.append(statement.with_value(term.expr))
            else:
                self._contraction(statement, statement.contraction)
        if any(name not in self.terms for name in self.function.outputs):
            raise Unsupported("outputs")
        function = self.function.changed(self.dims, self.statements)
        return function, tuple(self.terms[name].mapped for name in self.function.outputs)

    # --- Expressions.

    def _term(self, expr):
        if expr.name is not None:
            if expr.name not in self.terms:
                raise Unsupported(expr.name)
            return self.terms[expr.name]._replace(expr=expr)
        if expr.function is None:
            return _Term(expr, number=expr.number if isinstance(expr.number, int) else None)
        operands = [self._term(x) for x in expr.arguments]
        if expr.function in _OF_ELEMENTS:
            return self._of_elements(expr, operands)
        if expr.function == "reshape":
            x, *sizes = operands
            numbers = [size.number for size in sizes]
            shape = None if None in numbers else tuple(numbers)
            if not x.mapped:
                return _Term(expr, False, shape)
            return _Term(expr.with_arguments([x.expr, self.size, *(s.expr for s in sizes)]), True, shape)
        shape = _along_an_axis(expr.function, operands) if expr.function in _ALONG_AN_AXIS else None
        if not any(x.mapped for x in operands):
            return _Term(expr, False, shape)
        x, *others = operands
        if expr.function in _ALONG_AN_AXIS and others and others[0].number is not None and not any(o.mapped for o in others):
            axis = TileExpr.of_number(others[0].number + (others[0].number >= 0))
            return _Term(expr.with_arguments([x.expr, axis, *(o.expr for o in others[1:])]), True, shape)
        raise Unsupported(expr.function)

    def _of_elements(self, expr, operands):
        """Aligns the operands of an elementwise operation from the right."""
        mapped = any(x.mapped for x in operands)
        known = all(x.shape is not None for x in operands)
        if mapped and not known:
            raise Unsupported(expr.function)
        try:
            shape = np.broadcast_shapes(*(x.shape for x in operands)) if known else None
        except ValueError as error:
            raise Unsupported(str(error)) from None
        aligned = [self._aligned(x, len(shape)) if x.mapped else x.expr for x in operands]
        return _Term(expr.with_arguments(aligned), mapped, shape, _number(expr.function, [x.number for x in operands]))

    def _aligned(self, x, rank):
        missing = rank - len(x.shape)
        if not missing:
            return x.expr
        sizes = [TileExpr.of_number(n) for n in [*[1] * missing, *x.shape]]
        return TileExpr.call("reshape", [x.expr, self.size, *sizes])

    # --- Contractions.

    def _contraction(self, statement, contraction):
        numbers = [self._term(size).number for size in contraction.sizes]
        shape = None if None in numbers else tuple(numbers)
        read = [name for name, _ in contraction.reads]
        default = contraction.default
        if len(numbers) != len(contraction.indices):
            raise Unsupported("sizes")
        if any(name not in self.terms for name in [*read, *([default] if default else [])]):
            raise Unsupported(statement.target)
        mapped = any(self.terms[name].mapped for name in [*read, *([default] if default else [])])
        if mapped:
            if default and not self.terms[default].mapped:
                default = self._repeated(default)
            reads = [[self.index, *indices] if self.terms[name].mapped else indices for name, indices in contraction.reads]
            statement = statement.with_contraction(contraction.changed(
                [self.index, *contraction.indices], [self.size, *contraction.sizes], reads, default))
        self.terms[statement.target] = _Term(TileExpr.of_name(statement.target), mapped, shape)
        self.statements.append(statement)

    def _repeated(self, name):
        """Returns the name of a tensor repeated along the mapped axis."""
        shape = self.terms[name].shape
        if shape is None:
            raise Unsupported(name)
        made = self._unused("Default")
        self.text += made
        indices = [f"{self.index.name}_{d}" for d in range(len(shape))]
        written = f"{', '.join([self.index.name, *indices])} : {', '.join(map(str, [self.size.number, *shape]))}"
        copy = parse_tile(f"function ({name}) -> ({made}) {{ {made}[{written}] = =({name}[{', '.join(indices)}]); }}")
        self.terms[made] = _Term(TileExpr.of_name(made), True, shape)
        self.statements += copy.statements
        return made


def _along_an_axis(name, operands):
    """Returns the result sizes of a function along an axis, without the mapped size. They equal the tensor's sizes,
    except for an argsort with a count."""
    shape = operands[0].shape
    if name != "argsort" or shape is None or len(operands) < 4 or not operands[3].number:
        return shape
    axis = operands[1].number % len(shape)
    return (*shape[:axis], operands[3].number, *shape[axis + 1 :])


def _number(function, operands):
    """Evaluates an integer operation with Tile's semantics; None if an operand is unknown."""
    if None in operands:
        return None
    if function == "neg":
        return -operands[0]
    if function in ("add", "sub", "mul"):
        a, b = operands
        return {"add": a + b, "sub": a - b, "mul": a * b}[function]
    if function == "div" and operands[1]:
        a, b = operands
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return None


def with_axis(function, mapped, shapes, size):
    """Returns the function for mapped operands, and whether each output has the mapped axis. Operands with a true
    `mapped` have a leading axis of `size` before their `shapes`. Raises Unsupported for forms that are not
    rewritten."""
    if function.has_rules or len(function.inputs) != len(shapes):
        raise Unsupported("rules or operands")
    return _Rewriter(function, mapped, shapes, size).run()


def single_call(function, inputs):
    """Returns (name, operands) if a function is a single call of its inputs and of integers, else None."""
    statements = function.statements
    if len(statements) != 1 or function.outputs != [statements[0].target] or any(d is not None for d in function.dims):
        return None
    value = statements[0].value
    if value is None or value.function is None:
        return None
    names = dict(zip(function.inputs, inputs))
    operands = [x.number if isinstance(x.number, int) else names.get(x.name) for x in value.arguments]
    return None if any(x is None for x in operands) else (value.function, operands)
