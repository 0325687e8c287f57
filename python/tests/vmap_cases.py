# SPDX-License-Identifier: Apache-2.0
"""Functions and operands for tests of tartan.vmap."""

import numpy as np
import tartan
from tartan import linalg, random

_RANDOM = np.random.default_rng(5)


def floats(*shape):
    return _RANDOM.uniform(0.2, 0.9, shape)


def signed(*shape):
    return _RANDOM.normal(size=shape)


def whole(*shape, low=0, high=3, dtype="int32"):
    return _RANDOM.integers(low, high, shape).astype(dtype)


def bools(*shape):
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

# Name of a case → the function and its operands for one element.
CASES = {name: (getattr(tartan, name), [floats(2, 5)]) for name in _UNARY}
CASES |= {name: (getattr(tartan, name), [floats(5, 1), floats(2, 1, 3)]) for name in _BINARY}
CASES |= {f"{name} of a row": (getattr(tartan, name), [floats(4), floats()]) for name in ("add", "hypot", "less")}
CASES |= {name: (getattr(tartan, name), [whole(5), whole(2, 1)]) for name in _BITS}
CASES |= {name: (getattr(tartan, name), [signed(2, 5, 3)]) for name in _REDUCTIONS}
CASES |= {f"{name} along an axis": (lambda x, f=getattr(tartan, name): f(x, axis=1, keepdims=True), [signed(2, 5, 3)])
          for name in _REDUCTIONS}
CASES |= {f"{name} along the last axis": (lambda x, f=getattr(tartan, name): f(x, axis=-1), [bools(4, 3)])
          for name in _REDUCTIONS if name not in ("logsumexp",)}
