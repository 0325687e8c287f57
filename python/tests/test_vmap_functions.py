# SPDX-License-Identifier: Apache-2.0
"""Every function of the package under tartan.vmap: results and derivatives equal those of each element, stacked."""

import itertools

import numpy as np
import pytest
import tartan
from tartan import _batching, linalg, random
from vmap_cases import CASES

N = 3  # number of mapped elements

# Names that do not map tensors to tensors, or that need values; the latter are tested below.
_OTHERS = set("""ConcretizationError Explanation Function IOBinding InferenceSession MappedError NodeArg Tensor UniqueAll
    UniqueCounts UniqueInverse Variable arange bfloat16 bool bool_ broadcast_shapes can_cast device e empty evaluate
    explain eye finfo float16 float32 float64 from_onnx function grad gradients iinfo inf inference int16 int32 int64 int8
    distributed isdtype linalg list_devices nan newaxis ones operator pi random recording result_type set_device
    matmul_precision set_matmul_precision train uint16 uint32 uint64 uint8 value_and_grad vmap zeros keras onnx_backend nonzero unique_all unique_counts unique_inverse unique_values
    ComplexTensor complex64 complex128 fft custom_gradient jacobian jvp vjp ExecutionMode ExecutionOrder
    GraphOptimizationLevel ModelMetadata OrtValue RunOptions SessionOptions get_all_providers get_available_providers
    get_device set_default_logger_severity set_default_logger_verbosity set_seed""".split())
# Cases that are computed one element at a time.
_LOOPED = {"an operator that broadcasts", "an operator without a rule", "several outputs of an operator", "a rule of its own"}


def test_there_is_a_case_for_every_function():
    named = {name.split(" ")[0] for name in CASES}
    assert {n for n in dir(tartan) if not n.startswith("_")} - named == _OTHERS & set(dir(tartan))
    assert {f"linalg.{n}" for n in linalg.__all__} <= named
    assert {f"random.{n}" for n in random.__all__} - named == {"random.key"}


def _leaves(result):
    return [np.asarray(y) for y in result] if isinstance(result, (tuple, list)) else [np.asarray(result)]


def _many(x, seed):
    """Returns N elements similar to x, the first one x itself, stacked along an axis chosen with the seed; and the
    axis."""
    mixed = np.random.default_rng(seed)
    x = np.asarray(x)
    if x.dtype == "uint32":
        rest = [mixed.integers(0, 2**32, x.shape).astype("uint32") for _ in range(N - 1)]
    else:
        rest = [mixed.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(N - 1)]
        if x.ndim == 0 and x.dtype.kind in "if":
            rest = [(x * 0.5 + 0.1 * k).astype(x.dtype) for k in range(N - 1)]
        if x.ndim == 1:
            is_sorted = np.all(np.diff(x.astype("float64")) >= 0)  # required by searchsorted
            rest = [np.sort(r + (0.1 if x.dtype.kind == "f" else 0)) if is_sorted else r for r in rest]
    axis = int(mixed.integers(-x.ndim - 1, x.ndim + 1))
    return np.stack([x, *rest], axis=axis), axis


def _mappings(name):
    """Yields the function, operands, axes, and the operands of each element, for each choice of mapped operands."""
    f, operands = CASES[name]
    for seed, chosen in enumerate(itertools.product([False, True], repeat=len(operands))):
        if not any(chosen):
            continue
        given = [_many(x, seed) if m else (np.asarray(x), None) for x, m in zip(operands, chosen)]
        arrays, axes = [tartan.asarray(x) for x, _ in given], tuple(a for _, a in given)
        each = [[tartan.asarray(np.take(x, k, axis=a)) if a is not None else tartan.asarray(x) for x, a in given]
                for k in range(N)]
        yield f, arrays, axes, each


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_each_element(name, monkeypatch):
    if name not in _LOOPED:
        monkeypatch.setattr(_batching, "_looped", None)  # fails if a function has no rule
    for f, arrays, axes, each in _mappings(name):
        got = _leaves(tartan.vmap(f, in_axes=axes)(*arrays))
        wanted = [np.stack(parts) for parts in zip(*(_leaves(f(*xs)) for xs in each))]
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted):
            assert g.dtype == w.dtype and g.shape == w.shape
            np.testing.assert_allclose(g, w, rtol=1e-6 if g.dtype == "float32" else 1e-12, atol=1e-7)


def _total(result):
    """Returns a number that depends on all floats of a result."""
    parts = [y for y in (result if isinstance(result, (tuple, list)) else [result]) if y.dtype in ("float32", "float64")]
    return sum((tartan.sum(tartan.astype(y * y + y, "float64")) for y in parts), tartan.asarray(0.0, dtype="float64"))


@pytest.mark.parametrize("name", [n for n, (_, xs) in CASES.items() if any(np.asarray(x).dtype.kind == "f" for x in xs)])
def test_derivatives_are_those_of_each_element(name):
    for f, arrays, axes, each in _mappings(name):
        numbers = tuple(k for k, x in enumerate(arrays) if x.dtype in ("float64", "float32"))
        slope = tartan.grad(lambda *xs: _total(f(*xs)), argnums=numbers)
        wanted = [np.stack(parts) for parts in zip(*(_leaves(slope(*xs)) for xs in each))]
        for g, w in zip(_leaves(tartan.vmap(slope, in_axes=axes)(*arrays)), wanted, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)
        outside = tartan.grad(lambda *xs: tartan.sum(tartan.vmap(lambda *ys: _total(f(*ys)), in_axes=axes)(*xs)),
                              argnums=numbers)
        for number, g, w in zip(numbers, _leaves(outside(*arrays)), wanted, strict=True):
            w = w.sum(0) if axes[number] is None else np.moveaxis(w, 0, axes[number])
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["where", "matmul of a vector", "take", "positions", "at.add", "pad", "linalg.solve",
                                  "random.uniform", "a default", "an operator that broadcasts", "searchsorted"])
def test_nested_twice(name):
    f, operands = CASES[name]
    operands = [np.asarray(x) for x in operands]
    for k, l in itertools.product(range(len(operands)), repeat=2):
        inner = tuple(0 if d == k else None for d in range(len(operands)))
        outer = tuple(-1 if d == l else None for d in range(len(operands)))
        xs = [x if d != k else np.stack([x, x[::-1] if x.ndim else x]) for d, x in enumerate(operands)]
        xs = [x if d != l else np.stack([x, np.roll(x, 1), x], axis=-1) for d, x in enumerate(xs)]
        got = np.asarray(tartan.vmap(tartan.vmap(f, in_axes=inner), in_axes=outer)(*map(tartan.asarray, xs)))
        wanted = [[f(*(tartan.asarray(p[i] if d == k else p) for d, p in
                       enumerate(x[..., j] if d == l else x for d, x in enumerate(xs)))) for i in range(2)] for j in range(3)]
        np.testing.assert_allclose(got, np.array([[np.asarray(y) for y in row] for row in wanted]), rtol=1e-6, atol=1e-7)
