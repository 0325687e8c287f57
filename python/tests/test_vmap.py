# SPDX-License-Identifier: Apache-2.0
"""tartan.vmap: what a mapped function gives is what the function gives for each element, stacked; and so are its
derivatives."""

import itertools

import numpy as np
import pytest
import tartan
from tartan import _batching, linalg, random

N = 3  # elements that are mapped over
_RANDOM = np.random.default_rng(5)


def _floats(*shape):
    return _RANDOM.uniform(0.2, 0.9, shape)


def _signed(*shape):
    return _RANDOM.normal(size=shape)


def _whole(*shape, low=0, high=3, dtype="int32"):
    return _RANDOM.integers(low, high, shape).astype(dtype)


def _bools(*shape):
    return _RANDOM.integers(0, 2, shape).astype(bool)


def _symmetric(x):
    return (x + x.mT) / 2


def _positive(x):
    return x @ x.mT + tartan.eye(x.shape[-1], dtype=x.dtype)


_UNARY = """abs acos asin asinh atan atanh cbrt ceil cos cosh deg2rad erf exp exp2 expm1 fabs floor imag isfinite isinf isnan
    isneginf isposinf log log10 log1p log2 logical_not negative positive rad2deg real reciprocal rint round rsqrt sigmoid sign
    signbit sin sinc sinh sqrt square tan tanh trunc angle conj nan_to_num copy ravel transpose ones_like zeros_like
    empty_like""".split()
_BINARY = """add atan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot
    isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal
    pow power remainder subtract""".split()
_BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
_REDUCTIONS = "sum prod max min mean var std any all argmax argmin count_nonzero logsumexp".split()

# Name of a case: the function and its operands, each as it is for one element.
CASES = {name: (getattr(tartan, name), [_floats(2, 5)]) for name in _UNARY}
CASES |= {name: (getattr(tartan, name), [_floats(5, 1), _floats(2, 1, 3)]) for name in _BINARY}
CASES |= {f"{name} of a row": (getattr(tartan, name), [_floats(4), _floats()]) for name in ("add", "hypot", "less")}
CASES |= {name: (getattr(tartan, name), [_whole(5), _whole(2, 1)]) for name in _BITS}
CASES |= {name: (getattr(tartan, name), [_signed(2, 5, 3)]) for name in _REDUCTIONS}
CASES |= {f"{name} along an axis": (lambda x, f=getattr(tartan, name): f(x, axis=1, keepdims=True), [_signed(2, 5, 3)])
          for name in _REDUCTIONS}
CASES |= {f"{name} along the last axis": (lambda x, f=getattr(tartan, name): f(x, axis=-1), [_bools(4, 3)])
          for name in _REDUCTIONS if name not in ("logsumexp",)}
