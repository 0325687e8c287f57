# SPDX-License-Identifier: Apache-2.0
"""Matmuls and tensor contractions."""

import numpy as np

from .draw import array, broadcastable, dim, given, maybe, pick, recipe, shape


@recipe("MatMul")
def matmul(rng, _):
    m, k, n = dim(rng), dim(rng), dim(rng)
    batch_a, batch_b = broadcastable(rng, 2, 2)
    first = batch_a + [m, k] if rng.random() < 0.85 else [k]
    second = batch_b + [k, n] if rng.random() < 0.85 else [k]
    dtype = pick(rng, (np.float32, np.float64, np.float16, np.int32, np.int64))
    return [array(rng, first, dtype), array(rng, second, dtype)], {}, 1


@recipe("Gemm")
def gemm(rng, _):
    m, k, n = dim(rng), dim(rng), dim(rng)
    turn_a, turn_b = int(rng.integers(2)), int(rng.integers(2))
    dtype = pick(rng, (np.float32, np.float64))
    a = array(rng, [k, m] if turn_a else [m, k], dtype)
    b = array(rng, [n, k] if turn_b else [k, n], dtype)
    c = array(rng, pick(rng, ([m, n], [1, n], [n], [m, 1], [1], [])), dtype)
    attributes = given(transA=turn_a, transB=turn_b, alpha=maybe(rng, 0.5), beta=maybe(rng, 0.25))
    return [a, b, c] if rng.random() < 0.7 else [a, b], attributes, 1


@recipe("Einsum")
def einsum(rng, _):
    equation, *forms = pick(
        rng,
        (
            ("ij,jk->ik", "ij", "jk"),
            ("ij->ji", "ij"),
            ("ij->", "ij"),
            ("ii->i", "ii"),
            ("i,j->ij", "i", "j"),
            ("bij,bjk->bik", "bij", "bjk"),
            ("ij,ij->i", "ij", "ij"),
            ("bij->bj", "bij"),
            ("i,i", "i", "i"),
            ("ij,jk,kl->il", "ij", "jk", "kl"),
            ("abc,cd,ad->b", "abc", "cd", "ad"),
            ("...ij,...jk->...ik", "aij", "ajk"),
            ("...i->...", "abi"),
            ("ij, jk", "ij", "jk"),
            ("ii", "ii"),
        ),
    )
    sizes = {letter: dim(rng) for letter in "abcdijkl"}
    return (
        [array(rng, [sizes[l] for l in form], np.float32) for form in forms],
        {"equation": equation},
        1,
    )


@recipe("Det")
def det(rng, _):
    n = int(rng.integers(1, 5))
    return [array(rng, shape(rng, 0, 2, zero=False) + [n, n], np.float32)], {}, 1
