# SPDX-License-Identifier: Apache-2.0
"""First and second derivatives of tartan.linalg compared with central differences in float64."""

import numpy as np
import pytest
import tartan
from tartan import linalg

_RANDOM = np.random.default_rng(3)


def _symmetric(x):
    return (x + x.mT) / 2


def _positive(x):
    return x @ x.mT + 2 * tartan.eye(x.shape[-2], dtype=x.dtype)


# Results that do not depend on the signs of a factorization's vectors.
CASES = {
    "inv": ((3, 3), lambda x: linalg.inv(_positive(x))),
    "solve": ((2, 3, 3), lambda x: linalg.solve(_positive(x), x)),
    "solve of a vector": ((3, 3), lambda x: linalg.solve(_positive(x), x[0])),
    "solve for many": ((3, 3), lambda x: linalg.solve(_positive(x), tartan.stack([x, 2 * x]))),
    "det": ((2, 3, 3), linalg.det),
    "slogdet": ((3, 3), lambda x: linalg.slogdet(x)[1]),
    "cholesky": ((2, 3, 3), lambda x: linalg.cholesky(_positive(x))),
    "upper cholesky": ((3, 3), lambda x: linalg.cholesky(_positive(x), upper=True)),
    "q": ((4, 3), lambda x: linalg.qr(x).Q),
    "r": ((2, 4, 3), lambda x: linalg.qr(x).R),
    "complete qr of squares": ((3, 3), lambda x: linalg.qr(x, mode="complete").Q),
    "eigenvalues": ((2, 3, 3), lambda x: linalg.eigh(_symmetric(x)).eigenvalues),
    "eigenvectors": ((3, 3), lambda x: linalg.eigh(_symmetric(x)).eigenvectors ** 2),
    "singular values": ((2, 3, 4), linalg.svdvals),
    "left vectors": ((4, 3), lambda x: linalg.svd(x, full_matrices=False).U ** 2),
    "right vectors": ((3, 4), lambda x: linalg.svd(x, full_matrices=False).Vh ** 2),
    "all of svd": ((3, 3), lambda x: linalg.svd(x).U[:, :2] * linalg.svd(x).S[:2] @ linalg.svd(x).Vh[:2]),
    "pinv": ((3, 4), linalg.pinv),
    "pinv of high ones": ((2, 4, 3), linalg.pinv),
    "matrix_power": ((3, 3), lambda x: linalg.matrix_power(_positive(x), -3)),
    "nuclear norm": ((3, 4), lambda x: linalg.matrix_norm(x, ord="nuc")),
    "spectral norm": ((3, 4), lambda x: linalg.matrix_norm(x, ord=2)),
    "greatest column": ((3, 4), lambda x: linalg.matrix_norm(x, ord=1)),
    "vector_norm": ((3, 4), lambda x: linalg.vector_norm(x, axis=0, ord=3)),
}


def _differences(f, x, step=1e-5):
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        result[at] = (float(f(tartan.asarray(x + moved))) - float(f(tartan.asarray(x - moved)))) / (2 * step)
    return result


def _case(name):
    shape, f = CASES[name]
    x = np.random.default_rng(sum(map(ord, name))).normal(size=shape)
    weights = tartan.asarray(np.random.default_rng(8).normal(size=f(tartan.asarray(x)).shape))
    return x, lambda v: tartan.sum(f(v) * weights)


@pytest.mark.parametrize("name", CASES)
def test_first_derivatives(name):
    x, f = _case(name)
    np.testing.assert_allclose(tartan.grad(f)(tartan.asarray(x)).numpy(), _differences(f, x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    x, f = _case(name)
    weights = tartan.asarray(np.random.default_rng(9).normal(size=x.shape))

    def slope(v):
        return tartan.sum(tartan.grad(f)(v) * weights)

    np.testing.assert_allclose(tartan.grad(slope)(tartan.asarray(x)).numpy(), _differences(slope, x),
                               rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("f", [
    lambda x: linalg.svd(x).U.sum(), lambda x: linalg.qr(x, mode="complete").Q.sum(), lambda x: linalg.qr(x.T).Q.sum(),
])
def test_derivatives_that_do_not_exist_are_refused(f):
    with pytest.raises(NotImplementedError):
        tartan.grad(f)(tartan.asarray(_RANDOM.normal(size=(4, 3)))).numpy()


@pytest.mark.parametrize("f", [linalg.inv, linalg.cholesky, linalg.eigvalsh, linalg.svdvals, linalg.pinv])
def test_what_needs_values_is_refused_while_a_function_is_captured(f):
    with pytest.raises(NotImplementedError, match="captured"):
        tartan.function(f)(tartan.asarray(np.eye(3)))


def test_shapes_that_do_not_fit_are_refused():
    for f in (linalg.inv, linalg.det, linalg.cholesky, linalg.eigh):
        with pytest.raises(ValueError, match="square"):
            f(tartan.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        linalg.inv(tartan.zeros((2, 2)))
