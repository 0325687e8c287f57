# SPDX-License-Identifier: Apache-2.0
"""Random graphs for compare_graphs.py."""

from .builder import COARSENESS, Graph, Model, Refused, coarsest, flattened, shape  # noqa: F401
from .nodes import add_node  # noqa: F401
