# SPDX-License-Identifier: Apache-2.0
"""tartan.vmap: axes, trees and errors; with derivatives, captured functions and assignments."""

import threading

import numpy as np
import pytest
import tartan
from tartan import linalg, random
from vmap_cases import signed, whole


def _same(got, wanted, rtol=1e-6):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=1e-6)


X, Y = signed(3, 4), signed(4, 3, 2)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_axes_of_results(axis):
    got = tartan.vmap(lambda x: x * 2, in_axes=1, out_axes=axis)(Y)
    _same(got, np.moveaxis(Y * 2, 1, axis))


def test_trees_of_arguments_and_results():
    def f(pair, named, /, *, scale):
        x, (y, z) = pair
        assert (x.shape, y, z, named["a"].shape, named["b"].shape, scale.shape) == ((4,), 2.0, "name", (3,), (4,), ())
        return {"sum": x * y + scale, "known": 7, "text": None}, [named["a"], tartan.sum(named["b"])]

    named = {"b": X.T, "a": X[0, :3]}
    out_axes = ({"sum": 1, "known": None, "text": None}, [None, 0])
    got = tartan.vmap(f, in_axes=((0, (None, None)), {"a": None, "b": 1}), out_axes=out_axes)(
        (X, (2.0, "name")), named, scale=np.arange(3.0))
    _same(got[0]["sum"], (X * 2 + np.arange(3.0)[:, None]).T)
    assert got[0]["known"] == 7 and got[0]["text"] is None
    _same(got[1][0], X[0, :3])
    _same(got[1][1], X.sum(1))


def test_one_axis_serves_all_leaves_of_an_argument():
    _same(tartan.vmap(lambda p, q: p["a"] @ p["b"][0] + q, in_axes=(1, None))({"a": X, "b": [X]}, 1.0), (X * X).sum(0) + 1)
    _same(tartan.vmap(lambda p: p["a"] * p["b"])({"a": X, "b": np.arange(3.0)}), X * np.arange(3.0)[:, None])


def test_results_that_are_not_mapped_are_repeated():
    got = tartan.vmap(lambda x: (tartan.ones(2), 3, x), out_axes=(1, 0, 0))(X)
    _same(got[0], np.ones((2, 3), "float32"))
    _same(got[1], np.full(3, 3, "int32"))


def test_named_tuples_stay():
    got = tartan.vmap(tartan.linalg.slogdet)(np.stack([np.eye(2), 2 * np.eye(2)]))
    assert type(got).__name__ == "SlogdetResult"
    _same(got.logabsdet, [0.0, 2 * np.log(2)])


@pytest.mark.parametrize("call, words", [
    (lambda: tartan.vmap(lambda x, y: x)(np.ones(3), np.ones((2, 4))), ["has 3", "has 2"]),
    (lambda: tartan.vmap(lambda x, y: x)(np.ones(3), y=np.ones(5)), ["has 3", "has 5"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=None)(np.ones(3)), ["nothing is mapped"]),
    (lambda: tartan.vmap(lambda: 1)(), ["nothing is mapped"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=2)(np.ones((3, 4))), ["axis 2", "2 dimensions"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=-3)(np.ones((3, 4))), ["axis -3", "2 dimensions"]),
    (lambda: tartan.vmap(lambda x: x)(2.0), ["axis 0", "0 dimensions"]),
    (lambda: tartan.vmap(lambda x: x, out_axes=2)(np.ones(3)), ["axis 2", "1 dimensions"]),
    (lambda: tartan.vmap(lambda x: x, out_axes=None)(np.ones(3)), ["out_axes", "None"]),
    (lambda: tartan.vmap(lambda x, y: x, in_axes=(0,))(X, X), ["1 for 2 arguments"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=((0, 0, 0),))((X, X)), ["3 for 2"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=({"a": 0},))({"b": X}), ["'a'", "'b'"]),
    (lambda: tartan.vmap(lambda x: x, in_axes=((0, 0),))(X), ["ndarray"]),
    (lambda: tartan.vmap(lambda x, y: x)(X, "name"), ["'name'"]),
    (lambda: tartan.vmap(lambda x: x, out_axes=(0, 0))(X), ["out_axes"]),
])
def test_what_is_wrong_is_said(call, words):
    with pytest.raises(ValueError) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)


