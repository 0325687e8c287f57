# SPDX-License-Identifier: Apache-2.0
"""Rewrites Tile texts for tartan.vmap: adds a mapped leading axis to some operands of a text (grammar:
tile/lang/README.md)."""

import re
from typing import NamedTuple, Optional

from tartan._call import broadcast_shapes

_TOKEN = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|(?P<token>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[#$]?[A-Za-z_]\w*'?|->|<<|>>|<=|>=|"
                    r"==|!=|&&|\|\||[-+*/%^&|<>=!~?:,;()\[\]{}])", re.S)
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
           ("*", "/", "%"))
_OF_ELEMENTS = frozenset("""
    add sub mul div mod neg cmp_eq cmp_ne cmp_lt cmp_le cmp_gt cmp_ge bit_and bit_or bit_xor bit_not bit_left bit_right
    logical_and logical_or logical_not cond select abs sign ceil floor round trunc sqrt recip exp expm1 log log1p pow sin cos
    tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh max min fmod erf sigmoid relu isnan isinf ident mad dot16 dot8
    dot8u as_float as_bfloat as_int as_uint as_bool inf nan stop_gradient""".split())
_ALONG_AN_AXIS = frozenset(["index", "sort", "argsort", "cumsum", "cumprod"])


class Unsupported(Exception):
    """The text has a form that this file does not rewrite."""


class _Term(NamedTuple):
    """Part of an expression: its text, whether it is mapped, its sizes without the mapped one (None if unknown), and
    its number if it is a known constant."""

    text: str
    mapped: bool = False
    shape: Optional[tuple] = ()
    number: Optional[int] = None


def _tokens(text):
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unsupported(text[at])
        at = found.end()
        if found.group("token"):
            tokens.append(found.group("token"))
    return tokens


class _Reader:
    """A stream of tokens."""

    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0

    @property
    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.next
        if not token or wanted is not None and token != wanted:
            raise Unsupported(f"{token} in place of {wanted}")
        self.at += 1
        return token

    def takes(self, *wanted):
        if self.next in wanted:
            return self.take()
        return None

    def name(self):
        if not re.match(r"[#$A-Za-z_]", self.next):
            raise Unsupported(self.next)
        return self.take()

    def until(self, closing):
        """Returns the tokens before the matching closing bracket, and consumes the bracket."""
        opening = {")": "(", "]": "["}[closing]
        taken, depth = [], 0
        while depth or self.next != closing:
            depth += (self.next == opening) - (self.next == closing)
            taken.append(self.take())
        self.take()
        return taken


