# SPDX-License-Identifier: Apache-2.0
from tartan import _loader as _loader  # first: it finds OpenCL
from tartan._creation import asarray, astype
from tartan._dtypes import *
from tartan._dtypes import finfo, iinfo
from tartan._elementwise import *
from tartan._function import Function, function
from tartan._gradients import grad, gradients, recording, value_and_grad
from tartan._manipulation import *
from tartan._runtime import device, list_devices, set_device
from tartan._tensor import ConcretizationError, Tensor, evaluate, operator
from tartan.inference import InferenceSession, IOBinding, NodeArg
from tartan._variable import Variable
