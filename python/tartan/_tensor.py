# SPDX-License-Identifier: Apache-2.0
"""Lazy tensors: what operations give. Nothing is computed before somebody asks for a value; what was gathered
until then is compiled as one program, which tensors of the same form share."""

import threading

import numpy as np

from tartan import _core, _dtypes, _runtime
from tartan._operators import Operators

# A chain of operations that nobody asked for is computed once it is so deep.
_MOST_PENDING = 400


class _State(threading.local):
    recording = 0  # calls of functions that derive gradients
    assigned = []  # weak references to tensors whose elements were assigned to since the last recording began
    trace = None  # the function that is being captured (_function.Trace)
    levels = ()  # calls of functions that tartan.vmap maps (_batching.Level), the innermost last
    rules = None  # derivatives that functions bring themselves (_gradients.Rule), the latest last
    notes = None  # who is told of every operation: add(text or operator, inputs, results, attributes or None, domain)


state = _State()


class Tensor(Operators):
    """An n-dimensional array on the device. Operations give other tensors and compute nothing yet.

    Made by `tartan.asarray` and by operations. `numpy()`, `float()`, `int()`, `bool()`, `tolist()` and `repr`
    ask for values; in a function that is being captured (`tartan.function`) they raise
    `ConcretizationError`, as there are none then."""

    __slots__ = ("_value", "_host", "_depth", "_home", "__weakref__")
    __array_priority__ = 1000
    _is_mapped = False  # by tartan.vmap

    def __init__(self, value, depth=0):
        self._value = value
        self._host = None
        self._depth = depth
        self._home = state.trace  # where it was made

    @property
    def shape(self):
        return self._value.shape

    @property
    def dtype(self):
        return _dtypes.ALL[self._value.dtype]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        size = 1
        for dim in self.shape:
            size *= dim
        return size

    @property
    def device(self):
        return _runtime.device().info["name"]

    @property
    def is_traced(self):
        """Whether it has no value because a function is being captured; asks for nothing."""
        if self._host is not None or self._value.known is not None:
            return False
        return any(p.is_placeholder for p in _core.placeholders([self._value]))

    @classmethod
    def _of(cls, x):
        """Another tensor as one of this class, with the same value."""
        if x._kind is cls:
            return x
        made = cls(x._value, x._depth)
        made._host, made._home = x._host, x._home
        return made

    def _as_operand(self):
        """What the package's functions take it for: classes derived from this one, whose operators have other rules,
        are plain tensors there."""
        return self

    def _another(self):
        copied = self._kind(self._value, self._depth)
        copied._host = self._host
        return copied

    def host(self):
        """Its values as a HostTensor: computed now, where they were not."""
        if self._host is None:
            evaluate(self)
        return self._host

    def numpy(self):
        """Its values as a NumPy array, read-only and not copied."""
        host = self.host()
        return host.bytes().view(_dtypes.numpy_dtype(self.dtype)).reshape(host.shape)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """numpy.sin(tensor) is tartan.sin(tensor), and so on. TypeError where the package has no such function."""
        from tartan import _numpy_protocol

        return _numpy_protocol.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        """numpy.sum(tensor, axis=1) is tartan.sum(tensor, axis=1), and so on. TypeError where the package has no such
        function."""
        from tartan import _numpy_protocol

        return _numpy_protocol.function(func, args, kwargs)

    def __copy__(self):
        return self._another()

    def __deepcopy__(self, memo):
        return self._another()

    def __reduce__(self):
        """Pickles hold the values. ConcretizationError where there are none."""
        return _restored, (self._kind, np.array(self.numpy()))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A copy in the memory of the CPU. BufferError for another device, or where no copy is allowed."""
        return exported(self.numpy().copy(), dl_device, copy)

    def __dlpack_device__(self):
        return (1, 0)

    def item(self, *position):
        return self.numpy().item(*position)

    def tolist(self):
        return self.numpy().tolist()

    def __bool__(self):
        return bool(self.numpy())

    def __int__(self):
        return int(self.numpy())

    def __float__(self):
        return float(self.numpy())

    def __complex__(self):
        return complex(self.numpy())

    def __index__(self):
        if not (_dtypes.is_integer(self.dtype) and self.shape == ()):
            raise TypeError("only integers without dimensions are indices")
        return int(self.numpy())

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __format__(self, spec):
        return format(self.item() if spec and self.size == 1 else str(self), spec)

    def __repr__(self):
        if self.is_traced:
            return f"<tartan.Tensor {self.dtype}{list(self.shape)}, traced>"
        return f"tartan.Tensor({np.array2string(self.numpy(), separator=', ')}, dtype={self.dtype})"


Tensor._kind = Tensor  # the class of what is computed from one


class ConcretizationError(RuntimeError):
    """A value was asked for while a function is captured, where there is none."""


class MappedError(ConcretizationError):
    """A value was asked for of a tensor that tartan.vmap maps: there is one for each element."""


def evaluate(*tensors):
    """Computes the values of tensors now, together."""
    wanted = []
    for tensor in tensors:
        if tensor._host is None:
            known = tensor._value.known
            if known is None:
                wanted.append(tensor)
            else:
                tensor._host = known
    if not wanted:
        return
    for placeholder in _core.placeholders([t._value for t in wanted]):
        if placeholder.is_placeholder:
            raise ConcretizationError(
                "the value of a tensor was asked for while a function is captured (tartan.function, fit, a "
                "loop's body): use operations of tartan on it, or run the function without capturing it")
    hosts = _runtime.eager().evaluate([t._value for t in wanted])
    for tensor, host in zip(wanted, hosts):
        tensor._host = host
        if not state.recording and state.trace is None:
            tensor._value = _core.Value.leaf(host)
            tensor._depth = 0


def another(x):
    """The same value in an object of its own, which assignments to elements change alone."""
    return x._another()


def exported(array, device, copy):
    """A capsule of DLPack for an array that nobody else has."""
    if copy is False:
        raise BufferError("a tensor is a value, which whoever shares its memory could change: it is exported as a copy")
    if device not in (None, (1, 0)):
        raise BufferError(f"a tensor is exported to the CPU, (1, 0), not to {device}")
    return array.__dlpack__()


def _restored(kind, array):
    """A tensor of a class, from a pickle."""
    return kind._of(from_numpy(array))


def to_host(array, copy=True):
    """A HostTensor of a NumPy array."""
    array = np.asarray(array)
    dtype = _dtypes.as_dtype(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    shape = list(array.shape)  # ascontiguousarray gives a scalar a dimension
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return _core.HostTensor(flat, str(dtype), shape, copy)


def from_numpy(array, copy=True):
    host = to_host(array, copy)
    tensor = Tensor(_core.Value.leaf(host))
    tensor._host = host
    return tensor


_scalars = {}


def constant(scalar, dtype):
    """A scalar that becomes a part of the program."""
    key = (type(scalar), str(scalar), dtype)
    found = _scalars.get(key)
    if found is None:
        host = to_host(np.asarray(scalar).astype(_dtypes.numpy_dtype(dtype)))
        if len(_scalars) > 10000:
            _scalars.clear()
        found = _scalars[key] = (_core.Value.constant(host), host)
    tensor = Tensor(found[0])
    tensor._host = found[1]
    return tensor


def constant_array(array):
    """A small array that becomes a part of the program: axes, sizes, indices that decide shapes."""
    return Tensor(_core.Value.constant(to_host(array)))


def _made(values, inputs):
    depth, kind = 0, Tensor
    for t in inputs:
        if t is not None:
            if t._depth > depth:
                depth = t._depth
            if t._kind is not Tensor:
                kind = t._kind
    depth += 1
    results = [kind(value, depth) for value in values]
    if depth > _MOST_PENDING and not state.recording and state.trace is None:
        evaluate(*results)
    return results


def tile(text, *inputs, name="", refuses_infeasible=False):
    """Applies a function of Tile to tensors; a list with one tensor for each output. With `refuses_infeasible` a
    constraint that no index satisfies is an error."""
    try:
        values = [t._value for t in inputs]
    except MappedError:
        from tartan import _batching

        return _batching.tile(text, inputs, name)
    results = _made(_core.apply_tile(text, values, name, refuses_infeasible), inputs)
    if state.notes is not None:
        state.notes.add(text, inputs, results, None, "")
    return results


def tile1(text, *inputs):
    """The same for a function of one output."""
    return tile(text, *inputs)[0]


def operator(name, inputs, outputs=1, domain="", opset=0, **attributes):
    """Applies an operator of ONNX; None among `inputs` is one that is left out. Attributes are ints, floats,
    strings, lists of them, or NumPy arrays. A tensor, or a list where `outputs` is not 1.

    Operands that decide shapes are constants (`constant_array`), or their values are computed now."""
    try:
        given = [None if t is None else t._value for t in inputs]
    except MappedError:
        from tartan import _batching

        return _batching.operator(name, inputs, outputs, domain, opset, attributes)
    listed = []
    for key, value in attributes.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = int(value)
        if isinstance(value, np.ndarray):
            value = to_host(value)
        elif isinstance(value, (tuple, list)):
            value = [v.item() if isinstance(v, np.generic) else v for v in value]
        listed.append((key, value))
    values = _core.apply_operator(
        name, given, listed, outputs, domain, opset, _runtime.eager())
    results = _made(values, inputs)
    if state.notes is not None:
        state.notes.add(name, inputs, results, dict(listed), domain)
    return results[0] if outputs == 1 else results
