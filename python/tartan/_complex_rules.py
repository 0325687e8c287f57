# SPDX-License-Identifier: Apache-2.0
"""Rules for complex arguments of the package's functions, by function name. `with_rules` returns functions that
dispatch on their arguments."""

import functools
import inspect

import numpy as np

from tartan import _complex_elements as _c
from tartan import _dtypes
from tartan._call import axes_of, axis_of, is_scalar
from tartan._complex import (
    ComplexTensor, as_complex_dtype, complex128, complex_tensor, is_complex, is_complex_dtype, part_dtype, result_dtype,
    together)
from tartan._late import functions as _tartan
from tartan._tensor import Tensor

_ELEMENTS = (
    "acos acosh add angle asin asinh atan atanh conj cos cosh divide equal exp exp2 expm1 imag isclose isfinite isinf isnan log "
    "log10 log1p log2 multiply negative not_equal positive power real reciprocal sign sin sinh sqrt square subtract tan "
    "tanh").split()
# Functions that only move or add elements; applied to the real and the imaginary part of the first argument.
_MOVED = (
    "array_split broadcast_to copy cumulative_sum diagonal expand_dims flip matrix_transpose mean moveaxis permute_dims ravel "
    "repeat reshape roll split squeeze swapaxes take take_along_axis tile trace transpose tril triu unstack").split()
_JOINED = "concat stack".split()  # of a list of tensors
_PRODUCTS = "cross kron matmul outer tensordot".split()  # bilinear


def _both(f, z, *rest, **kwargs):
    """Applies a function to the real and the imaginary parts. Lists and tuples of results become lists and tuples of
    complex tensors."""
    real, imag = f(z.real, *rest, **kwargs), f(z.imag, *rest, **kwargs)
    if isinstance(real, (list, tuple)):
        return type(real)(ComplexTensor(a, b) for a, b in zip(real, imag))
    return ComplexTensor(real, imag)


def _moved(plain):
    def rule(x, *rest, **kwargs):
        dtype = kwargs.pop("dtype", None)
        return _both(plain, complex_tensor(x, None if dtype is None else as_complex_dtype(dtype)), *rest, **kwargs)

    return rule


def _joined(plain):
    def rule(arrays, *rest, **kwargs):
        arrays = together(arrays)
        return ComplexTensor(plain([z.real for z in arrays], *rest, **kwargs), plain([z.imag for z in arrays], *rest, **kwargs))

    return rule


def _product(plain):
    def rule(x, y, /, **kwargs):
        z, w = together((x, y))
        return ComplexTensor(plain(z.real, w.real, **kwargs) - plain(z.imag, w.imag, **kwargs),
                             plain(z.real, w.imag, **kwargs) + plain(z.imag, w.real, **kwargs))

    return rule


def _vecdot(plain):
    multiplied = _product(plain)
    return lambda x, y, /, **kwargs: multiplied(_c.conj(x), y, **kwargs)


def _einsum(plain):
    def rule(subscripts, /, *operands):
        operands = together(operands)
        if len(operands) > 2:
            raise NotImplementedError(f"einsum '{subscripts}' of {len(operands)} complex tensors is not supported: combine two at a time")
        if len(operands) == 1:
            return _both(lambda part: plain(subscripts, part), operands[0])
        return _product(functools.partial(plain, subscripts))(*operands)

    return rule


def _sum(plain):
    def rule(x, /, *, axis=None, dtype=None, keepdims=False):
        return _both(plain, complex_tensor(x, dtype and as_complex_dtype(dtype)), axis=axis, keepdims=keepdims)

    return rule


def _reduce_by_halves(z):
    """Multiplies the first and the second part of the last axis elementwise until one element remains."""
    while z.shape[-1] > 1:
        half = z.shape[-1] // 2
        pairs = _c.multiply(z[..., :half], z[..., half:2 * half])
        z = _tartan.concat([pairs, z[..., 2 * half:]], axis=-1) if z.shape[-1] % 2 else pairs
    return z


