# SPDX-License-Identifier: Apache-2.0
"""Lazy tensors that are computed on an OpenCL device when their values are needed. Functions follow the array API
standard (2024.12)."""

import sys as _sys

from tartan import _loader as _loader  # first, because it loads OpenCL
from tartan._bits import *
from tartan._complex import ComplexTensor
from tartan._control import cond, scan, while_loop
from tartan._creation import (
    arange, array, asarray, astype, copy, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid,
    ones, ones_like, zeros, zeros_like)
from tartan._dtypes import (
    bfloat16, bool_, complex64, complex128, finfo, float16, float32, float64, iinfo, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
from tartan._dtypes import bool_ as bool
from tartan._elementwise import *
from tartan._explain import Explanation, explain
from tartan._from_onnx import from_onnx
from tartan._function import Function, function
from tartan._gradients import grad, gradients, recording, value_and_grad
from tartan._manipulation import *
from tartan._namespace import *
from tartan._matmul import einsum, kron, matmul, outer, tensordot, vecdot
from tartan._reductions import *
from tartan._runtime import device, list_devices, matmul_precision, set_device, set_matmul_precision
from tartan._selection import *
from tartan._tensor import ConcretizationError, MappedError, Tensor, evaluate, operator
from tartan.inference import (
    ExecutionMode, ExecutionOrder, GraphOptimizationLevel, InferenceSession, IOBinding, ModelMetadata, NodeArg, OrtValue,
    RunOptions, SessionOptions, get_all_providers, get_available_providers, get_device, set_default_logger_severity,
    set_default_logger_verbosity, set_seed)
from tartan._transforms import custom_gradient, jacobian, jvp, stop_gradient, vjp
from tartan._variable import Variable
from tartan._vmap import vmap
from tartan import _hooks as _hooks
from tartan import _complex_linalg, _complex_rules, _creation, _indexing, _late, _namespace, _selection
from tartan import distributed, fft, linalg, random

# Extends the package's functions to complex arguments.
globals().update(_complex_rules.with_rules(globals()))
vars(linalg).update(_complex_rules.with_rules({name: getattr(linalg, name) for name in linalg.__all__}, _complex_linalg.RULES))

vars(_late.functions).update(globals(), namespace=_sys.modules[__name__])

__version__ = "0.1.0"
