# SPDX-License-Identifier: Apache-2.0
"""Lazy tensors, the results of operations. Pending operations are compiled as one program when a value is needed;
tensors with the same structure share the program."""

import threading
import weakref

import numpy as np

from tartan import _core, _dtypes, _held, _numpy_protocol, _runtime
from tartan._messages import without_place
from tartan._operators import Operators

# A chain of pending operations is computed when it reaches this depth.
_MOST_PENDING = 400


class _State(threading.local):
    recording = 0  # number of active recordings for gradients
    assigned = []  # weak references to tensors with assigned elements since the last recording began
    trace = None  # the function being captured (_function._Trace)
    levels = ()  # active tartan.vmap calls (_batching.Level), the innermost last
    rules = None  # custom derivative rules (_gradients._Rule), the latest last
    notes = None  # observer of all operations: add(text or operator, inputs, results, attributes or None, domain)
    has_open_sizes = False  # known positions beyond a bound are no error, as they follow an unknown size


state = _State()


class Tensor(Operators):
    """An n-dimensional array on the device. Operations return new tensors and are computed lazily.

    Created by `tartan.asarray` and by operations. `numpy()`, `float()`, `int()`, `bool()`, `tolist()` and `repr`
    compute values. In a function that is being captured (`tartan.function`) there are none, and they raise
    `ConcretizationError`."""

    __slots__ = ("_value", "_host", "_depth", "_home", "__weakref__")
    __array_priority__ = 1000
    _is_mapped = False  # mapped by tartan.vmap

    def __init__(self, value, depth=0):
        self._value = value
        self._host = None
        self._depth = depth
        trace = self._home = state.trace  # the capture in which it was made
        if depth and trace is None and not state.recording:
            _held.note(self)

    @property
    def shape(self):
        """The sizes of the dimensions, a tuple."""
        return self._value.shape

    @property
    def dtype(self):
        """The element type, a tartan dtype."""
        return _dtypes.ALL[self._value.dtype]

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        size = 1
        for dim in self.shape:
            size *= dim
        return size

    @property
    def device(self):
        """The name of the device in use."""
        return _runtime.device().info["name"]

    @property
    def is_traced(self):
        """Returns True if there is no value because a function is being captured. Does not compute anything."""
        if self._host is not None or self._value.known is not None:
            return False
        return self._value.depends_on_open_placeholder

    @classmethod
    def _of(cls, x):
        """Returns another tensor's value as a tensor of this class."""
        if x._kind is cls:
            return x
        made = cls(x._value, x._depth)
        made._host, made._home = x._host, x._home
        return made

    def _as_operand(self):
        """Returns the tensor as the package's functions see it: instances of subclasses, whose operators have other
        rules, become plain tensors."""
        return self

    def _another(self):
        copied = self._kind(self._value, self._depth)
        copied._host = self._host
        return copied

    def _note_depth(self):
        if self._depth and state.trace is None and not state.recording:
            _held.note(self)

    def _take(self, made):
        self._value, self._host, self._depth = made._value, made._host, made._depth
        self._note_depth()

    def _rebind(self, made):
        """Gives this tensor the value of another one: assignment to elements."""
        if made._is_mapped:
            raise MappedError(
                "what tartan.vmap maps is assigned to elements of a tensor that is not mapped, and has one value: use "
                "x = x.at[index].set(value)")
        if state.trace is not None and getattr(self, "_home", None) is not state.trace:
            raise RuntimeError("elements are assigned to of a tensor from around the function that is captured, which would keep "
                               "a value that there is only within: return x.at[index].set(value), or use a tartan.Variable")
        if state.recording:
            state.assigned.append(weakref.ref(self))
        self._take(made)

    def host(self):
        """Returns the values as a HostTensor; computes them if necessary."""
        if self._host is None:
            evaluate(self)
        return self._host

    def numpy(self):
        """Returns the values as a read-only NumPy array, without a copy."""
        host = self.host()
        return host.bytes().view(_dtypes.numpy_dtype(self.dtype)).reshape(host.shape)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Dispatches ufuncs: numpy.sin(tensor) calls tartan.sin. TypeError if the package has no such function."""
        return _numpy_protocol.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        """Dispatches NumPy functions: numpy.sum(tensor, axis=1) calls tartan.sum. TypeError if the package has no
        such function."""
        return _numpy_protocol.function(func, args, kwargs)

    def __copy__(self):
        return self._another()

    def __deepcopy__(self, memo):
        return self._another()

    def __reduce__(self):
        """Pickles the values. ConcretizationError if there are none."""
        return _restored, (self._kind, np.array(self.numpy()))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Exports a copy in CPU memory. BufferError for another device, or if copying is not allowed."""
        return exported(self.numpy().copy(), dl_device, copy)

    def __dlpack_device__(self):
        return (1, 0)

    def item(self, *position):
        """Returns an element as a Python number."""
        return self.numpy().item(*position)

    def tolist(self):
        """Returns the values as nested lists of Python numbers."""
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
            raise TypeError("only integer tensors without dimensions can be used as an index")
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


Tensor._kind = Tensor  # the class of results computed from a tensor


class ConcretizationError(RuntimeError):
    """A value was requested while a function is captured, when there is none."""