def _prod(plain):
    def rule(x, /, *, axis=None, dtype=None, keepdims=False):
        z = complex_tensor(x, dtype and as_complex_dtype(dtype))
        axes = axes_of(axis, z.ndim)
        kept = [d for d in range(z.ndim) if d not in axes]
        shape = [z.shape[d] for d in kept]
        if any(z.shape[d] == 0 for d in axes):
            z = _tartan.ones([*shape, 1], dtype=z.dtype)
        else:
            count = int(np.prod([z.shape[d] for d in axes], dtype=np.int64))
            z = _reduce_by_halves(_tartan.reshape(_tartan.permute_dims(z, [*kept, *axes]), [*shape, count]))
        return _tartan.reshape(z, [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes])

    return rule


def _cumulative_prod(plain):
    def rule(x, /, *, axis=None, dtype=None, include_initial=False):
        z = complex_tensor(x, dtype and as_complex_dtype(dtype))
        if axis is None and z.ndim != 1:
            raise ValueError(f"an axis must be given for the shape {list(z.shape)}")
        at = axis_of(0 if axis is None else axis, z.ndim)
        z = _tartan.moveaxis(z, at, -1)
        step, size = 1, z.shape[-1]
        while step < size:  # multiply each element by the element `step` positions before it
            ones = _tartan.ones([*z.shape[:-1], step], dtype=z.dtype)
            z = _c.multiply(z, _tartan.concat([ones, z[..., :size - step]], axis=-1))
            step *= 2
        if include_initial:
            z = _tartan.concat([_tartan.ones([*z.shape[:-1], 1], dtype=z.dtype), z], axis=-1)
        return _tartan.moveaxis(z, -1, at)

    return rule


def _of_truth(plain):
    """Makes a rule for functions of truth values; an element is true if it is not 0."""
    def rule(*args, **kwargs):
        return plain(*[_c.is_nonzero(x) if is_complex(x) else x for x in args], **kwargs)

    return rule


def _where(plain):
    def rule(condition, x1, x2, /):
        if is_complex(condition):
            return _tartan.where(_c.is_nonzero(condition), x1, x2)
        z, w = together((x1, x2))
        return ComplexTensor(plain(condition, z.real, w.real), plain(condition, z.imag, w.imag))

    return rule


def _diff(plain):
    def rule(x, /, *, axis=-1, n=1, prepend=None, append=None):
        parts = iter(together([t for t in (x, prepend, append) if t is not None]))
        z, before, after = next(parts), *(None if t is None else next(parts) for t in (prepend, append))

        def of_part(name):
            ends = [None if t is None else getattr(t, name) for t in (before, after)]
            return plain(getattr(z, name), axis=axis, n=n, prepend=ends[0], append=ends[1])

        return ComplexTensor(of_part("real"), of_part("imag"))

    return rule


def _round(plain):
    return lambda x, /, *rest, **kwargs: _both(plain, complex_tensor(x), *rest, **kwargs)


def _several(plain):
    """Makes a rule for functions of several tensors with independent dtypes: broadcast_arrays, meshgrid."""
    def rule(*arrays, **kwargs):
        arrays = [complex_tensor(x) if is_complex(x) else x for x in arrays]
        parts = [[getattr(x, part) if isinstance(x, ComplexTensor) else x for x in arrays] for part in ("real", "imag")]
        made = zip(arrays, plain(*parts[0], **kwargs), plain(*parts[1], **kwargs))
        return [ComplexTensor(a, b) if isinstance(x, ComplexTensor) else a for x, a, b in made]

    return rule


# --- Creation functions.

def _asarray(plain):
    def rule(obj, /, dtype=None, *, device=None, copy=None):
        _tartan._creation.check_device(device)
        if dtype is not None and not is_complex_dtype(dtype):
            raise TypeError(f"complex numbers do not become {_dtypes.as_dtype(dtype)}: use tartan.real, imag or abs")
        z = complex_tensor(obj, None if dtype is None else as_complex_dtype(dtype))
        return z.__copy__() if copy and z is obj else z

    return rule