def _split(tokens, separator):
    """Splits tokens at separators outside brackets; an empty list has no parts."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([") - (token in ")]")
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if tokens else []


class _Expression:
    """Parses an elementwise expression and rewrites it for mapped operands."""

    def __init__(self, tokens, names, size):
        self.reader, self.names, self.size = _Reader(tokens), names, size

    def read(self):
        term = self._choice()
        if self.reader.next:
            raise Unsupported(self.reader.next)
        return term

    def _choice(self):
        condition = self._binary(0)
        if not self.reader.takes("?"):
            return condition
        chosen = self._choice()
        self.reader.take(":")
        return self._joined("({} ? {} : {})", [condition, chosen, self._choice()])

    def _binary(self, level):
        if level == len(_LEVELS):
            return self._prefix()
        left = self._binary(level + 1)
        while self.reader.next in _LEVELS[level]:
            operator = self.reader.take()
            right = self._binary(level + 1)
            left = self._joined(f"({{}} {operator} {{}})", [left, right], _computed(left.number, operator, right.number))
        return left

    def _prefix(self):
        sign = self.reader.takes("-", "~", "!")
        if sign is None:
            return self._primary()
        if sign == "-" and self.reader.next[:1].isdigit():
            return self._number("-" + self.reader.take())
        term = self._prefix()
        number = -term.number if sign == "-" and term.number is not None else None
        return self._joined(f"({sign}{{}})", [term], number)

    def _number(self, text):
        return _Term(text, number=None if re.search(r"[.eE]", text) else int(text))

    def _primary(self):
        if self.reader.takes("("):
            term = self._choice()
            self.reader.take(")")
            return term
        if self.reader.next[:1].isdigit():
            return self._number(self.reader.take())
        name = self.reader.name()
        if not self.reader.takes("("):
            if name not in self.names:
                raise Unsupported(name)
            return self.names[name]._replace(text=name)
        operands = []
        while not self.reader.takes(")"):
            if operands:
                self.reader.take(",")
            operands.append(self._choice())
        return self._called(name, operands)

    def _called(self, name, operands):
        if name in _OF_ELEMENTS:
            return self._joined(f"{name}({', '.join(['{}'] * len(operands))})", operands)
        plain = f"{name}({', '.join(x.text for x in operands)})"
        if name == "reshape":
            sizes = [x.number for x in operands[1:]]
            shape = None if None in sizes else tuple(sizes)
            if not operands[0].mapped:
                return _Term(plain, False, shape)
            return _Term(f"reshape({', '.join([operands[0].text, str(self.size), *(x.text for x in operands[1:])])})",
                         True, shape)
        if not any(x.mapped for x in operands):
            return _Term(plain, False, _along_an_axis(name, operands) if name in _ALONG_AN_AXIS else None)
        x, *others = operands
        if name in _ALONG_AN_AXIS and others and others[0].number is not None and not any(o.mapped for o in others):
            axis = others[0].number + (others[0].number >= 0)
            return _Term(f"{name}({', '.join([x.text, str(axis), *(o.text for o in others[1:])])})", True,
                         _along_an_axis(name, operands))
        raise Unsupported(name)

    def _joined(self, form, operands, number=None):
        """Aligns the operands of an elementwise operation from the right."""
        mapped = any(x.mapped for x in operands)
        known = all(x.shape is not None for x in operands)
        if mapped and not known:
            raise Unsupported(form)
        if known:
            try:
                shape = broadcast_shapes(*(x.shape for x in operands)) if operands else ()
            except ValueError as error:
                raise Unsupported(str(error)) from None
        else:
            shape = None
        texts = [self._aligned(x, len(shape)) if x.mapped else x.text for x in operands]
        return _Term(form.format(*texts), mapped, shape, number)

    def _aligned(self, x, rank):
        missing = rank - len(x.shape)
        if not missing:
            return x.text
        sizes = [self.size, *[1] * missing, *x.shape]
        return f"reshape({', '.join([x.text, *map(str, sizes)])})"


def _along_an_axis(name, operands):
    """Returns the result sizes of a function along an axis, without the mapped size. They equal the tensor's sizes,
    except for an argsort with a count."""
    shape = operands[0].shape
    if name != "argsort" or shape is None or len(operands) < 4 or not operands[3].number:
        return shape
    axis = operands[1].number % len(shape)
    return (*shape[:axis], operands[3].number, *shape[axis + 1 :])


def _computed(a, operator, b):
    """Evaluates an integer operation with Tile's semantics; None if an operand is unknown."""
    if a is None or b is None:
        return None
    if operator in "+-*":
        return {"+": a + b, "-": a - b, "*": a * b}[operator]
    if operator == "/" and b:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return None


