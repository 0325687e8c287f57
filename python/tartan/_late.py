# SPDX-License-Identifier: Apache-2.0
"""The package's functions by name, for modules that these functions depend on: operators of tensors, NumPy's protocols,
rules for complex numbers. `tartan/__init__.py` fills the table after it has imported everything."""

import types

functions = types.SimpleNamespace()