def _astype(plain):
    def rule(x, dtype, /, *, copy=True, device=None):
        if is_complex_dtype(dtype) or as_bool(dtype):
            _tartan._creation.check_device(device)
            if as_bool(dtype):
                return _c.is_nonzero(x)
            z = complex_tensor(x, as_complex_dtype(dtype))
            return z.__copy__() if copy and z is x else z
        raise TypeError(f"complex numbers do not become {_dtypes.as_dtype(dtype)}: use tartan.real, imag or abs")

    return rule


def as_bool(dtype):
    return dtype is bool or str(dtype) == "bool"


def _filled(plain):
    """Makes a rule for zeros, ones, eye and similar functions: the function computes the real parts; the imaginary
    parts are 0."""
    def rule(x, *rest, dtype=None, **kwargs):
        if isinstance(x, ComplexTensor):
            dtype, x = dtype or x.dtype, x.real
        if not is_complex_dtype(dtype):
            return plain(x, *rest, dtype=dtype, **kwargs)
        real = plain(x, *rest, dtype=part_dtype(dtype), **kwargs)
        return ComplexTensor(real, _tartan.zeros(real.shape, dtype=real.dtype))

    return rule


def _full(plain):
    def rule(shape, fill_value, *, dtype=None, device=None):
        if dtype is not None and not is_complex_dtype(dtype):
            raise TypeError(f"complex numbers do not become {_dtypes.as_dtype(dtype)}")
        value = complex_tensor(fill_value, None if dtype is None else as_complex_dtype(dtype))
        return _both(lambda part: plain(shape, part, device=device), value)

    return rule


def _full_like(plain):
    def rule(x, /, fill_value, *, dtype=None, device=None):
        if dtype is None:
            dtype = x.dtype if not is_scalar(x) else None
        return _tartan.full(x.shape, fill_value, dtype=dtype, device=device)

    return rule