def test_axes_are_integers():
    with pytest.raises(TypeError, match="in_axes"):
        tartan.vmap(lambda x: x, in_axes=("first",))(X)
    with pytest.raises(TypeError, match="must return tensors"):
        tartan.vmap(lambda x: "text")(X)


@pytest.mark.parametrize("f", [
    lambda x: 1 if x[0] > 0 else 2, lambda x: float(x[0]), lambda x: np.asarray(x), lambda x: x.numpy(), lambda x: x[x > 0],
    tartan.nonzero, tartan.unique_all, tartan.unique_values, tartan.unique_counts, tartan.unique_inverse,
    lambda x: tartan.arange(x[0]), lambda x: tartan.repeat(x, tartan.astype(x, "int32")), lambda x: tartan.evaluate(x),
    lambda x: [1, 2][tartan.astype(x[0], "int32")], lambda x: tartan.zeros(tartan.astype(x[0], "int32")),
    lambda x: tartan.Variable(x), lambda x: tartan.Variable(np.zeros(4)).assign(tartan.astype(x, "float32")),
])
def test_values_of_mapped_tensors_cannot_be_asked_for(f):
    with pytest.raises(tartan.MappedError, match="map"):
        tartan.vmap(f)(X)
    assert issubclass(tartan.MappedError, tartan.ConcretizationError)


def test_wrong_operands_are_told_as_without_it():
    with pytest.raises(ValueError, match="broadcast"):
        tartan.vmap(lambda x: tartan.broadcast_to(x, (3,)))(X)
    with pytest.raises(ValueError, match="matmul"):
        tartan.vmap(lambda x, y: x @ y)(X, X[:, :3])
    with pytest.raises(ValueError):
        tartan.vmap(tartan.tile("function (A[N], B[N]) -> (C) { C[i : N] = +(A[i] * B[i]); }"))(X, X[:, :3])
    with pytest.raises(ValueError, match="sqr"):
        tartan.vmap(tartan.tile("function (A) -> (C) { C = sqr(A); }"))(X)
    with pytest.raises(np.linalg.LinAlgError):
        tartan.vmap(linalg.inv)(np.zeros((2, 3, 3)))


def test_tensors_that_leave_their_function_are_told():
    left = []
    tartan.vmap(lambda x: left.append(x) or x)(X)
    assert "mapped over 3" in repr(left[0])
    with pytest.raises(tartan.MappedError):
        (left[0] + 1).numpy()


@pytest.mark.parametrize("sizes", [(0, 4), (1, 4), (3, 0)])
def test_few_elements(sizes):
    x = np.ones(sizes)
    _same(tartan.vmap(lambda v: tartan.sort(v * 2))(x), x * 2)
    _same(tartan.vmap(tartan.sum)(x), x.sum(1))
    _same(tartan.vmap(tartan.grad(lambda v: tartan.sum(v * v)))(x), 2 * x)
    if sizes[1]:
        got = tartan.vmap(lambda v: tartan.operator("LRN", [v], size=1))(np.ones((sizes[0], 1, 2, 3, 3), "float32"))
        assert got.shape == (sizes[0], 1, 2, 3, 3)


# --- Combined with other transforms.

def _loss(weights, x, y):
    hidden = tartan.tanh(x @ weights["first"] + weights["bias"])
    return tartan.sum((hidden @ weights["second"] - y) ** 2)


_WEIGHTS = {"first": signed(4, 5), "bias": signed(5), "second": signed(5, 2)}
_BATCH = signed(3, 4), signed(3, 2)


def _tensors(tree):
    return {k: tartan.asarray(v) for k, v in tree.items()}


def test_gradients_of_every_example():
    weights = _tensors(_WEIGHTS)
    values, slopes = tartan.vmap(tartan.value_and_grad(_loss), in_axes=(None, 0, 0))(weights, *_BATCH)
    for k, (x, y) in enumerate(zip(*_BATCH)):
        value, slope = tartan.value_and_grad(_loss)(weights, tartan.asarray(x), tartan.asarray(y))
        _same(values[k], value)
        for name in weights:
            _same(slopes[name][k], slope[name])


