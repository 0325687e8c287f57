# SPDX-License-Identifier: Apache-2.0
"""Tile formulas with an equivalent ONNX operator, copied verbatim from keras_tartan.src.nn.activations. Other
formulas are written operation by operation."""

from keras_tartan.src.onnx_export.elementwise import Value

_FORMULAS = {
    "O = max(X, 0.0) + log1p(exp(-abs(X)));": ("Softplus", {}),
    "O = X / (1.0 + abs(X));": ("Softsign", {}),
    "O = min(max(X / 6.0 + 0.5, 0.0), 1.0);": ("HardSigmoid", {"alpha": 1.0 / 6.0, "beta": 0.5}),
    "O = X * min(max(X / 6.0 + 0.5, 0.0), 1.0);": ("HardSwish", {}),
    "O = 1.0507009873554805 * (X > 0 ? X : 1.6732632423543772 * expm1(min(X, 0.0)));": (
        "Selu", {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}),
}
_GELU = {"O = 0.5 * X * (1.0 + erf(X * 0.7071067811865476));": {},
         "O = 0.5 * X * (1.0 + tanh(0.7978845608028654 * (X + 0.044715 * X * X * X)));": {"approximate": "tanh"}}
_FORMULAS |= {body: ("Gelu", attributes) for body, attributes in _GELU.items()}
_SINCE = {"Gelu": 20}  # minimum ONNX opset versions

TEXTS = {f"function (X) -> (O) {{ {body} }}": found for body, found in _FORMULAS.items()}


def write(step, graph, inputs):
    """Returns the value of a formula that is an operator, else None."""
    found = TEXTS.get(step.name)
    if found is None or inputs[0].dtype not in ("float16", "bfloat16", "float32"):
        return None
    operator, attributes = found
    if graph.opset < _SINCE.get(operator, 0):
        return None
    x = inputs[0].as_type("float32", graph, step)
    return Value(graph.emit(operator, [x], step.where, **attributes), "float32")