CASES |= {
    "acosh": (tartan.acosh, [_floats(4) + 1]),
    "bitwise_invert": (tartan.bitwise_invert, [_bools(4)]),
    "bitwise_invert of numbers": (tartan.bitwise_invert, [_whole(4)]),
    "where": (tartan.where, [_bools(3, 1), _signed(4), _signed(2, 1, 1)]),
    "clip": (tartan.clip, [_signed(5), _signed(), _signed() + 1]),
    "astype": (lambda x: tartan.astype(x, "int8"), [_signed(4) * 9]),
    "asarray": (tartan.asarray, [_signed(4)]),
    "array": (lambda x, y: tartan.array([x, y]), [_signed(), _signed()]),
    "from_dlpack": (tartan.from_dlpack, [_signed(4)]),
    "full": (lambda x: tartan.full((2, 3), x), [_signed()]),
    "full_like": (lambda x, y: tartan.full_like(x, y), [_signed(2, 3), _signed()]),
    "linspace": (lambda a, b: tartan.linspace(a, b, 5, dtype="float64"), [_signed(), _signed()]),
    "meshgrid": (tartan.meshgrid, [_signed(2), _signed(3)]),
    "reshape": (lambda x: tartan.reshape(x, (3, -1)), [_signed(2, 6)]),
    "permute_dims": (lambda x: tartan.permute_dims(x, (2, 0, 1)), [_signed(2, 3, 4)]),
    "matrix_transpose": (tartan.matrix_transpose, [_signed(2, 3, 4)]),
    "swapaxes": (lambda x: tartan.swapaxes(x, 0, -1), [_signed(2, 3, 4)]),
    "moveaxis": (lambda x: tartan.moveaxis(x, 0, -1), [_signed(2, 3, 4)]),
    "broadcast_to": (lambda x: tartan.broadcast_to(x, (4, 2, 3)), [_signed(2, 1)]),
    "broadcast_arrays": (tartan.broadcast_arrays, [_signed(2, 1), _signed(3)]),
    "expand_dims": (lambda x: tartan.expand_dims(x, axis=(0, 2)), [_signed(2, 3)]),
    "squeeze": (tartan.squeeze, [_signed(1, 3, 1)]),
    "concat": (lambda *x: tartan.concat(x, axis=1), [_signed(2, 3), _signed(2, 1), _signed(2, 2)]),
    "concatenate": (lambda *x: tartan.concatenate(x, axis=None), [_signed(2, 3), _signed(2)]),
    "stack": (lambda *x: tartan.stack(x, axis=1), [_signed(2), _signed(2)]),
    "unstack": (lambda x: tartan.unstack(x, axis=1), [_signed(2, 3)]),
    "flip": (tartan.flip, [_signed(2, 3)]),
    "flip along an axis": (lambda x: tartan.flip(x, axis=-1), [_signed(2, 3)]),
    "roll": (lambda x: tartan.roll(x, (1, -2), axis=(0, 1)), [_signed(2, 5)]),
    "roll of all": (lambda x: tartan.roll(x, 3), [_signed(2, 5)]),
    "split": (lambda x: tartan.split(x, [1, 3], axis=-1), [_signed(2, 5)]),
    "array_split": (lambda x: tartan.array_split(x, 2), [_signed(5)]),
    "tile": (lambda x: tartan.tile(x, (2, 1, 2)), [_signed(2, 3)]),
    "tril": (tartan.tril, [_signed(3, 4)]),
    "triu": (lambda x: tartan.triu(x, k=1), [_bools(2, 3, 3)]),
    "cumulative_sum": (lambda x: tartan.cumulative_sum(x, axis=1, include_initial=True), [_signed(2, 4)]),
    "cumulative_prod": (lambda x: tartan.cumulative_prod(x, axis=-1), [_signed(2, 4)]),
    "cumsum": (tartan.cumsum, [_whole(5)]),
    "cumprod": (tartan.cumprod, [_signed(5)]),
    "sort": (tartan.sort, [_signed(2, 5)]),
    "sort from the greatest": (lambda x: tartan.sort(x, axis=0, descending=True), [_whole(5, 2)]),
    "argsort": (lambda x: tartan.argsort(x, axis=0), [_signed(5, 2)]),
    "top_k": (lambda x: tartan.top_k(x, 2, axis=0), [_signed(5, 2)]),
    "take": (lambda x, i: tartan.take(x, i, axis=1), [_signed(2, 3, 4), _whole(5, 2, low=-3)]),
    "take in front": (lambda x, i: tartan.take(x, i, axis=0), [_signed(3, 4), _whole(2)]),
    "take of a vector": (tartan.take, [_signed(3), _whole()]),
    "take_along_axis": (lambda x, i: tartan.take_along_axis(x, i, axis=0), [_signed(3, 4), _whole(2, 1, low=-3)]),
    "repeat": (lambda x: tartan.repeat(x, 2, axis=1), [_signed(2, 3)]),
    "repeat of all": (lambda x: tartan.repeat(x, 2), [_signed(2, 3)]),
    "pad": (lambda x, v: tartan.pad(x, ((1, 0), (0, 2)), constant_values=v), [_signed(2, 3), _signed()]),
    "pad by reflection": (lambda x: tartan.pad(x, 1, mode="reflect"), [_signed(2, 3)]),
    "diff": (lambda x, y: tartan.diff(x, n=2, append=y), [_signed(2, 4), _signed(2, 1)]),
    "searchsorted": (tartan.searchsorted, [np.sort(_signed(6)), _signed(2, 3)]),
    "searchsorted on the right": (lambda x, y: tartan.searchsorted(x, y, side="right"), [np.arange(4), _whole(3)]),
    "isin": (tartan.isin, [_whole(2, 3, high=6), _whole(4, high=6)]),
    "one_hot": (lambda x: tartan.one_hot(x, 4), [_whole(2, 3)]),
    "einsum": (lambda *x: tartan.einsum("ij,jk,kl->il", *x), [_signed(2, 3), _signed(3, 4), _signed(4, 2)]),
    "einsum of a diagonal": (lambda x: tartan.einsum("iij->j", x), [_signed(3, 3, 2)]),
    "einsum of dots": (lambda x, y: tartan.einsum("...i,i...->...", x, y), [_signed(2, 3), _signed(3, 2)]),
    "kron": (tartan.kron, [_signed(2, 3), _signed(1, 2)]),
    "matmul": (tartan.matmul, [_signed(2, 3), _signed(3, 4)]),
    "matmul of stacks": (tartan.matmul, [_signed(2, 1, 2, 3), _signed(4, 3, 2)]),
    "matmul of a vector": (tartan.matmul, [_signed(3), _signed(2, 3, 4)]),
    "matmul of vectors": (tartan.matmul, [_signed(3), _signed(3)]),
    "matmul of integers": (tartan.matmul, [_whole(2, 3), _whole(3, 2)]),
    "outer": (tartan.outer, [_signed(2), _signed(3)]),
    "tensordot": (lambda x, y: tartan.tensordot(x, y, axes=([0], [1])), [_signed(2, 3), _signed(4, 2)]),
    "vecdot": (tartan.vecdot, [_signed(2, 3), _signed(3)]),
    "result of none": (lambda x: tartan.sum(tartan.zeros((0, 2))) + x, [_signed(2)]),
    "operators of ONNX": (lambda x: tartan.operator("Softmax", [x], axis=0), [_signed(2, 3)]),
    "an operator that broadcasts": (lambda x, y: tartan.operator("PRelu", [x, y]), [_signed(2, 3), _signed(3)]),
    "operators of elements": (lambda x, y: tartan.operator("Mul", [x, y]), [_signed(3), _signed(2, 1)]),
    "an operator without a rule": (lambda x: tartan.operator("LRN", [x], size=3), [_signed(1, 4, 2, 2).astype("float32")]),
    "several outputs of an operator": (lambda x: tartan.operator("Split", [x], 2, num_outputs=2, axis=-1), [_signed(2, 4)]),
    "a number in an index": (lambda x, i: x[1, i], [_signed(2, 3), _whole()]),
    "slices": (lambda x: x[..., 1:3, ::-1], [_signed(2, 4, 3)]),
    "a slice and a number": (lambda x: x[:, 1, None], [_signed(2, 4, 3)]),
    "numbers in front": (lambda x: x[1, 2], [_signed(2, 4, 3)]),
    "positions": (lambda x, i, j: x[i, :, j], [_signed(3, 2, 3), _whole(4), _whole(2, 1)]),
    "positions in the middle": (lambda x, i, j: x[:, i, j], [_signed(2, 3, 3), _whole(4), _whole(4)]),
    "a known mask": (lambda x: x[np.array([True, False, True])], [_signed(3, 2)]),
    "at.set": (lambda x, v: x.at[1].set(v), [_signed(3, 2), _signed(2)]),
    "at.set of slices": (lambda x, v: x.at[::2, 1:].set(v), [_signed(3, 3), _signed()]),
    "at.set of all": (lambda x, v: x.at[...].set(v), [_signed(3), _signed()]),
    "at.set under a mask": (lambda x, m, v: x.at[m].set(v), [_signed(3, 2), _bools(3, 2), _signed()]),
    "at.add": (lambda x, i, v: x.at[i].add(v), [_signed(3, 2), _whole(4), _signed(2)]),
    "at.add of bools": (lambda x, i: x.at[i].max(True), [_bools(5), _whole(2)]),
    "at.multiply": (lambda x, i, v: x.at[:, i].multiply(v), [_signed(2, 3), _whole(), _signed(2)]),
    "at.divide": (lambda x, v: x.at[0].divide(v), [_signed(2, 3), _floats()]),
    "at.min": (lambda x, i, v: x.at[i, 0].min(v), [_signed(3, 2), _whole(4), _signed(4)]),
    "at.get": (lambda x, i: x.at[i].get(), [_signed(3, 2), _whole(4)]),
    "a scatter along an axis": (lambda x, i, v: tartan.tile(
        "function (X, I, V) -> (Y) { Y = scatter_elements(X, I, V, 1); }")(x, i, v),
        [_signed(2, 3), np.array([[0, 1], [2, 0]]), _signed(2, 2)]),
    "rows of positions": (lambda x, i: tartan.tile("function (X, I) -> (Y) { Y = gather_nd(X, I, 1); }")(x, i),
                          [_signed(2, 3, 2), _whole(2, 4, 1)]),
    "a default": (lambda x, d: tartan.tile("function (X[N], D[M]) -> (Y) { Y[i + 1 : M] = =(X[i]) default D; }")(x, d),
                  [_signed(2), _signed(4)]),
    "a convolution": (lambda x, k: tartan.tile("""function (I[N, L, CI], K[LK, CI, CO]) -> (R) {
        [[name(conv)]] O[n, x, co : N, L - LK + 1, CO] = +(I[n, x + k, ci] * K[k, ci, co]); // a sum
        R = O > 0 ? O : 0;
      }""")(x, k), [_signed(2, 5, 2), _signed(3, 2, 4)]),
    "pooling of a part": (lambda x: tartan.tile(
        "function (I[N]) -> (O) { H = (N + 1) / 2; O[i : H] = >(I[2*i + j]), j < 2; }")(x), [_signed(5)]),
    "a scalar operand": (lambda x, s: tartan.tile("function (X[N], S[]) -> (Y) { Y[i : N] = +(X[i] * S[]); }")(x, s),
                         [_signed(4), _signed()]),
    "sums of ranks": (lambda x, y: tartan.tile(
        "function (X[N, M], Y) -> (Z, S) { S[i : N] = +(X[i, j]); T = S * Y + 1; Z = T + X' * 0 + index(X, 0); }".replace("X'", "X")
    )(x, y), [_signed(3, 3), _signed()]),
    "a rule of its own": (lambda x: tartan.tile("""function (X) -> (O) { O = custom_gradient(round(X), straight, X); }
        function straight (X, Y, DY) -> (DX) { DX = abs(X) <= 1 ? DY : 0.0; }""")(x), [_signed(4) * 2]),
}
LINALG = {
    "cholesky": (lambda x: linalg.cholesky(_positive(x), upper=True), [_signed(3, 3)]),
    "cross": (linalg.cross, [_signed(2, 3), _signed(2, 3)]),
    "det": (linalg.det, [_signed(2, 3, 3)]),
    "diagonal": (lambda x: linalg.diagonal(x, offset=1), [_signed(2, 3, 4)]),
    "eigh": (lambda x: linalg.eigh(_symmetric(x)), [_signed(3, 3)]),
    "eigvalsh": (lambda x: linalg.eigvalsh(_symmetric(x)), [_signed(2, 3, 3)]),
    "inv": (linalg.inv, [_signed(3, 3)]),
    "matmul": (linalg.matmul, [_signed(2, 3), _signed(3, 2)]),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, ord="nuc", keepdims=True), [_signed(3, 4)]),
    "matrix_power": (lambda x: linalg.matrix_power(x, -2), [_signed(3, 3)]),
    "matrix_rank": (linalg.matrix_rank, [_signed(3, 4)]),
    "matrix_transpose": (linalg.matrix_transpose, [_signed(3, 4)]),
    "norm": (linalg.norm, [_signed(3, 4)]),
    "outer": (linalg.outer, [_signed(3), _signed(4)]),
    "pinv": (linalg.pinv, [_signed(3, 2)]),
    "qr": (linalg.qr, [_signed(4, 3)]),
    "slogdet": (linalg.slogdet, [_signed(3, 3)]),
    "solve": (linalg.solve, [_signed(3, 3), _signed(3, 2)]),
    "solve for a vector": (linalg.solve, [_signed(3, 3), _signed(3)]),
    "solve for many": (linalg.solve, [_signed(3, 3), _signed(2, 3, 2)]),
    "svd": (lambda x: linalg.svd(x, full_matrices=False), [_signed(3, 4)]),
    "svdvals": (linalg.svdvals, [_signed(3, 4)]),
    "tensordot": (lambda x, y: linalg.tensordot(x, y, axes=1), [_signed(2, 3), _signed(3)]),
    "trace": (linalg.trace, [_signed(2, 3, 3)]),
    "vecdot": (linalg.vecdot, [_signed(2, 3), _signed(2, 3)]),
    "vector_norm": (lambda x: linalg.vector_norm(x, ord=3, axis=0), [_signed(2, 3)]),
}
CASES |= {f"linalg.{name}": case for name, case in LINALG.items()}
_KEY = np.array([3, 9], "uint32")
RANDOM = {
    "bernoulli": (lambda k, p: random.bernoulli(k, p), [_KEY, _floats(4)]),
    "bits": (lambda k: random.bits(k, (3,), dtype="uint64"), [_KEY]),
    "categorical": (lambda k, x: random.categorical(k, x, shape=(5, 2)), [_KEY, _signed(2, 3)]),
    "exponential": (lambda k: random.exponential(k, (3,)), [_KEY]),
    "fold_in": (random.fold_in, [_KEY, _whole()]),
    "gumbel": (lambda k: random.gumbel(k, (3,)), [_KEY]),
    "normal": (lambda k: random.normal(k, (2, 3)), [_KEY]),
    "permutation": (random.permutation, [_KEY, _signed(4, 2)]),
    "randint": (lambda k: random.randint(k, (5,), 2, 9), [_KEY]),
    "split": (lambda k: random.split(k, 3), [_KEY]),
    "uniform": (lambda k, a, b: random.uniform(k, (4,), minval=a, maxval=b), [_KEY, _signed(), _signed()]),
}
CASES |= {f"random.{name}": case for name, case in RANDOM.items()}

