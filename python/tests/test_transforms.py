# SPDX-License-Identifier: Apache-2.0
"""Jacobians, custom derivatives, conditions and loops, compared with formulas, finite differences, and JAX if it is
installed."""

import numpy as np
import pytest

import tartan

_W = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
_X = np.linspace(-1, 1, 4, dtype="float32")


def _f(x):
    return tartan.tanh(tartan.asarray(_W) @ x)


def _slope():
    return (1 - np.tanh(_W @ _X) ** 2)[:, None] * _W


def test_a_jacobian_has_the_shapes_of_result_and_argument():
    np.testing.assert_allclose(np.asarray(tartan.jacobian(_f)(_X)), _slope(), rtol=1e-5)
    both = tartan.jacobian(lambda a, b: {"p": a @ b, "s": tartan.sum(a)}, argnums=(0, 1))
    a, b = np.ones((2, 3), "float32"), np.arange(3, dtype="float32")
    found = both(a, b)
    assert found["p"][0].shape == (2, 2, 3) and found["p"][1].shape == (2, 3) and found["s"][0].shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(found["p"][0]), np.eye(2)[:, :, None] * b)
    np.testing.assert_array_equal(np.asarray(found["s"][1]), np.zeros(3))
    hessian = tartan.jacobian(tartan.grad(lambda x: tartan.sum(x ** 3)))(_X)
    np.testing.assert_allclose(np.asarray(hessian), np.diag(6 * _X), atol=1e-5)
    assert tartan.jacobian(lambda x: x[:0])(_X).shape == (0, 4)
    with pytest.raises(ValueError, match="only floats"):
        tartan.jacobian(lambda x: tartan.argmax(x))(_X)
    captured = tartan.function(tartan.jacobian(_f))
    np.testing.assert_allclose(np.asarray(captured(tartan.asarray(_X))), _slope(), rtol=1e-5)


def test_products_with_the_jacobian_from_both_sides():
    direction, weights = np.float32([1, 0, -2, 0.5]), np.float32([1, 2, 3])
    value, along = tartan.jvp(_f, (_X,), (direction,))
    np.testing.assert_allclose(np.asarray(value), np.tanh(_W @ _X), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(along), _slope() @ direction, rtol=1e-5)
    value, pull = tartan.vjp(_f, _X)
    np.testing.assert_allclose(np.asarray(pull(tartan.asarray(weights))[0]), _slope().T @ weights, rtol=1e-5)
    _, pull = tartan.vjp(lambda a: (a * 2, tartan.sum(a)), _X)
    np.testing.assert_array_equal(np.asarray(pull((tartan.ones(4), tartan.asarray(3.0)))[0]), np.full(4, 5))
    with pytest.raises(ValueError, match="vjp: the derivatives are"):
        pull(tartan.ones(4))
    with pytest.raises(ValueError, match="jvp: the tangents are"):
        tartan.jvp(_f, (_X,), (direction[:3],))
    _, parts = tartan.jvp(lambda a, n: (a * n, n), (_X, tartan.asarray(3)), (direction, tartan.asarray(1)))
    np.testing.assert_array_equal(np.asarray(parts[0]), 3 * direction)
    assert parts[1].item() == 0


def test_functions_bring_derivatives_of_their_own():
    calls = []

    @tartan.custom_gradient
    def log1pexp(x):
        calls.append(1)
        e = tartan.exp(x)
        return tartan.log1p(e), lambda g: g * (1 - 1 / (1 + e))

    x = np.float32([100, -3, 0])  # the formula's own derivative is NaN at 100
    slope = tartan.grad(lambda a: tartan.sum(log1pexp(a)))(x)
    np.testing.assert_allclose(np.asarray(slope), 1 / (1 + np.exp(-x.astype("float64"))), rtol=1e-6)
    _, pull = tartan.vjp(log1pexp, x)
    np.testing.assert_allclose(np.asarray(pull(tartan.ones(3))[0])[0], 1)
    np.testing.assert_allclose(np.asarray(tartan.jvp(log1pexp, (x,), (np.ones(3, "float32"),))[1])[0], 1)
    captured = tartan.function(tartan.grad(lambda a: tartan.sum(log1pexp(a))))
    np.testing.assert_allclose(np.asarray(captured(tartan.asarray(x))), np.asarray(slope))

    @tartan.custom_gradient
    def two(a, b, name="n"):
        return {"p": a * b}, lambda g: (g["p"] * 10, None)

    by = tartan.grad(lambda a, b: tartan.sum(two(a, b)["p"]), argnums=(0, 1))(x, x)
    assert by[0].tolist() == [10, 10, 10] and by[1].tolist() == [0, 0, 0]

    @tartan.custom_gradient
    def wrong(a):
        return a, lambda g: (g, g)

    with pytest.raises(ValueError, match="2 derivatives for 1 tensors"):
        tartan.grad(lambda a: tartan.sum(wrong(a)))(x)


def test_what_is_stopped_has_no_derivative():
    slope = tartan.grad(lambda x: tartan.sum(tartan.stop_gradient({"a": x})["a"] * x))(_X)
    np.testing.assert_array_equal(np.asarray(slope), _X)
    assert tartan.stop_gradient(tartan.asarray([1, 2])).tolist() == [1, 2]