def test_gradients_of_every_example_against_differences():
    step = 1e-6
    slopes = tartan.vmap(tartan.grad(_loss), in_axes=(None, 0, 0))(_tensors(_WEIGHTS), *_BATCH)["first"].numpy()

    def loss(first, x, y):
        return np.sum((np.tanh(x @ first + _WEIGHTS["bias"]) @ _WEIGHTS["second"] - y) ** 2)

    for at in np.ndindex(4, 5):
        moved = np.zeros((4, 5))
        moved[at] = step
        wanted = [(loss(_WEIGHTS["first"] + moved, x, y) - loss(_WEIGHTS["first"] - moved, x, y)) / (2 * step)
                  for x, y in zip(*_BATCH)]
        np.testing.assert_allclose(slopes[(slice(None), *at)], wanted, rtol=1e-6, atol=1e-6)


def test_gradients_of_every_example_by_a_recording():
    first = tartan.asarray(_WEIGHTS["first"])

    def f(x, y):
        with tartan.recording():
            loss = _loss(dict(_tensors(_WEIGHTS), first=first), x, y)
            return tartan.gradients(loss, [first, x])

    got = tartan.vmap(f)(*_BATCH)
    wanted = tartan.vmap(tartan.grad(lambda w, x, y: _loss(dict(_tensors(_WEIGHTS), first=w), x, y), argnums=(0, 1)),
                         in_axes=(None, 0, 0))(first, *_BATCH)
    for g, w in zip(got, wanted):
        _same(g, w)


def test_derivatives_that_depend_on_nothing_mapped():
    got = tartan.vmap(lambda x: tartan.grad(lambda w: tartan.sum(w * w))(tartan.asarray([1.0, 2.0])) * x)(np.ones((3, 1), "float32"))
    _same(got, np.full((3, 2), [2, 4], "float32"))

    def independent(x):
        with tartan.recording():
            w = tartan.asarray([3.0])
            return tartan.gradients(tartan.sum(w * w), [x, w])

    got = tartan.vmap(independent)(X)
    _same(got[0], np.zeros_like(X))
    _same(got[1], np.full((3, 1), 6, "float32"))


def test_matrices_of_derivatives():
    def f(x):
        return tartan.sin(x[:2]) * x[2] + x[0] * x[1]

    x = tartan.asarray(signed(3))

    def row(seed):
        with tartan.recording():
            return tartan.gradients(f(x), [x], seed)[0]

    a, b, c = x.numpy()
    wanted = [[np.cos(a) * c + b, a, np.sin(a)], [b, np.cos(b) * c + a, np.sin(b)]]
    _same(tartan.vmap(row)(np.eye(2)), wanted)


def test_second_derivatives():
    def f(x):
        return tartan.sum(tartan.sin(x) * x[0])

    def hessian(x):
        return tartan.vmap(lambda v: tartan.grad(lambda y: tartan.sum(tartan.grad(f)(y) * v))(x))(np.eye(3))

    got = tartan.vmap(hessian)(signed(4, 3)).numpy()
    np.testing.assert_allclose(got, np.swapaxes(got, 1, 2), rtol=1e-9)
    x, step = signed(3), 1e-6
    slope = tartan.grad(f)
    wanted = [(slope(tartan.asarray(x + step * e)).numpy() - slope(tartan.asarray(x - step * e)).numpy()) / (2 * step)
              for e in np.eye(3)]
    np.testing.assert_allclose(hessian(tartan.asarray(x)).numpy(), wanted, rtol=1e-7, atol=1e-7)


def test_values_besides_derivatives():
    f = tartan.value_and_grad(lambda x: (tartan.sum(x * x), {"twice": x * 2, "text": None}), has_aux=True)
    (value, besides), slope = tartan.vmap(f)(X)
    _same(value, (X * X).sum(1))
    _same(besides["twice"], X * 2)
    _same(slope, 2 * X)


