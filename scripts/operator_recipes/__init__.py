# SPDX-License-Identifier: Apache-2.0
"""Random attributes and operands of each operator, by family, for compare_operators.py."""

# Importing a family registers its recipes.
from . import attention, boxes, casts, control_flow, elementwise, indexing  # noqa: F401
from . import learning, legacy, losses, microsoft, microsoft_layers  # noqa: F401
from . import movement, normalization, products  # noqa: F401
from . import quantization, random_numbers, recurrent, reductions, sampling  # noqa: F401
from . import sequences, signals, text, trees, windows  # noqa: F401
from .wider import WIDER  # noqa: F401
from .draw import BFLOAT16, MICROSOFT, ML, RECIPES, TRAINING, Case  # noqa: F401
from .exceptions import EXCEPTIONS  # noqa: F401
from .other_forms import at_version, with_other_type  # noqa: F401

DOMAINS = {"": 28, ML: 5, TRAINING: 1, MICROSOFT: 1, "ai.onnx.preview": 1}
