# SPDX-License-Identifier: Apache-2.0
"""Parses the Tile texts that the package writes: elementwise statements, contractions, functions of tensors.

Expressions are tuples: ("name", X), ("number", value), ("call", function, [arguments]). Operators are calls of the
corresponding functions in tile/lang/README.md."""

import dataclasses
import re

_TOKEN = re.compile(r"\s*(?:(\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(\d+)|([A-Za-z_]\w*)|"
                    r"(==|!=|<=|>=|<<|>>|&&|\|\||->|[-+*/%<>=!~&|^?:;,(){}\[\]]))")
_BINARY = [{"||": "logical_or"}, {"&&": "logical_and"}, {"|": "bit_or"}, {"^": "bit_xor"}, {"&": "bit_and"},
           {"==": "cmp_eq", "!=": "cmp_ne"}, {"<": "cmp_lt", ">": "cmp_gt", "<=": "cmp_le", ">=": "cmp_ge"},
           {"<<": "bit_left", ">>": "bit_right"}, {"+": "add", "-": "sub"}, {"*": "mul", "/": "div", "%": "mod"}]
_PREFIX = {"-": "neg", "~": "bit_not", "!": "logical_not"}


class NotRead(Exception):
    """The text has none of these forms."""


@dataclasses.dataclass
class Assignment:
    name: str
    value: tuple


@dataclasses.dataclass
class Contraction:
    """name[indices : sizes] = aggregation(multiplied reads), bounds. A read is (name, [indices]); indices and bounds
    are expressions."""

    name: str
    indices: list
    sizes: list
    aggregation: str
    reads: list
    bounds: list
    default: str = None


@dataclasses.dataclass
class Function:
    inputs: list
    dims: dict  # input → names or numbers of its sizes, if the text has them
    outputs: list
    statements: list


def parse(text):
    return _Parser(text).function()


class _Parser:
    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotRead(text[at:at + 20])
            real, integer, word, symbol = found.groups()
            self.tokens.append(float(real) if real else int(integer) if integer else word or symbol)
            at = found.end()
        self.at = 0

    def peek(self, *symbols):
        return self.at < len(self.tokens) and self.tokens[self.at] in symbols and isinstance(self.tokens[self.at], str)

    def take(self, symbol=None):
        if self.at >= len(self.tokens) or symbol is not None and not self.peek(symbol):
            raise NotRead(symbol)
        self.at += 1
        return self.tokens[self.at - 1]

    def listed(self, one, end):
        result = []
        while not self.peek(end):
            result.append(one())
            if not self.peek(end):
                self.take(",")
        self.take(end)
        return result

    def function(self):
        self.take("function")
        self.take("(")
        dims = {}
        inputs = self.listed(lambda: self.input(dims), ")")
        self.take("->")
        self.take("(")
        outputs = self.listed(self.name, ")")
        self.take("{")
        statements = []
        while not self.peek("}"):
            statements.append(self.statement())
        self.take("}")
        if self.at != len(self.tokens):
            raise NotRead("more than one function")
        return Function(inputs, dims, outputs, statements)

    def input(self, dims):
        name = self.name()
        if self.peek("["):
            self.take("[")
            dims[name] = self.listed(self.take, "]")
        return name

    def name(self):
        token = self.take()
        if not isinstance(token, str) or not (token[0].isalpha() or token[0] == "_"):
            raise NotRead(token)
        return token

    def statement(self):
        name = self.name()
        if self.peek("["):
            return self.contraction(name)
        self.take("=")
        value = self.expression()
        self.take(";")
        return Assignment(name, value)

    def contraction(self, name):
        self.take("[")
        indices, sizes = [], []
        while not self.peek(":", "]"):
            indices.append(self.expression())
            if not self.peek(":", "]"):
                self.take(",")
        if self.peek(":"):
            self.take(":")
            sizes = self.listed(self.expression, "]")
        else:
            self.take("]")
        self.take("=")
        aggregation = self.take()
        self.take("(")
        reads = [self.read()]
        while self.peek("*"):
            self.take("*")
            reads.append(self.read())
        self.take(")")
        bounds = []
        while self.peek(","):
            self.take(",")
            bounds.append(self.binary(7))  # the bound's "<" is not consumed
            self.take("<")
            bounds[-1] = (bounds[-1], self.binary(7))
        default = None
        if self.peek("default"):
            self.take("default")
            default = self.name()
        self.take(";")
        return Contraction(name, indices, sizes, aggregation, reads, bounds, default)

    def read(self):
        name = self.name()
        self.take("[")
        return name, self.listed(self.expression, "]")

    def expression(self):
        condition = self.binary(0)
        if not self.peek("?"):
            return condition
        self.take("?")
        yes = self.expression()
        self.take(":")
        return ("call", "cond", [condition, yes, self.expression()])

    def binary(self, level):
        if level == len(_BINARY):
            return self.prefix()
        left = self.binary(level + 1)
        while self.peek(*_BINARY[level]):
            function = _BINARY[level][self.take()]
            left = ("call", function, [left, self.binary(level + 1)])
        return left

    def prefix(self):
        if self.peek(*_PREFIX):
            function = _PREFIX[self.take()]
            operand = self.prefix()
            if function == "neg" and operand[0] == "number":
                return ("number", -operand[1])
            return ("call", function, [operand])
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if not isinstance(token, str):
            return ("number", token)
        if not (token[0].isalpha() or token[0] == "_"):
            raise NotRead(token)
        if self.peek("("):
            self.take("(")
            return ("call", token, self.listed(self.expression, ")"))
        return ("name", token)