def test_inside_captured_functions_and_around_them():
    def f(w, x, i):
        return tartan.sort(tartan.tanh(x @ w))[i] + linalg.trace(tartan.outer(x, x))

    w, x, i = signed(4, 5), signed(3, 4), whole(3, high=5)
    wanted = [np.sort(np.tanh(x[k] @ w))[i[k]] + x[k] @ x[k] for k in range(3)]
    mapped = tartan.vmap(f, in_axes=(None, 0, 0))
    captured = tartan.function(mapped)
    for _ in range(4):
        _same(captured(w, x, i), wanted)
    assert captured.signatures == 1
    _same(tartan.vmap(tartan.function(f), in_axes=(None, 0, 0))(w, x, i), wanted)
    _same(tartan.vmap(lambda x, i: tartan.function(lambda i: f(tartan.asarray(w), x, i))(i))(x, i), wanted)
    slopes = tartan.function(tartan.vmap(tartan.grad(f), in_axes=(None, 0, 0)))(w, x, i)
    _same(slopes, tartan.vmap(tartan.grad(f), in_axes=(None, 0, 0))(w, x, i))


def test_captured_functions_write_variables_that_are_not_mapped():
    total = tartan.Variable(np.zeros(4))

    @tartan.function
    def step(x):
        total.assign(total.value + tartan.sum(tartan.vmap(lambda v: v * total.value + 1)(x), axis=0))

    step(np.ones((3, 4), "float32"))
    step(np.ones((3, 4), "float32"))
    _same(total, np.full(4, 3 + 3 * 3 + 3, "float32"))


def test_variables_as_arguments():
    v = tartan.Variable(X)
    _same(tartan.vmap(lambda x: x * 2)(v), (X * 2).astype("float32"))


def test_factorizations_need_values_while_a_function_is_captured():
    with pytest.raises(NotImplementedError, match="captured"):
        tartan.function(tartan.vmap(linalg.inv))(tartan.asarray(np.stack([np.eye(3)] * 2)))
    _same(tartan.function(tartan.vmap(linalg.det))(np.stack([2 * np.eye(3)] * 2)), [8.0, 8.0])


def test_elements_are_assigned_to():
    def f(x, v):
        y = x + 0
        y[1] = v
        y[y > 5] = 0.0
        return y

    x, v = signed(3, 4), np.array([1.0, 9.0, 3.0])
    wanted = x.copy()
    wanted[:, 1] = v
    wanted[wanted > 5] = 0
    _same(tartan.vmap(f)(x, v), wanted)
    slope = tartan.vmap(tartan.grad(lambda x, v: tartan.sum(f(x, v) ** 2), argnums=(0, 1)))(x, v)
    assert not slope[0].numpy()[:, 1].any()
    _same(slope[1], np.where(v > 5, 0, 2 * v))

    def whole(x):
        y = x * 2
        y[...] = 3.0
        return y

    _same(tartan.vmap(whole)(x), np.full((3, 4), 3.0))


def test_elements_of_tensors_that_are_not_mapped_are_not_assigned_to():
    outer = tartan.asarray(np.zeros(4))

    def f(x):
        outer[0] = x[0]
        return outer

    with pytest.raises(tartan.MappedError, match="at"):
        tartan.vmap(f)(X)
    _same(outer, np.zeros(4))
    with pytest.raises(tartan.MappedError, match="at"):
        tartan.vmap(lambda x: tartan.vmap(lambda y: x.__setitem__(0, y))(X[0]))(X)


def test_numbers_of_python_and_arrays_within():
    _same(tartan.vmap(lambda x: 2 - x / 3 + np.arange(4.0))(X), 2 - X / 3 + np.arange(4.0))
    half = X.astype("float16")
    got = tartan.vmap(lambda x: x + 1)(half)
    assert got.dtype == "float16"


def test_the_same_numbers_as_without_it():
    keys = random.split(random.key(5), 3)
    many = tartan.vmap(lambda k: random.normal(k, (100,)))(keys).numpy()
    for k in range(3):
        np.testing.assert_array_equal(many[k], random.normal(keys[k], (100,)).numpy())


def test_programs_do_not_depend_on_threads():
    results = {}

    def work(k):
        results[k] = tartan.vmap(tartan.vmap(lambda x: x * k + 1))(X).numpy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        _same(results[k], X * k + 1)


def test_it_is_left_when_the_function_raises():
    with pytest.raises(ZeroDivisionError):
        tartan.vmap(lambda x: 1 / 0)(X)
    assert tartan.function(lambda x: x * 2).signatures == 0
    f = tartan.function(lambda x: x * 2)
    f(X)
    assert f.signatures == 1  # captured, because it is not called in a mapped function
