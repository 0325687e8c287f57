# SPDX-License-Identifier: Apache-2.0
"""Random numbers by key: published values of Threefry, equal numbers eager and captured, and distributions."""

import math

import numpy as np
import pytest
import tartan
from tartan import random


@pytest.mark.parametrize("key, counter, wanted", [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0))])
def test_published_values(key, counter, wanted):
    words = [tartan.asarray(np.array([v], "uint32")) for v in (*key, *counter)]
    assert tuple(int(np.asarray(x)[0]) for x in tartan.tile(random._THREEFRY, *words)) == wanted


def _key(seed=7):
    return random.key(seed)


_DRAWS = {
    "uniform": (lambda k: random.uniform(k, (60, 70)), 0.5, 1 / 12),
    "uniform in a range": (lambda k: random.uniform(k, (4200,), minval=-2.0, maxval=4.0), 1.0, 3.0),
    "uniform float64": (lambda k: random.uniform(k, (4200,), tartan.float64), 0.5, 1 / 12),
    "uniform float16": (lambda k: random.uniform(k, (4200,), tartan.float16), 0.5, 1 / 12),
    "normal": (lambda k: random.normal(k, (60, 70)), 0.0, 1.0),
    "normal float64": (lambda k: random.normal(k, (4200,), tartan.float64), 0.0, 1.0),
    "exponential": (lambda k: random.exponential(k, (4200,)), 1.0, 1.0),
    "gumbel": (lambda k: random.gumbel(k, (4200,)), 0.5772, math.pi**2 / 6),
    "randint": (lambda k: random.randint(k, (4200,), -3, 4), 0.0, 4.0),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (4200,)), 0.3, 0.21),
    "categorical": (lambda k: random.categorical(k, np.log(np.array([0.5, 0.25, 0.25], "float32")), shape=(4200,)), 0.75, 0.6875),
}


@pytest.mark.parametrize("name", _DRAWS)
def test_distributions(name):
    draw, mean, variance = _DRAWS[name]
    x = np.asarray(draw(_key())).astype("float64")
    error = math.sqrt(variance / x.size)
    assert abs(x.mean() - mean) < 4 * error
    assert abs(x.var() - variance) < 0.1 * variance + 0.01
    np.testing.assert_array_equal(x, np.asarray(draw(_key())))
    assert not np.array_equal(x, np.asarray(draw(_key(8))))
    captured = np.asarray(tartan.function(draw)(_key())).astype("float64")
    np.testing.assert_allclose(captured, x, rtol=1e-5, atol=1e-6)


def test_ends_of_ranges():
    assert 0 <= np.asarray(random.uniform(_key(), (9000,))).min() and np.asarray(random.uniform(_key(), (9000,))).max() < 1
    assert set(np.asarray(random.randint(_key(), (500,), -2, 2)).tolist()) == {-2, -1, 0, 1}
    assert np.asarray(random.randint(_key(), (50,), 0, 2**32, tartan.int64)).max() > 2**31


def test_keys_differ():
    keys = np.asarray(random.split(_key(), 100))
    assert keys.shape == (100, 2) and len({tuple(k) for k in keys}) == 100
    folded = {tuple(np.asarray(random.fold_in(_key(), n))) for n in range(50)}
    assert len(folded) == 50 and not folded & {tuple(k) for k in keys}
    step = tartan.asarray(np.array(9, "int32"))
    np.testing.assert_array_equal(np.asarray(random.fold_in(_key(), step)), np.asarray(random.fold_in(_key(), 9)))


def test_streams_of_split_keys_are_not_correlated():
    a, b = (np.asarray(random.normal(k, (5000,))) for k in random.split(_key()))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.06


def test_permutations():
    order = np.asarray(random.permutation(_key(), 300))
    assert sorted(order.tolist()) == list(range(300)) and not np.array_equal(order, np.arange(300))
    x = np.arange(12, dtype="float32").reshape(3, 4)
    mixed = np.asarray(random.permutation(_key(), tartan.asarray(x), axis=1))
    assert sorted(mixed[0].tolist()) == x[0].tolist() and np.array_equal(mixed[1] - mixed[0], [4] * 4)


def test_what_is_no_key_is_refused():
    with pytest.raises(ValueError, match="uint32"):
        random.uniform(tartan.asarray(np.zeros(2, "int32")))
    with pytest.raises(ValueError, match="0 integers"):
        random.randint(_key(), (3,), 4, 4)
    with pytest.raises(TypeError):
        random.normal(_key(), (3,), tartan.int32)


def test_drawing_has_gradients_of_what_is_scaled():
    gradient = tartan.grad(lambda s: tartan.sum(random.normal(_key(), (6,)) * s))(tartan.asarray(np.ones(6, "float32")))
    np.testing.assert_allclose(np.asarray(gradient), np.asarray(random.normal(_key(), (6,))), rtol=1e-6)
