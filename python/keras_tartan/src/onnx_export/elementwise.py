# SPDX-License-Identifier: Apache-2.0
"""Writes elementwise formulas as ONNX nodes with Tile's dtype rules: 16-bit floats compute in float32, and constants
in the text take the dtype of the other operand."""

import dataclasses
import math

from tartan import _dtypes


@dataclasses.dataclass
class Value:
    """A value of the graph, or a number without a dtype, whose name is None."""

    name: str
    dtype: str
    number: object = None

    def as_type(self, dtype, graph, step):
        """Returns the name of the value converted to another dtype."""
        if self.name is None:
            return graph.scalar(self.number, dtype)
        return self.name if self.dtype == dtype else graph.cast(self.name, dtype, step.where)


_UNARY = {"neg": "Neg", "abs": "Abs", "sign": "Sign"}
_OF_FLOATS = {"ceil": "Ceil", "floor": "Floor", "round": "Round", "sqrt": "Sqrt", "recip": "Reciprocal", "exp": "Exp",
              "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
              "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
              "erf": "Erf", "sigmoid": "Sigmoid"}
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "pow": "Pow"}
_COMPARE = {"cmp_eq": "Equal", "cmp_lt": "Less", "cmp_gt": "Greater", "cmp_le": "LessOrEqual",
            "cmp_ge": "GreaterOrEqual"}
_LOGIC = {"logical_and": "And", "logical_or": "Or"}
_BITS = {"bit_and": "And", "bit_or": "Or", "bit_xor": "Xor"}