# What makes no tensors of tensors, or needs values; the last are tested below.
_OTHERS = set("""ConcretizationError Function IOBinding InferenceSession MappedError NodeArg Tensor UniqueAll UniqueCounts
    UniqueInverse Variable arange bfloat16 bool bool_ broadcast_shapes can_cast device e empty evaluate eye finfo float16 float32
    float64 function grad gradients iinfo inf inference int16 int32 int64 int8 isdtype linalg list_devices nan newaxis ones
    operator pi random recording result_type set_device uint16 uint32 uint64 uint8 value_and_grad vmap zeros keras
    onnx_backend nonzero unique_all unique_counts unique_inverse unique_values""".split())
# What is computed for each element by itself.
_LOOPED = {"an operator that broadcasts", "an operator without a rule", "several outputs of an operator", "a rule of its own"}


def test_there_is_a_case_for_every_function():
    named = {name.split(" ")[0] for name in CASES}
    assert {n for n in dir(tartan) if not n.startswith("_")} - named == _OTHERS & set(dir(tartan))
    assert {f"linalg.{n}" for n in linalg.__all__} <= named
    assert {f"random.{n}" for n in random.__all__} - named == {"random.key"}


def _leaves(result):
    return [np.asarray(y) for y in result] if isinstance(result, (tuple, list)) else [np.asarray(result)]


