# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the tartan.linalg functions that run on the host, as compositions of tensor operations. Each
function maps outputs and their cotangents to a list of cotangents of the inputs. `solve` and `inv` are functions of
tartan.linalg. Sources: M. Giles, "An extended collection of matrix derivative results", 2008; for Cholesky, I. Murray,
"Differentiation of the Cholesky decomposition", 2016."""

from tartan import _elementwise as _e
from tartan._creation import eye
from tartan._manipulation import matrix_transpose, reshape, tril
from tartan._matmul import diagonal, matmul
from tartan._tensor import tile1


def _product(first, *others):
    for x in others:
        first = matmul(first, x)
    return first


def _columns(x):
    """Returns a vector along the last axis, shaped to scale columns."""
    return reshape(x, (*x.shape, 1))


def _rows(x):
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def _diagonal_matrix(values):
    return _e.multiply(_columns(values), eye(values.shape[-1], dtype=values.dtype))


def _single(x):
    """Returns one number per matrix, shaped to scale all its elements."""
    return reshape(x, (*x.shape, 1, 1))


def inverse(outputs, derivatives):
    turned = matrix_transpose(outputs[0])
    return [_e.negative(_product(turned, derivatives[0], turned))]


def solution(solve, a, x, g):
    by_right = solve(matrix_transpose(a), g)
    return [_e.negative(matmul(by_right, matrix_transpose(x))), by_right]


def determinant(inv, x, det, g):
    return [_e.multiply(_single(_e.multiply(det, g)), matrix_transpose(inv(x)))]


def log_determinant(inv, x, g):
    return [_e.multiply(_single(g), matrix_transpose(inv(x)))]


def cholesky(solve, lower, g):
    turned = matrix_transpose(lower)
    inner = tril(matmul(turned, g))
    inner = _e.subtract(inner, _e.multiply(_diagonal_matrix(diagonal(inner)), 0.5))
    half = solve(turned, matrix_transpose(solve(turned, matrix_transpose(inner))))
    return [_e.multiply(_e.add(half, matrix_transpose(half)), 0.5)]


def qr(solve, q, r, by_q, by_r):
    m = _e.subtract(matmul(r, matrix_transpose(by_r)), matmul(matrix_transpose(by_q), q))
    below = tril(m, k=-1)
    mirrored = _e.add(_e.add(below, matrix_transpose(below)), _diagonal_matrix(diagonal(m)))
    right = _e.add(by_q, matmul(q, mirrored))
    return [matrix_transpose(solve(r, matrix_transpose(right)))]


# The divisor is never 0. Otherwise derivatives of this expression would contain 0 times infinity, which is NaN.
_GAPS = "function (A, B) -> (Y) { D = A - B; S = D == 0 ? 1.0 : D; Y = D == 0 ? 0.0 : 1.0 / S; }"


def _gaps(values):
    """Returns 1 / (v_j - v_i), or 0 if both are equal."""
    return tile1(_GAPS, _rows(values), _columns(values))


def eigen(values, vectors, by_values, by_vectors):
    turned = matrix_transpose(vectors)
    inner = _e.add(_e.multiply(_gaps(values), matmul(turned, by_vectors)), _diagonal_matrix(by_values))
    result = _product(vectors, inner, turned)
    return [_e.multiply(_e.add(result, matrix_transpose(result)), 0.5)]


def svd(u, s, vh, by_u, by_s, by_vh):
    v, by_v = matrix_transpose(vh), matrix_transpose(by_vh)
    gaps = _gaps(_e.square(s))
    left = _e.multiply(gaps, matmul(matrix_transpose(u), by_u))
    right = _e.multiply(gaps, matmul(vh, by_v))
    inner = _e.add(_e.multiply(_e.add(left, matrix_transpose(left)), _rows(s)), _diagonal_matrix(by_s))
    inner = _e.add(inner, _e.multiply(_columns(s), _e.add(right, matrix_transpose(right))))
    result = _product(u, inner, vh)
    if u.shape[-2] > u.shape[-1]:
        outside = _e.subtract(by_u, _product(u, matrix_transpose(u), by_u))
        result = _e.add(result, matmul(_e.divide(outside, _rows(s)), vh))
    if v.shape[-2] > v.shape[-1]:
        outside = _e.subtract(by_v, _product(v, vh, by_v))
        result = _e.add(result, matmul(u, matrix_transpose(_e.divide(outside, _rows(s)))))
    return [result]


def pseudo_inverse(x, p, g):
    pt, gt = matrix_transpose(p), matrix_transpose(g)
    rows, columns = x.shape[-2:]
    left = _e.subtract(eye(rows, dtype=x.dtype), matmul(x, p))
    right = _e.subtract(eye(columns, dtype=x.dtype), matmul(p, x))
    result = _e.subtract(_product(left, gt, p, pt), _product(pt, g, pt))
    return [_e.add(result, _product(pt, p, gt, right))]