class MappedError(ConcretizationError):
    """A value of a tensor mapped by tartan.vmap was requested; there is one per element."""


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
                "the value of a tensor was requested while a function is captured (tartan.function, fit, a "
                "loop's body): use operations of tartan on it, or run the function without capturing it")
    becomes_leaf = not state.recording and state.trace is None
    _compute(wanted, _held.sharing_with(wanted) if becomes_leaf else [], becomes_leaf)


def _compute(wanted, others, becomes_leaf):
    """Computes tensors, together with others that are not computed if there is an error."""
    by_value = {}  # equal tensors are computed once
    for tensor in wanted + others:
        by_value.setdefault(tensor._value, []).append(tensor)
    try:
        hosts = _runtime.eager().evaluate(list(by_value))
    except (ValueError, IndexError) as error:
        if not others:
            raise without_place(error) from None
        return _compute(wanted, [], becomes_leaf)
    for equal, host in zip(by_value.values(), hosts):
        leaf = _core.Value.leaf(host) if becomes_leaf else None
        for tensor in equal:
            tensor._host = host
            if leaf is not None:
                tensor._value, tensor._depth = leaf, 0


def another(x):
    """Returns a separate object with the same value, so that assignments to its elements do not affect x."""
    return x._another()


def exported(array, device, copy):
    """Returns a DLPack capsule of an array without other owners."""
    if copy is False:
        raise BufferError("a tensor is immutable and does not share its memory: it can only be exported as a copy")
    if device not in (None, (1, 0)):
        raise BufferError(f"a tensor can be exported only to the CPU, (1, 0), not to {device}")
    return array.__dlpack__()


def _restored(kind, array):
    """Restores a tensor of a class from a pickle."""
    return kind._of(from_numpy(array))


def to_host(array, copy=True):
    """Returns a HostTensor with the values of a NumPy array."""
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    shape = list(array.shape)  # ascontiguousarray adds a dimension to a scalar
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return _core.HostTensor(flat, str(_dtypes.of_numpy(array.dtype)), shape, copy)


def from_numpy(array, copy=True):
    """Returns a tensor with the values of a NumPy array."""
    return from_host(to_host(array, copy))


def from_host(host, value=None):
    """Returns a tensor with the values of a HostTensor. `value` has them already."""
    tensor = Tensor(_core.Value.leaf(host) if value is None else value)
    tensor._host = host
    return tensor


_scalars = {}


def constant(scalar, dtype):
    """Returns a scalar that is a constant of the program."""
    is_plain = scalar and type(scalar) in (int, float)  # zeros have signs
    key = (type(scalar), scalar if is_plain else str(scalar), dtype)
    found = _scalars.get(key)
    if found is None:
        host = to_host(np.asarray(scalar).astype(_dtypes.numpy_dtype(dtype)))
        if len(_scalars) > 10000:
            _scalars.clear()
        found = _scalars[key] = (_core.Value.constant(host), host)
    return from_host(found[1], found[0])


def constant_array(array):
    """Returns a small array that is a constant of the program: axes, sizes, or indices that decide shapes."""
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


def _mapped(inputs):
    """Returns an input mapped by tartan.vmap, whose class has the batching rules (_batching.Batched)."""
    return next(t for t in inputs if t is not None and t._is_mapped)


def tile(text, *inputs, name="", refuses_infeasible=False):
    """Applies a Tile function, a text or a tree of `_core.parse_tile`, to tensors. Returns a list with one tensor per
    output. With `refuses_infeasible`, a constraint that no index satisfies is an error."""
    try:
        values = [t._value for t in inputs]
    except MappedError:
        return _mapped(inputs)._tile(text, inputs, name)
    results = _made(_core.apply_tile(text, values, name, refuses_infeasible), inputs)
    if state.notes is not None:
        state.notes.add(str(text), inputs, results, None, "")
    return results


def tiles(text, *inputs, function=""):
    """Applies a Tile function of the package. Errors begin with the name of the function."""
    try:
        return tile(text, *inputs)
    except ValueError as error:
        raise without_place(error, function) from None


def tile1(text, *inputs, function=""):
    """Applies a Tile function with one output. Errors begin with the name of the function."""
    try:
        return tile(text, *inputs)[0]
    except ValueError as error:
        raise without_place(error, function) from None


def operator(name, inputs, outputs=1, domain="", opset=0, **attributes):
    """Applies an ONNX operator; None among `inputs` is an omitted input. Attributes are ints, floats, strings, lists
    of these, or NumPy arrays. Returns a tensor, or a list if `outputs` is not 1.

    Operands that decide shapes must be constants (`constant_array`); otherwise their values are computed now."""
    try:
        given = [None if t is None else t._value for t in inputs]
    except MappedError:
        return _mapped(inputs)._operator(name, inputs, outputs, domain, opset, attributes)
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
    try:
        values = _core.apply_operator(name, given, listed, outputs, domain, opset, _runtime.eager())
    except (ValueError, IndexError, NotImplementedError) as error:
        raise without_place(error) from None
    results = _made(values, inputs)
    if state.notes is not None:
        state.notes.add(name, inputs, results, dict(listed), domain)
    return results[0] if outputs == 1 else results