def _many(x, seed):
    """N elements of the kind that x is, the first x itself, along an axis that depends on the seed; and the axis."""
    mixed = np.random.default_rng(seed)
    x = np.asarray(x)
    if x.dtype == "uint32":
        rest = [mixed.integers(0, 2**32, x.shape).astype("uint32") for _ in range(N - 1)]
    else:
        rest = [mixed.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(N - 1)]
        if x.ndim == 0 and x.dtype.kind in "if":
            rest = [(x * 0.5 + 0.1 * k).astype(x.dtype) for k in range(N - 1)]
        if x.ndim == 1:
            rest = [np.sort(r + (0.1 if x.dtype.kind == "f" else 0)) if np.all(np.diff(x.astype("float64")) >= 0) else r for r in rest]
    axis = int(mixed.integers(-x.ndim - 1, x.ndim + 1))
    return np.stack([x, *rest], axis=axis), axis


def _mappings(name):
    """For each choice of mapped operands: the function, operands, axes, and operands of each element."""
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
        monkeypatch.setattr(_batching, "_looped", None)  # all have rules
    for f, arrays, axes, each in _mappings(name):
        got = _leaves(tartan.vmap(f, in_axes=axes)(*arrays))
        wanted = [np.stack(parts) for parts in zip(*(_leaves(f(*xs)) for xs in each))]
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted):
            assert g.dtype == w.dtype and g.shape == w.shape
            np.testing.assert_allclose(g, w, rtol=1e-6 if g.dtype == "float32" else 1e-12, atol=1e-7)


def _total(result, weights=None):
    """A number that depends on all floats of a result."""
    parts = [y for y in (result if isinstance(result, (tuple, list)) else [result]) if y.dtype in ("float32", "float64")]
    return sum((tartan.sum(tartan.astype(y * y + y, "float64")) for y in parts), tartan.asarray(0.0, dtype="float64"))


# Vectors of factorizations have signs of their own; derivatives of steps are 0, and at ties there are none.
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