class _Rewriter:
    """Rewrites a text for partly mapped operands."""

    def __init__(self, text, mapped, shapes, size):
        self.tokens, self.size = _tokens(text), size
        self.given = list(zip(mapped, shapes))
        self.names = {}
        self.statements = []
        self.index = next(n for n in (f"v{k}" for k in range(len(self.tokens) + 1)) if n not in self.tokens)

    def run(self):
        reader = _Reader(self.tokens)
        reader.take("function")
        if reader.next != "(":
            reader.name()
        reader.take("(")
        operands = _split(reader.until(")"), ",")
        reader.take("->")
        reader.take("(")
        outputs = [part[0] for part in _split(reader.until(")"), ",")]
        reader.take("{")
        if len(operands) != len(self.given):
            raise Unsupported("operands")
        head = ", ".join(self._operand(part, *given) for part, given in zip(operands, self.given))
        while not reader.takes("}"):
            self._statement(reader)
        if reader.next:
            raise Unsupported("rules")
        if any(name not in self.names for name in outputs):
            raise Unsupported("outputs")
        text = f"function ({head}) -> ({', '.join(outputs)}) {{ {' '.join(self.statements)} }}"
        return text, tuple(self.names[name].mapped for name in outputs)

    def _operand(self, tokens, mapped, shape):
        reader = _Reader(tokens)
        name = reader.name()
        self.names[name] = _Term(name, mapped, shape)
        if not reader.takes("["):
            return name
        dims = [part[0] for part in _split(reader.until("]"), ",")]
        if len(dims) != len(shape):
            raise Unsupported("rank")
        for dim, size in zip(dims, shape):
            if not dim.isdigit():
                self.names.setdefault(dim, _Term(dim, number=size))
        return f"{name}[{', '.join([str(self.size), *dims] if mapped else dims)}]"

    def _statement(self, reader):
        attributes = ""
        while reader.takes("["):
            reader.take("[")
            attributes += f"[[{' '.join(reader.until(']'))}]] "
            reader.take("]")
        name = reader.name()
        tokens = []
        while not reader.takes(";"):
            tokens.append(reader.take())
        if tokens[:1] == ["="]:
            term = _Expression(tokens[1:], self.names, self.size).read()
            self.names[name] = term
            self.statements.append(f"{attributes}{name} = {term.text};")
        elif tokens[:1] == ["["]:
            self._contraction(attributes, name, _Reader(tokens[1:]))
        else:
            raise Unsupported(name)

    def _contraction(self, attributes, name, reader):
        written = reader.until("]")
        parts = [_split(part, ",") for part in _split(written, ":")] if ":" in written else []
        indices, sizes = [p for p in parts if p] or ([], [])
        reader.take("=")
        aggregation = reader.take()
        reader.take("(")
        combined, rest = reader.until(")"), reader.tokens[reader.at:]
        default = rest[rest.index("default") + 1] if "default" in rest else None
        numbers = [_Expression(part, self.names, self.size).read().number for part in sizes]
        shape = None if None in numbers else tuple(numbers)
        read = [t for t, following in zip(combined, combined[1:]) if following == "["]
        if any(t not in self.names for t in [*read, *([default] if default else [])]):
            raise Unsupported(name)
        mapped = any(self.names[t].mapped for t in [*read, *([default] if default else [])])
        out = [" ".join(part) for part in indices], [" ".join(part) for part in sizes]
        if mapped:
            out[0].insert(0, self.index)
            out[1].insert(0, str(self.size))
            if default and not self.names[default].mapped:
                rest[rest.index("default") + 1] = self._repeated(default)
        shown = f"[{', '.join(out[0])} : {', '.join(out[1])}]" if out[0] else "[]"
        self.names[name] = _Term(name, mapped, shape)
        self.statements.append(f"{attributes}{name}{shown} = {aggregation}({self._reads(combined)}){_words(rest)};")

    def _reads(self, tokens):
        written = []
        for k, token in enumerate(tokens):
            written.append(token)
            if token == "[" and self.names[tokens[k - 1]].mapped:
                written.append(self.index if tokens[k + 1] == "]" else f"{self.index},")
        return " ".join(written)

    def _repeated(self, name):
        """Returns the name of a tensor repeated along the mapped axis."""
        shape = self.names[name].shape
        if shape is None:
            raise Unsupported(name)
        made = next(n for n in (f"Default{k}" for k in range(len(self.tokens) + 1))
                    if n not in self.tokens and n not in self.names)
        indices = [f"{self.index}_{d}" for d in range(len(shape))]
        self.names[made] = _Term(made, True, shape)
        self.statements.append(f"{made}[{', '.join([self.index, *indices])} : {', '.join(map(str, [self.size, *shape]))}]"
                               f" = =({name}[{', '.join(indices)}]);")
        return made


def _words(tokens):
    return (" " if tokens and tokens[0] != "," else "") + " ".join(tokens)


def with_axis(text, mapped, shapes, size):
    """Returns the text for mapped operands, and whether each output has the mapped axis. Operands with a true `mapped`
    have a leading axis of `size` before their `shapes`. Raises Unsupported for forms that are not rewritten and for
    invalid texts."""
    return _Rewriter(text, mapped, shapes, size).run()


_CALL = re.compile(r"function \((\w+(?:, \w+)*)\) -> \((\w+)\) \{ \2 = (\w+)\(([^()]*)\); \}")


def single_call(text, inputs):
    """Returns (function, operands) if a text is a single call of operands and numbers, else None."""
    found = _CALL.fullmatch(text.strip())
    if found is None:
        return None
    names = dict(zip(found.group(1).split(", "), inputs))
    operands = []
    for part in found.group(4).split(", "):
        if part in names:
            operands.append(names[part])
        elif re.fullmatch(r"-?\d+", part):
            operands.append(int(part))
        else:
            return None
    return found.group(3), operands