def _linspace(plain):
    def rule(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
        if dtype is not None and not is_complex_dtype(dtype):
            raise TypeError(f"complex numbers do not become {_dtypes.as_dtype(dtype)}")
        dtype = as_complex_dtype(dtype) if dtype is not None else result_dtype(start, stop)
        if isinstance(start, (int, float, complex)) and isinstance(stop, (int, float, complex)):
            start, stop = complex(start), complex(stop)  # Python numbers, on the host
        else:
            start, stop = complex_tensor(start, dtype), complex_tensor(stop, dtype)
        return ComplexTensor(*(plain(a, b, num, dtype=part_dtype(dtype), device=device, endpoint=endpoint)
                               for a, b in ((start.real, stop.real), (start.imag, stop.imag))))

    return rule


# --- Types.

def _isdtype(plain):
    def rule(dtype, kind, /):
        if isinstance(kind, tuple):
            return any(_tartan.isdtype(dtype, k) for k in kind)
        if not is_complex_dtype(dtype):
            return False  # a kind that is a complex dtype
        if isinstance(kind, str) and kind in ("complex floating", "numeric"):
            return True
        return is_complex_dtype(kind) and as_complex_dtype(kind) == as_complex_dtype(dtype)

    return rule


def _result_type(plain):
    return result_dtype_of


def result_dtype_of(*given):
    """Returns the complex result dtype."""
    return result_dtype(*(getattr(x, "dtype", x) if not isinstance(x, complex) else x for x in given))


def _can_cast(plain):
    def rule(from_, to, /):
        from_ = getattr(from_, "dtype", from_)
        if not is_complex_dtype(to):
            return False
        if is_complex_dtype(from_):
            return as_complex_dtype(from_) == "complex64" or as_complex_dtype(to) == complex128
        from_ = _dtypes.as_dtype(from_)
        return from_ in _dtypes.FLOATS and (from_ != "float64" or as_complex_dtype(to) == complex128)

    return rule


def _finfo(plain):
    return lambda dtype, /: plain(part_dtype(getattr(dtype, "dtype", dtype)))


def _evaluate(plain):
    def rule(*tensors):
        plain(*[part for x in tensors for part in (x._tree_parts() if isinstance(x, ComplexTensor) else (x,))])

    return rule


# --- Sets.

def _unique(plain):
    def rule(x, /):
        z = complex_tensor(x)
        found = _tartan._selection.unique_of(z.numpy(), lambda first: _tartan.take(_tartan.ravel(z), first))
        kind = {"unique_all": lambda f: f, "unique_values": lambda f: f.values,
                "unique_counts": lambda f: _tartan._selection.UniqueCounts(f.values, f.counts),
                "unique_inverse": lambda f: _tartan._selection.UniqueInverse(f.values, f.inverse_indices)}
        return kind[plain.__name__](found)

    return rule


_MAKERS = {
    "einsum": _einsum, "vecdot": _vecdot, "sum": _sum, "prod": _prod, "cumulative_prod": _cumulative_prod, "where": _where,
    "diff": _diff, "round": _round, "broadcast_arrays": _several, "meshgrid": _several, "asarray": _asarray, "astype": _astype,
    "full": _full, "full_like": _full_like, "linspace": _linspace, "isdtype": _isdtype, "result_type": _result_type,
    "can_cast": _can_cast, "finfo": _finfo, "evaluate": _evaluate, "from_dlpack": lambda plain: lambda x, /, **kwargs: complex_tensor(x)}
_MAKERS |= dict.fromkeys("zeros ones empty eye zeros_like ones_like empty_like".split(), _filled)
_MAKERS |= dict.fromkeys("any all count_nonzero nonzero logical_and logical_or logical_xor logical_not".split(), _of_truth)
_MAKERS |= dict.fromkeys("unique_all unique_counts unique_inverse unique_values".split(), _unique)
_MAKERS |= dict.fromkeys(_MOVED, _moved) | dict.fromkeys(_JOINED, _joined) | dict.fromkeys(_PRODUCTS, _product)
_MAKERS["abs"] = lambda plain: _c.absolute
for _name in _ELEMENTS:
    _MAKERS[_name] = lambda plain, rule=getattr(_c, _name): rule
_SAME = {"array": "asarray", "concatenate": "concat", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod", "pow": "power"}


def _refused(name):
    def rule(*args, **kwargs):
        raise TypeError(f"tartan.{name} takes no complex numbers: use tartan.real, imag or abs")

    return rule


def _chooses(plain, rule):
    """Combines the function for real arguments and the complex rule into one dispatching function."""
    @functools.wraps(plain)
    def function(*args, **kwargs):
        for x in args:
            if type(x) is not Tensor and is_complex_argument(x):
                return rule(*args, **kwargs)
        for x in kwargs.values():
            if type(x) is not Tensor and is_complex_argument(x):
                return rule(*args, **kwargs)
        return plain(*args, **kwargs)

    return function


_NO_NUMBERS = (bool, int, float, slice, type(None))


def is_complex_argument(x):
    """Returns True if an argument is complex, has complex elements, or is a complex dtype."""
    if type(x) in _NO_NUMBERS:
        return False
    return is_complex(x) or (isinstance(x, (str, type, np.dtype)) and is_complex_dtype_argument(x))


def is_complex_dtype_argument(x):
    return x in ("complex64", "complex128") if isinstance(x, str) else is_complex_dtype(x)


_MODULES = {f"tartan.{name}" for name in (
    "_bits", "_call", "_creation", "_elementwise", "_manipulation", "_namespace", "_matmul", "_reductions", "_selection", "linalg")}
_REAL = {"broadcast_shapes", "__array_namespace_info__"}  # functions without numeric arguments


def _takes_numbers(name, function):
    return name in ("finfo", "evaluate") or getattr(function, "__module__", "") in _MODULES and name not in _REAL


def with_rules(namespace, rules=None):
    """Returns the functions of a namespace, extended to accept complex numbers or to reject them by name."""
    made = {}
    for name, plain in namespace.items():
        if name.startswith("_") or not inspect.isfunction(plain) or not _takes_numbers(name, plain):
            continue
        if rules is not None and name in rules:
            made[name] = _chooses(plain, rules[name])
            continue
        maker = _MAKERS.get(_SAME.get(name, name))
        made[name] = _chooses(plain, maker(plain) if maker else _refused(name))
    return made