def test_a_condition_runs_one_branch_or_chooses():
    ran = []

    def higher(x):
        ran.append("higher")
        return {"y": x + 1}

    def lower(x):
        ran.append("lower")
        return {"y": x - 1}

    f = lambda x: tartan.cond(x[0] > 0, higher, lower, x)  # noqa: E731
    assert f(tartan.ones(2))["y"].tolist() == [2, 2] and ran == ["higher"]
    captured = tartan.function(f)
    assert captured(tartan.ones(2))["y"].tolist() == [2, 2] and captured(-tartan.ones(2))["y"].tolist() == [-2, -2]
    rows = tartan.vmap(f)(tartan.asarray(np.float32([[1, 2], [-1, 2]])))
    assert rows["y"].tolist() == [[2, 3], [-2, 1]]
    v = tartan.Variable(np.zeros(2))
    assigning = tartan.function(lambda x: tartan.cond(x[0] > 0, lambda: v.assign(x) * 1, lambda: x * 1))
    assigning(-tartan.ones(2))
    assert v.numpy().tolist() == [0, 0]
    assigning(tartan.ones(2))
    assert v.numpy().tolist() == [1, 1]
    with pytest.raises(TypeError, match="both branches must return the same"):
        tartan.function(lambda x: tartan.cond(x[0] > 0, lambda: x, lambda: x[:1]))(tartan.ones(2))
    with pytest.raises(TypeError, match="the condition must be one bool"):
        tartan.cond(tartan.ones(2) > 0, lambda: 1, lambda: 2)


def test_a_loop_runs_as_long_as_its_condition_holds():
    def f(x):
        return tartan.while_loop(lambda v: tartan.sum(v[1]) < 50, lambda v: (v[0] + 1, v[1] * 2), (tartan.asarray(0), x),
                                 maximum_iterations=12)

    for g in (f, tartan.function(f)):
        count, x = g(tartan.ones(3))
        assert count.item() == 5 and x.tolist() == [32, 32, 32]
    assert tartan.while_loop(lambda v: v < 0, lambda v: v + 1, 3).item() == 3
    assert tartan.while_loop(lambda v: v < 9, lambda v: v + 1, 3, maximum_iterations=2).item() == 5
    slope = tartan.grad(lambda a: tartan.sum(f(a)[1]))(tartan.ones(3))
    assert slope.tolist() == [32, 32, 32]
    with pytest.raises(NotImplementedError, match="needs maximum_iterations"):
        tartan.function(lambda x: tartan.while_loop(lambda v: v[0] < 9, lambda v: v + 1, x))(tartan.ones(3))
    with pytest.raises(TypeError, match="the body must return the shapes and types"):
        tartan.while_loop(lambda v: v[0] < 9, lambda v: v[:1] + 1, tartan.ones(2))


def test_a_scan_carries_and_stacks():
    def f(x, reverse=False):
        return tartan.scan(lambda c, a: (c * 0.5 + a, {"y": c * a, "none": None}), tartan.asarray(1.0), x, reverse=reverse)

    def by_hand(x, reverse):
        carry, results = np.float32(1), []
        for a in x[::-1] if reverse else x:
            results.append(carry * a)
            carry = carry * np.float32(0.5) + a
        return carry, results[::-1] if reverse else results

    x = np.arange(1, 6, dtype="float32")
    for reverse in (False, True):
        for g in (f, tartan.function(f)):
            carry, results = g(tartan.asarray(x), reverse)
            wanted, rows = by_hand(x, reverse)
            np.testing.assert_allclose(float(carry), wanted, rtol=1e-6)
            np.testing.assert_allclose(results["y"].tolist(), rows, rtol=1e-6)
            assert results["none"] is None
    slope = tartan.grad(lambda a: f(a)[0])(tartan.asarray(x))
    np.testing.assert_allclose(slope.tolist(), [0.5 ** k for k in range(4, -1, -1)])
    carry, results = f(tartan.asarray(x[:0]))
    assert float(carry) == 1 and results["y"].shape == (0,)
    carry, results = tartan.scan(lambda c, _: (c * 2, c), tartan.asarray(1), length=4)
    assert carry.item() == 16 and results.tolist() == [1, 2, 4, 8]
    with pytest.raises(TypeError, match="a carry of the same shapes and types"):
        tartan.scan(lambda c, a: (tartan.stack([c, a]), None), tartan.asarray(1.0), tartan.asarray(x))
    with pytest.raises(ValueError, match="neither xs nor length"):
        tartan.scan(lambda c, a: (c, a), tartan.asarray(1.0))
    with pytest.raises(ValueError, match="one size along the first axis"):
        tartan.scan(lambda c, a: (c, a), 0, (tartan.ones(3), tartan.ones(4)))


def test_the_same_as_jax_where_it_is_installed():
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax")
    jnp, lax = jax.numpy, jax.lax
    f = {"tartan": lambda x: tartan.tanh(tartan.asarray(_W) @ x), "jax": lambda x: jnp.tanh(jnp.asarray(_W) @ x)}
    t = np.float32([1, 0, -2, 0.5])
    for ours, theirs in zip(tartan.jvp(f["tartan"], (_X,), (t,)), jax.jvp(f["jax"], (_X,), (t,))):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(tartan.jacobian(f["tartan"])(_X)), jax.jacobian(f["jax"])(_X), rtol=1e-5)
    step = lambda c, a: (c * 0.5 + a, c * a)  # noqa: E731
    for ours, theirs in zip(tartan.scan(step, tartan.asarray(1.0), tartan.asarray(_X), reverse=True),
                            lax.scan(step, jnp.float32(1), jnp.asarray(_X), reverse=True)):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5)
    ours = tartan.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * 2), (tartan.asarray(0), tartan.asarray(_X)))
    theirs = lax.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * 2), (0, jnp.asarray(_X)))
    np.testing.assert_allclose(np.asarray(ours[1]), theirs[1])
    assert tartan.cond(True, lambda a: a + 1, lambda a: a - 1, tartan.asarray(1)).item() == \
        int(lax.cond(True, lambda a: a + 1, lambda a: a - 1, 1))