CASES |= {
    "acosh": (tartan.acosh, [floats(4) + 1]),
    "bitwise_invert": (tartan.bitwise_invert, [bools(4)]),
    "bitwise_invert of numbers": (tartan.bitwise_invert, [whole(4)]),
    "where": (tartan.where, [bools(3, 1), signed(4), signed(2, 1, 1)]),
    "clip": (tartan.clip, [signed(5), signed(), signed() + 1]),
    "astype": (lambda x: tartan.astype(x, "int8"), [signed(4) * 9]),
    "asarray": (tartan.asarray, [signed(4)]),
    "array": (lambda x, y: tartan.array([x, y]), [signed(), signed()]),
    "from_dlpack": (tartan.from_dlpack, [signed(4)]),
    "full": (lambda x: tartan.full((2, 3), x), [signed()]),
    "full_like": (lambda x, y: tartan.full_like(x, y), [signed(2, 3), signed()]),
    "linspace": (lambda a, b: tartan.linspace(a, b, 5, dtype="float64"), [signed(), signed()]),
    "meshgrid": (tartan.meshgrid, [signed(2), signed(3)]),
    "reshape": (lambda x: tartan.reshape(x, (3, -1)), [signed(2, 6)]),
    "permute_dims": (lambda x: tartan.permute_dims(x, (2, 0, 1)), [signed(2, 3, 4)]),
    "matrix_transpose": (tartan.matrix_transpose, [signed(2, 3, 4)]),
    "swapaxes": (lambda x: tartan.swapaxes(x, 0, -1), [signed(2, 3, 4)]),
    "moveaxis": (lambda x: tartan.moveaxis(x, 0, -1), [signed(2, 3, 4)]),
    "broadcast_to": (lambda x: tartan.broadcast_to(x, (4, 2, 3)), [signed(2, 1)]),
    "broadcast_arrays": (tartan.broadcast_arrays, [signed(2, 1), signed(3)]),
    "expand_dims": (lambda x: tartan.expand_dims(x, axis=(0, 2)), [signed(2, 3)]),
    "squeeze": (tartan.squeeze, [signed(1, 3, 1)]),
    "concat": (lambda *x: tartan.concat(x, axis=1), [signed(2, 3), signed(2, 1), signed(2, 2)]),
    "concatenate": (lambda *x: tartan.concatenate(x, axis=None), [signed(2, 3), signed(2)]),
    "stack": (lambda *x: tartan.stack(x, axis=1), [signed(2), signed(2)]),
    "unstack": (lambda x: tartan.unstack(x, axis=1), [signed(2, 3)]),
    "flip": (tartan.flip, [signed(2, 3)]),
    "flip along an axis": (lambda x: tartan.flip(x, axis=-1), [signed(2, 3)]),
    "roll": (lambda x: tartan.roll(x, (1, -2), axis=(0, 1)), [signed(2, 5)]),
    "roll of all": (lambda x: tartan.roll(x, 3), [signed(2, 5)]),
    "split": (lambda x: tartan.split(x, [1, 3], axis=-1), [signed(2, 5)]),
    "array_split": (lambda x: tartan.array_split(x, 2), [signed(5)]),
    "tile": (lambda x: tartan.tile(x, (2, 1, 2)), [signed(2, 3)]),
    "tril": (tartan.tril, [signed(3, 4)]),
    "triu": (lambda x: tartan.triu(x, k=1), [bools(2, 3, 3)]),
    "cumulative_sum": (lambda x: tartan.cumulative_sum(x, axis=1, include_initial=True), [signed(2, 4)]),
    "cumulative_prod": (lambda x: tartan.cumulative_prod(x, axis=-1), [signed(2, 4)]),
    "cumsum": (tartan.cumsum, [whole(5)]),
    "cumprod": (tartan.cumprod, [signed(5)]),
    "sort": (tartan.sort, [signed(2, 5)]),
    "sort from the greatest": (lambda x: tartan.sort(x, axis=0, descending=True), [whole(5, 2)]),
    "argsort": (lambda x: tartan.argsort(x, axis=0), [signed(5, 2)]),
    "top_k": (lambda x: tartan.top_k(x, 2, axis=0), [signed(5, 2)]),
    "take": (lambda x, i: tartan.take(x, i, axis=1), [signed(2, 3, 4), whole(5, 2, low=-3)]),
    "take in front": (lambda x, i: tartan.take(x, i, axis=0), [signed(3, 4), whole(2)]),
    "take of a vector": (tartan.take, [signed(3), whole()]),
    "take_along_axis": (lambda x, i: tartan.take_along_axis(x, i, axis=0), [signed(3, 4), whole(2, 1, low=-3)]),
    "repeat": (lambda x: tartan.repeat(x, 2, axis=1), [signed(2, 3)]),
    "repeat of all": (lambda x: tartan.repeat(x, 2), [signed(2, 3)]),
    "pad": (lambda x, v: tartan.pad(x, ((1, 0), (0, 2)), constant_values=v), [signed(2, 3), signed()]),
    "pad by reflection": (lambda x: tartan.pad(x, 1, mode="reflect"), [signed(2, 3)]),
    "diff": (lambda x, y: tartan.diff(x, n=2, append=y), [signed(2, 4), signed(2, 1)]),
    "searchsorted": (tartan.searchsorted, [np.sort(signed(6)), signed(2, 3)]),
    "searchsorted on the right": (lambda x, y: tartan.searchsorted(x, y, side="right"), [np.arange(4), whole(3)]),
    "isin": (tartan.isin, [whole(2, 3, high=6), whole(4, high=6)]),
    "one_hot": (lambda x: tartan.one_hot(x, 4), [whole(2, 3)]),
    "einsum": (lambda *x: tartan.einsum("ij,jk,kl->il", *x), [signed(2, 3), signed(3, 4), signed(4, 2)]),
    "einsum of a diagonal": (lambda x: tartan.einsum("iij->j", x), [signed(3, 3, 2)]),
    "einsum of dots": (lambda x, y: tartan.einsum("...i,i...->...", x, y), [signed(2, 3), signed(3, 2)]),
    "kron": (tartan.kron, [signed(2, 3), signed(1, 2)]),
    "matmul": (tartan.matmul, [signed(2, 3), signed(3, 4)]),
    "matmul of stacks": (tartan.matmul, [signed(2, 1, 2, 3), signed(4, 3, 2)]),
    "matmul of a vector": (tartan.matmul, [signed(3), signed(2, 3, 4)]),
    "matmul of vectors": (tartan.matmul, [signed(3), signed(3)]),
    "matmul of integers": (tartan.matmul, [whole(2, 3), whole(3, 2)]),
    "outer": (tartan.outer, [signed(2), signed(3)]),
    "tensordot": (lambda x, y: tartan.tensordot(x, y, axes=([0], [1])), [signed(2, 3), signed(4, 2)]),
    "vecdot": (tartan.vecdot, [signed(2, 3), signed(3)]),
    "result of none": (lambda x: tartan.sum(tartan.zeros((0, 2))) + x, [signed(2)]),
    "operators of ONNX": (lambda x: tartan.operator("Softmax", [x], axis=0), [signed(2, 3)]),
    "an operator that broadcasts": (lambda x, y: tartan.operator("PRelu", [x, y]), [signed(2, 3), signed(3)]),
    "operators of elements": (lambda x, y: tartan.operator("Mul", [x, y]), [signed(3), signed(2, 1)]),
    "an operator without a rule": (lambda x: tartan.operator("LRN", [x], size=3), [signed(1, 4, 2, 2).astype("float32")]),
    "several outputs of an operator": (lambda x: tartan.operator("Split", [x], 2, num_outputs=2, axis=-1), [signed(2, 4)]),
    "a number in an index": (lambda x, i: x[1, i], [signed(2, 3), whole()]),
    "slices": (lambda x: x[..., 1:3, ::-1], [signed(2, 4, 3)]),
    "a slice and a number": (lambda x: x[:, 1, None], [signed(2, 4, 3)]),
    "numbers in front": (lambda x: x[1, 2], [signed(2, 4, 3)]),
    "positions": (lambda x, i, j: x[i, :, j], [signed(3, 2, 3), whole(4), whole(2, 1)]),
    "positions in the middle": (lambda x, i, j: x[:, i, j], [signed(2, 3, 3), whole(4), whole(4)]),
    "a known mask": (lambda x: x[np.array([True, False, True])], [signed(3, 2)]),
    "at.set": (lambda x, v: x.at[1].set(v), [signed(3, 2), signed(2)]),
    "at.set of slices": (lambda x, v: x.at[::2, 1:].set(v), [signed(3, 3), signed()]),
    "at.set of all": (lambda x, v: x.at[...].set(v), [signed(3), signed()]),
    "at.set under a mask": (lambda x, m, v: x.at[m].set(v), [signed(3, 2), bools(3, 2), signed()]),
    "at.add": (lambda x, i, v: x.at[i].add(v), [signed(3, 2), whole(4), signed(2)]),
    "at.add of bools": (lambda x, i: x.at[i].max(True), [bools(5), whole(2)]),
    "at.multiply": (lambda x, i, v: x.at[:, i].multiply(v), [signed(2, 3), whole(), signed(2)]),
    "at.divide": (lambda x, v: x.at[0].divide(v), [signed(2, 3), floats()]),
    "at.min": (lambda x, i, v: x.at[i, 0].min(v), [signed(3, 2), whole(4), signed(4)]),
    "at.get": (lambda x, i: x.at[i].get(), [signed(3, 2), whole(4)]),
    "a scatter along an axis": (lambda x, i, v: tartan.tile(
        "function (X, I, V) -> (Y) { Y = scatter_elements(X, I, V, 1); }")(x, i, v),
        [signed(2, 3), np.array([[0, 1], [2, 0]]), signed(2, 2)]),
    "rows of positions": (lambda x, i: tartan.tile("function (X, I) -> (Y) { Y = gather_nd(X, I, 1); }")(x, i),
                          [signed(2, 3, 2), whole(2, 4, 1)]),
    "cond": (lambda x: tartan.cond(x[0] > 0, lambda a: a * 2, lambda a: tartan.sin(a), x), [signed(4)]),
    "while_loop": (lambda x: tartan.while_loop(lambda v: tartan.sum(v) < 5, lambda v: v * 1.5 + 0.1, x, maximum_iterations=6),
                   [floats(3)]),
    "scan": (lambda x: tartan.scan(lambda c, a: (c * 0.5 + a, c * a), x[0] * 0, x)[1], [signed(4)]),
    "stop_gradient": (lambda x: tartan.stop_gradient(x) * x, [signed(4)]),
    "a default": (lambda x, d: tartan.tile("function (X[N], D[M]) -> (Y) { Y[i + 1 : M] = =(X[i]) default D; }")(x, d),
                  [signed(2), signed(4)]),
    "a convolution": (lambda x, k: tartan.tile("""function (I[N, L, CI], K[LK, CI, CO]) -> (R) {
        [[name(conv)]] O[n, x, co : N, L - LK + 1, CO] = +(I[n, x + k, ci] * K[k, ci, co]); // a sum
        R = O > 0 ? O : 0;
      }""")(x, k), [signed(2, 5, 2), signed(3, 2, 4)]),
    "pooling of a part": (lambda x: tartan.tile(
        "function (I[N]) -> (O) { H = (N + 1) / 2; O[i : H] = >(I[2*i + j]), j < 2; }")(x), [signed(5)]),
    "a scalar operand": (lambda x, s: tartan.tile("function (X[N], S[]) -> (Y) { Y[i : N] = +(X[i] * S[]); }")(x, s),
                         [signed(4), signed()]),
    "sums of ranks": (lambda x, y: tartan.tile(
        "function (X[N, M], Y) -> (Z, S) { S[i : N] = +(X[i, j]); T = S * Y + 1; Z = T + X * 0 + index(X, 0); }")(x, y), [signed(3, 3), signed()]),
    "a rule of its own": (lambda x: tartan.tile("""function (X) -> (O) { O = custom_gradient(round(X), straight, X); }
        function straight (X, Y, DY) -> (DX) { DX = abs(X) <= 1 ? DY : 0.0; }""")(x), [signed(4) * 2]),
}
LINALG = {
    "cholesky": (lambda x: linalg.cholesky(_positive(x), upper=True), [signed(3, 3)]),
    "cross": (linalg.cross, [signed(2, 3), signed(2, 3)]),
    "det": (linalg.det, [signed(2, 3, 3)]),
    "diagonal": (lambda x: linalg.diagonal(x, offset=1), [signed(2, 3, 4)]),
    "eigh": (lambda x: linalg.eigh(_symmetric(x)), [signed(3, 3)]),
    "eigvalsh": (lambda x: linalg.eigvalsh(_symmetric(x)), [signed(2, 3, 3)]),
    "inv": (linalg.inv, [signed(3, 3)]),
    "matmul": (linalg.matmul, [signed(2, 3), signed(3, 2)]),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, ord="nuc", keepdims=True), [signed(3, 4)]),
    "matrix_power": (lambda x: linalg.matrix_power(x, -2), [signed(3, 3)]),
    "matrix_rank": (linalg.matrix_rank, [signed(3, 4)]),
    "matrix_transpose": (linalg.matrix_transpose, [signed(3, 4)]),
    "norm": (linalg.norm, [signed(3, 4)]),
    "outer": (linalg.outer, [signed(3), signed(4)]),
    "pinv": (linalg.pinv, [signed(3, 2)]),
    "qr": (linalg.qr, [signed(4, 3)]),
    "slogdet": (linalg.slogdet, [signed(3, 3)]),
    "solve": (linalg.solve, [signed(3, 3), signed(3, 2)]),
    "solve for a vector": (linalg.solve, [signed(3, 3), signed(3)]),
    "solve for many": (linalg.solve, [signed(3, 3), signed(2, 3, 2)]),
    "svd": (lambda x: linalg.svd(x, full_matrices=False), [signed(3, 4)]),
    "svdvals": (linalg.svdvals, [signed(3, 4)]),
    "tensordot": (lambda x, y: linalg.tensordot(x, y, axes=1), [signed(2, 3), signed(3)]),
    "trace": (linalg.trace, [signed(2, 3, 3)]),
    "vecdot": (linalg.vecdot, [signed(2, 3), signed(2, 3)]),
    "vector_norm": (lambda x: linalg.vector_norm(x, ord=3, axis=0), [signed(2, 3)]),
}
CASES |= {f"linalg.{name}": case for name, case in LINALG.items()}
_KEY = np.array([3, 9], "uint32")
RANDOM = {
    "bernoulli": (lambda k, p: random.bernoulli(k, p), [_KEY, floats(4)]),
    "bits": (lambda k: random.bits(k, (3,), dtype="uint64"), [_KEY]),
    "categorical": (lambda k, x: random.categorical(k, x, shape=(5, 2)), [_KEY, signed(2, 3)]),
    "exponential": (lambda k: random.exponential(k, (3,)), [_KEY]),
    "fold_in": (random.fold_in, [_KEY, whole()]),
    "gumbel": (lambda k: random.gumbel(k, (3,)), [_KEY]),
    "normal": (lambda k: random.normal(k, (2, 3)), [_KEY]),
    "permutation": (random.permutation, [_KEY, signed(4, 2)]),
    "randint": (lambda k: random.randint(k, (5,), 2, 9), [_KEY]),
    "split": (lambda k: random.split(k, 3), [_KEY]),
    "uniform": (lambda k, a, b: random.uniform(k, (4,), minval=a, maxval=b), [_KEY, signed(), signed()]),
}
CASES |= {f"random.{name}": case for name, case in RANDOM.items()}
