# SPDX-License-Identifier: Apache-2.0
"""The regularized lower incomplete gamma function P(a, x), computed by NumPy in float64."""

import math

import numpy as np

_STEPS = 1000  # more than any element needs below a = 10,000
_TINY = 1e-300


def _by_series(a, x):
    """Sums x^n / (a (a + 1) … (a + n)), which converges fast for x < a + 1."""
    term = total = 1 / a
    for n in range(1, _STEPS):
        term = term * x / (a + n)
        total = total + term
        if np.all(term <= total * 1e-17):
            break
    return total


def _by_fraction(a, x):
    """Evaluates the continued fraction of 1 - P by Lentz's method, for x >= a + 1."""
    b = x + 1 - a
    c, d = np.full_like(b, 1 / _TINY), 1 / b
    total = d
    for n in range(1, _STEPS):
        factor, b = -n * (n - a), b + 2
        d, c = factor * d + b, b + factor / c
        d, c = 1 / np.where(np.abs(d) < _TINY, _TINY, d), np.where(np.abs(c) < _TINY, _TINY, c)
        total = total * d * c
        if np.all(np.abs(d * c - 1) < 1e-16):
            break
    return total


def lower_gamma(a, x):
    """Returns P(a, x) of two arrays that broadcast; NaN for negative arguments and for P(0, 0)."""
    a, x = np.broadcast_arrays(np.asarray(a, "float64"), np.asarray(x, "float64"))
    result = np.full(a.shape, np.nan)
    result[(x == 0) & (a > 0)] = 0
    result[((a == 0) & (x > 0)) | (np.isfinite(a) & (a >= 0) & (x == np.inf))] = 1
    result[(a == np.inf) & (x >= 0) & np.isfinite(x)] = 0
    regular = np.isfinite(a) & np.isfinite(x) & (a > 0) & (x > 0)
    for is_chosen, evaluate in ((x < a + 1, _by_series), (x >= a + 1, _by_fraction)):
        chosen = regular & is_chosen
        if chosen.any():
            u, v = a[chosen], x[chosen]
            factor = np.exp(u * np.log(v) - v - np.array([math.lgamma(value) for value in u]))
            found = factor * evaluate(u, v)
            result[chosen] = found if evaluate is _by_series else 1 - found
    return result