class Elements:
    """Writes expressions over the names in `scope`."""

    def __init__(self, step, graph, scope):
        self.step, self.graph, self.scope = step, graph, scope

    def value(self, expression):
        if expression.number is not None:
            return Value(None, "float32" if isinstance(expression.number, float) else "int32", expression.number)
        if expression.name is not None:
            if expression.name not in self.scope:
                raise self.step.refused(f"'{expression.name}' is not a value")
            return self.scope[expression.name]
        function, arguments = expression.function, [self.value(a) for a in expression.arguments]
        handler = getattr(self, f"_{function}", None)
        if handler is not None:
            return handler(*arguments)
        for table, write in ((_UNARY, self._unary), (_OF_FLOATS, self._of_floats), (_BINARY, self._binary),
                             (_COMPARE, self._compare), (_LOGIC, self._logic), (_BITS, self._bitwise)):
            if function in table:
                return write(table[function], *arguments)
        if function == "prng":
            raise self.step.refused("it draws random numbers")
        raise self.step.refused(f"the function '{function}' of Tile is not supported")

    # --- Types.

    def _emit(self, op, inputs, dtype, **attributes):
        return Value(self.graph.emit(op, inputs, self.step.where, **attributes), dtype)

    def _common(self, *values):
        """Returns the common dtype of an operation's operands."""
        strong = [v.dtype for v in values if v.name is not None]
        weak = [v for v in values if v.name is None]
        result = strong[0] if strong else "float32" if any(v.dtype == "float32" for v in weak) else "int32"
        for dtype in strong[1:]:
            result = _promoted(result, dtype)
        if strong and any(v.dtype == "float32" for v in weak) and not _dtypes.is_float(result):
            result = "float32"
        if strong and weak and result == "bool" and any(not isinstance(v.number, bool) for v in weak):
            result = "int32"
        return "float32" if result in ("float16", "bfloat16") else result

    def _names(self, dtype, *values):
        return [v.as_type(dtype, self.graph, self.step) for v in values]

    def _float(self, x):
        """Returns the value converted to a float dtype for computation."""
        dtype = x.dtype if x.dtype in ("float32", "float64") else "float32"
        return self._names(dtype, x)[0], dtype

    # --- Operations.

    def _unary(self, op, x):
        dtype = self._common(x)
        if dtype in _dtypes.UNSIGNED and op == "Neg":
            return self._binary("Sub", Value(None, "int32", 0), x)
        return self._emit(op, self._names(dtype, x), dtype)

    def _of_floats(self, op, x):
        name, dtype = self._float(x)
        return self._emit(op, [name], dtype)

    def _binary(self, op, a, b):
        dtype = self._common(a, b)
        return self._emit(op, self._names(dtype, a, b), dtype)

    def _compare(self, op, a, b):
        dtype = self._common(a, b)
        if dtype == "bool" and op != "Equal":
            dtype = "int32"
        return self._emit(op, self._names(dtype, a, b), "bool")

    def _cmp_ne(self, a, b):
        return self._emit("Not", [self._compare("Equal", a, b).name], "bool")

    def _logic(self, op, a, b):
        return self._emit(op, self._names("bool", a, b), "bool")

    def _logical_not(self, x):
        return self._emit("Not", self._names("bool", x), "bool")

    def _bitwise(self, op, a, b):
        dtype = self._common(a, b)
        if dtype == "bool":
            return self._emit(op, self._names(dtype, a, b), dtype)
        if self.graph.opset < 18:
            raise self.step.refused("bit operations need opset_version=18")
        return self._emit(f"Bitwise{op}", self._names(dtype, a, b), dtype)

    def _bit_not(self, x):
        dtype = self._common(x)
        if dtype != "bool" and self.graph.opset < 18:
            raise self.step.refused("bit operations need opset_version=18")
        return self._emit("Not" if dtype == "bool" else "BitwiseNot", self._names(dtype, x), dtype)

    def _shifted(self, direction, a, b):
        dtype = self._common(a, b)
        if dtype in _dtypes.UNSIGNED:
            return self._emit("BitShift", self._names(dtype, a, b), dtype, direction=direction)
        if direction == "RIGHT":
            raise self.step.refused("right shifts of signed integers are not supported")
        unsigned = f"u{dtype}"
        shifted = self._emit("BitShift", self._names(unsigned, Value(self._names(dtype, a)[0], dtype), b), unsigned,
                             direction=direction)
        return Value(self._names(dtype, shifted)[0], dtype)

    def _bit_left(self, a, b):
        return self._shifted("LEFT", a, b)

    def _bit_right(self, a, b):
        return self._shifted("RIGHT", a, b)

    def _mod(self, a, b):
        dtype = self._common(a, b)
        if _dtypes.is_float(dtype):
            raise self.step.refused("'%' of floats is not supported")
        return self._emit("Mod", self._names(dtype, a, b), dtype)

    def _fmod(self, a, b):
        dtype = self._common(a, b)
        return self._emit("Mod", self._names(dtype, a, b), dtype, fmod=1)

    def _cond(self, condition, yes, no):
        dtype = self._common(yes, no)
        return self._emit("Where", self._names("bool", condition) + self._names(dtype, yes, no), dtype)

    def _mad(self, a, b, c):
        return self._binary("Add", self._binary("Mul", a, b), c)

    def _relu(self, x):
        return self._binary("Max", x, Value(None, "int32", 0))

    def _ident(self, x):
        return x

    def _stop_gradient(self, x):
        return x

    def _isnan(self, x):
        return self._emit("IsNaN", [self._float(x)[0]], "bool")

    def _isinf(self, x):
        return self._emit("IsInf", [self._float(x)[0]], "bool")

    def _trunc(self, x):
        name, dtype = self._float(x)
        below = self._compare("Less", Value(name, dtype), Value(None, "int32", 0))
        up, down = self._of_floats("Ceil", Value(name, dtype)), self._of_floats("Floor", Value(name, dtype))
        return self._cond(below, up, down)

    # --- Functions that ONNX lacks, from others, with full accuracy near 0.

    def _expm1(self, x):
        name, dtype = self._float(x)
        x = Value(name, dtype)
        half = self._of_floats("Tanh", self._binary("Mul", x, Value(None, "float32", 0.5)))
        return self._binary("Mul", half, self._binary("Add", self._of_floats("Exp", x), Value(None, "float32", 1.0)))

    def _log1p(self, x):
        name, dtype = self._float(x)
        x, one, two = Value(name, dtype), Value(None, "float32", 1.0), Value(None, "float32", 2.0)
        is_small = self._compare("Less", self._unary("Abs", x), Value(None, "float32", 0.5))
        share = self._of_floats("Atanh", self._binary("Div", x, self._binary("Add", x, two)))
        return self._cond(is_small, self._binary("Mul", share, two), self._of_floats("Log", self._binary("Add", x, one)))

    def _atan2(self, y, x):
        dtype = self._common(y, x)
        dtype = dtype if _dtypes.is_float(dtype) else "float32"
        y, x = (Value(name, dtype) for name in self._names(dtype, y, x))
        zero, pi = Value(None, "int32", 0), Value(None, "float32", math.pi)
        is_left, is_below = self._compare("Less", x, zero), self._compare("Less", y, zero)
        pi = Value(self._names(dtype, pi)[0], dtype)
        turn = self._cond(is_below, self._unary("Neg", pi), pi)
        angle = self._of_floats("Atan", self._binary("Div", y, x))
        angle = self._cond(is_left, self._binary("Add", angle, turn), angle)
        is_zero = self._logic("And", self._compare("Equal", y, zero), self._compare("Equal", x, zero))
        return self._cond(is_zero, zero, angle)

    # --- Casts.

    def _as(self, x, dtype):
        return Value(self._names(dtype, x)[0], dtype)

    def _as_float(self, x, bits):
        return self._as(x, f"float{bits.number}")

    def _as_int(self, x, bits):
        return self._as(x, f"int{bits.number}")

    def _as_uint(self, x, bits):
        return self._as(x, f"uint{bits.number}")

    def _as_bfloat(self, x):
        return self._as(x, "bfloat16")

    def _as_bool(self, x):
        return self._as(x, "bool")


def _promoted(a, b):
    """Tile's promotion: signed and unsigned of equal width give the signed type."""
    for family in (_dtypes.FLOATS, _dtypes.SIGNED + _dtypes.UNSIGNED):
        if a in family or b in family:
            if a not in family or b not in family:
                return a if a in family else b
            bits = {d: _dtypes.BITS[_dtypes.ALL[d]] for d in (a, b)}
            if bits[a] != bits[b]:
                return a if bits[a] > bits[b] else b
            return "float32" if {a, b} == {"float16", "bfloat16"} else a if a in _dtypes.SIGNED else b
    return "bool"
