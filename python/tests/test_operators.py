# SPDX-License-Identifier: Apache-2.0
"""Operators and indexing of tensors compared with NumPy."""

import operator

import numpy as np
import pytest
import tartan

A = np.arange(24, dtype="float32").reshape(2, 3, 4) - 7
B = (np.arange(12, dtype="float32").reshape(3, 4) + 2) / 3

INDICES = [
    0, -1, (1, 2), (1, 2, 3), slice(1, None), (..., 2), (slice(None), slice(None, None, -1)), (0, slice(2, 0, -1), 1),
    (None, 1, ..., None), (slice(None), 1, slice(1, 10, 2)), ..., (), slice(5, 2), (slice(None), [0, 2]),
    ([1, 0], slice(None), [3, 3]), (slice(None), np.array([[0, 1], [2, 2]]), np.array([1, -1])), (0, [1, 1]),
    ([0, 1], [2, 0], [1, 1]), (slice(None), np.array([True, False, True])), A > 2, (1, A[1] > 9), (..., np.array(2)),
    (slice(-2, None), slice(-1, -4, -2)), np.zeros((0,), "int64"), (np.array([1, 0]), ..., None),
]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le",
                                  "gt", "ge"])
def test_operators_of_floats_agree_with_numpy(name):
    function = getattr(operator, name)
    x, y = tartan.asarray(abs(A) + 1), tartan.asarray(B)
    for left, right, want in ((x, y, function(abs(A) + 1, B)), (x, 2, function(abs(A) + 1, np.float32(2))),
                              (3, y, function(np.float32(3), B)), (x, B, function(abs(A) + 1, B)),
                              (B, y, function(B, B))):
        got = function(left, right)
        assert isinstance(got, tartan.Tensor)
        assert got.numpy().dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("name", ["and_", "or_", "xor", "lshift", "rshift", "floordiv", "mod"])
def test_operators_of_integers_agree_with_numpy(name, dtype):
    if dtype == "bool" and name not in ("and_", "or_", "xor"):
        pytest.skip("of numbers")
    function = getattr(operator, name)
    a, b = np.array([5, 3, 0, 100]).astype(dtype), np.array([1, 2, 3, 4]).astype(dtype)
    got = function(tartan.asarray(a), tartan.asarray(b))
    np.testing.assert_array_equal(got.numpy(), function(a, b), strict=True)


def test_python_numbers_give_way_to_the_type_of_a_tensor():
    x = tartan.asarray([1, 2, 3], dtype="int8")
    assert (x + 1).dtype == (1 + x).dtype == "int8"
    assert (tartan.asarray(1.0, dtype="float16") * 2.5).dtype == "float16"
    with pytest.raises(OverflowError):
        x + 1000
    with pytest.raises(TypeError):
        x + "1"
    assert (x == None) is False  # noqa: E711


def test_in_place_operators_give_the_name_another_tensor():
    x = y = tartan.asarray([1.0, 2.0])
    x += 1
    assert x.tolist() == [2, 3] and y.tolist() == [1, 2]


def test_numbers_of_python_come_out_of_tensors_without_dimensions():
    assert float(tartan.asarray(2.5)) == 2.5 and int(tartan.asarray(3)) == 3 and bool(tartan.asarray(True))
    assert [10, 20][tartan.asarray(1)] == 20
    with pytest.raises(TypeError):
        operator.index(tartan.asarray(1.0))
    with pytest.raises(TypeError):
        len(tartan.asarray(1.0))
    assert [row.tolist() for row in tartan.asarray([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_elements_are_those_of_numpy(index):
    np.testing.assert_array_equal(tartan.asarray(A)[index].numpy(), A[index], strict=True)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max"])
def test_changed_elements_are_those_of_numpy(index, how):
    value = np.random.default_rng(0).normal(size=A[index].shape).astype("float32")
    change = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}.get(how)
    want = A.copy()
    if how == "set":
        if A[index].size != len(np.unique(np.arange(A.size).reshape(A.shape)[index])):
            value = np.full_like(value, 5)  # repeated positions
        want[index] = value
    else:
        change.at(want, index, value)
    got = getattr(tartan.asarray(A).at[index], how)(value)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("index", [[slice(None), slice(0, 1)], [Ellipsis, 0], [None, 1], [slice(None), [0, 1]]], ids=str)
def test_a_list_with_slices_is_an_index_of_several_entries(index):
    np.testing.assert_array_equal(tartan.asarray(A)[index].numpy(), A[tuple(index)], strict=True)
    x, want = tartan.asarray(A), A.copy()
    x[index], want[tuple(index)] = 7, 7
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize("index", [5, (0, 3), (0, 0, 0, 0), [2], (..., ...), 1.5, "a", np.array([True, False, True])])
def test_indices_that_do_not_fit_are_errors(index):
    with pytest.raises(IndexError):
        tartan.asarray(A)[index]


def test_errors_of_shapes_name_the_function_and_both_shapes():
    x, y = tartan.asarray(A), tartan.asarray(np.ones(5, "float32"))
    for function, name in ((tartan.subtract, "subtract"), (operator.mul, "multiply"), (tartan.equal, "equal"),
                           (lambda x, y: tartan.where(x > 0, x, y), "where")):
        with pytest.raises(ValueError, match=rf"^{name}: shapes \[2, 3, 4\] and \[5\] do not broadcast$"):
            function(x, y)


def test_assigning_elements_changes_one_tensor_alone():
    x = tartan.asarray(A)
    y, z = x + 1, tartan.asarray(x, copy=True)
    x[0, :, 1] = 5
    x[x > 10] = 0
    want = A.copy()
    want[0, :, 1] = 5
    want[want > 10] = 0
    np.testing.assert_array_equal(x.numpy(), want)
    np.testing.assert_array_equal(y.numpy(), A + 1)
    np.testing.assert_array_equal(z.numpy(), A)
    assert tartan.positive(3).tolist() == 3


def derivative(f, x, step=1e-5):
    """Central differences of a function of a float64 array."""
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * step
            ends.append(float(f(tartan.asarray(moved))))
        result[at] = (ends[0] - ends[1]) / (2 * step)
    return result


@pytest.mark.parametrize("f", [
    lambda x: (x[1] * x[0, ::-1]).sum(), lambda x: (x[:, [0, 2, 0]] ** 2).sum(), lambda x: (x[x > 0] ** 3).sum(),
    lambda x: (x.at[0, 1:].set(x[1, :-1] * 2) ** 2).sum(), lambda x: (x.at[[0, 0], [1, 1]].add(x[1, :2]) ** 2).sum(),
    lambda x: (x @ x.T / (2 + x[0, 0]) - x.mT.sum()).sum(), lambda x: abs(-x % 0.7).sum(),
    lambda x: (x.at[1].multiply(x[0]) ** 2).sum(), lambda x: (x[..., None, 1] ** 2 // 3 + x[..., None, 1]).sum(),
])
def test_derivatives_are_those_of_differences(f):
    x = np.random.default_rng(1).normal(size=(2, 3))
    np.testing.assert_allclose(tartan.grad(f)(tartan.asarray(x)).numpy(), derivative(f, x), rtol=1e-6, atol=1e-7)


def test_derivatives_by_a_tensor_that_was_assigned_to_are_refused():
    x = tartan.asarray([1.0, 2.0])
    with tartan.recording():
        before = tartan.copy(x)
        y = x * x
        x[0] = 5.0
        after = tartan.copy(x)
        z = x * x
        for loss in (y, z):
            with pytest.raises(ValueError, match="copy"):
                tartan.gradients(tartan.sum(loss), [x])
        np.testing.assert_array_equal(tartan.gradients(tartan.sum(y), [before])[0].numpy(), [2, 4])
        np.testing.assert_array_equal(tartan.gradients(tartan.sum(z), [before])[0].numpy(), [0, 4])
        np.testing.assert_array_equal(tartan.gradients(tartan.sum(z), [after])[0].numpy(), [10, 4])
    with pytest.raises(ValueError, match="copy"):
        tartan.gradients(tartan.sum(y), [x])
    with tartan.recording():  # records only the current value
        np.testing.assert_array_equal(tartan.gradients(tartan.sum(x * x), [x])[0].numpy(), [10, 4])


def test_elements_of_tensors_around_a_captured_function_are_not_assigned_to():
    outer = tartan.asarray([1.0, 2.0])

    @tartan.function
    def inside(x):
        outer[0] = x[0]
        return x

    with pytest.raises(RuntimeError, match="Variable"):
        inside(tartan.asarray([3.0, 4.0]))
    np.testing.assert_array_equal(outer.numpy(), [1, 2])
    outer[1] = 7.0
    np.testing.assert_array_equal(outer.numpy(), [1, 7])


def test_results_of_captured_functions_are_tensors_from_around_others():
    outer = tartan.function(lambda x: x * 2)(tartan.asarray([1.0, 2.0]))
    held = tartan.Variable(np.zeros(2))
    held.assign(outer)

    @tartan.function
    def inside(x):
        outer[0] = x[0]
        return x

    with pytest.raises(RuntimeError, match="Variable"):
        inside(tartan.asarray([3.0, 4.0]))
    outer[1] = 7.0
    np.testing.assert_array_equal(outer.numpy(), [2, 7])
    np.testing.assert_array_equal(tartan.vmap(lambda x: x + 1)(outer).numpy(), [3, 8])


def test_elements_of_tensors_of_a_captured_function_are_assigned_to():
    held = tartan.Variable(np.array([1.0, 2.0], "float32"))

    @tartan.function
    def inside(x):
        given, made, value = x, tartan.zeros(2), held.value
        x[0], made[1], value[0] = 9.0, x[0], 5.0
        held.assign(value)
        value[1] = 6.0
        return given + made, value, held.value

    x = tartan.asarray([3.0, 4.0])
    sums, value, kept = inside(x)
    np.testing.assert_array_equal(sums.numpy(), [9, 7])
    np.testing.assert_array_equal(value.numpy(), [5, 6])
    np.testing.assert_array_equal(kept.numpy(), [5, 2])
    np.testing.assert_array_equal(held.numpy(), [5, 2])
    np.testing.assert_array_equal(x.numpy(), [3, 4])


def test_objects_without_a_hash_have_programs_of_their_own():
    class Scale:
        __hash__ = None

        def __init__(self, by):
            self.by = by

    f = tartan.function(lambda x, scale: x * scale.by)
    x = tartan.asarray([1.0])
    for by in range(40):  # each object may reuse the address of the previous one
        assert f(x, Scale(by)).item() == by
    same = Scale(3)
    before = f.signatures
    assert f(x, same).item() == f(x, same).item() == 3 and f.signatures == before + 1


def test_numbers_that_differ_have_programs_of_their_own():
    f = tartan.function(lambda x, y: tartan.copysign(x, y))
    x = tartan.asarray([1.0])
    assert [f(x, y).item() for y in (0.0, -0.0, 0.0)] == [1, -1, 1]
    g = tartan.function(lambda x, y: x + y)
    assert all(np.isnan(g(x, float("nan")).item()) for _ in range(3)) and g.signatures == 1


def test_assignment_within_a_derivative_is_a_part_of_it():
    def f(x):
        x[0] = x[1] * 3
        return (x * x).sum()

    got = tartan.grad(f)(tartan.asarray([1.0, 2.0]))
    assert got.tolist() == [0.0, 40.0]


def test_captured_functions_index_by_what_they_compute():
    @tartan.function
    def f(x, i):
        y = x.at[i].set(0.0)
        return x[i], x[:, i], y[1:]

    x = A[0, :, :3]
    row, column, rest = f(tartan.asarray(x), tartan.asarray([2, 0]))
    np.testing.assert_array_equal(row.numpy(), x[[2, 0]])
    np.testing.assert_array_equal(column.numpy(), x[:, [2, 0]])
    want = x.copy()
    want[[2, 0]] = 0
    np.testing.assert_array_equal(rest.numpy(), want[1:])
    with pytest.raises(tartan.ConcretizationError):
        tartan.function(lambda x: x[x > 0])(tartan.asarray(x))


def test_attributes_of_the_standard():
    x = tartan.asarray(A)
    assert x.shape == (2, 3, 4) and x.ndim == 3 and x.size == 24 and x.dtype == tartan.float32
    assert x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.to_device(x.device) is x and x.__array_namespace__() is tartan
    with pytest.raises(ValueError):
        x.to_device("elsewhere")
    with pytest.raises(ValueError):
        tartan.asarray([1.0]).mT
    np.testing.assert_array_equal(np.from_dlpack(x), A)
    np.testing.assert_array_equal(np.asarray(x, dtype="float64"), A)


def test_a_text_of_tile_is_checked_when_it_is_given_and_by_its_name():
    with pytest.raises(ValueError, match="^my_op:1:"):
        tartan.tile("function (A[N] -> (C) { C = A; }", name="my_op")
    with pytest.raises(ValueError, match="^tile:1:"):
        tartan.tile("function (A[N] -> (C) { C = A; }")
    add = tartan.tile("function (A, B) -> (C) { C = A + B; }", name="add")
    np.testing.assert_array_equal(np.asarray(add(np.ones(3), np.ones(3))), np.full(3, 2.0))
    with pytest.raises(ValueError, match="add: the function takes 2 inputs, not 1"):
        add(np.ones(3))
    with pytest.raises(ValueError, match="add:1:"):
        add(np.ones(3), np.ones(4))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_neighbours_of_floats_are_those_of_numpy(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2, 1e-7, 60000], dtype)
    for to in (np.inf, -np.inf, 0.0, np.nan):
        with np.errstate(all="ignore"):
            wanted = np.nextafter(x, np.full_like(x, to))
        np.testing.assert_array_equal(tartan.nextafter(x, np.full_like(x, to)).numpy(), wanted, strict=True)


@pytest.mark.parametrize("index", [0, -1, (1, 2), (-2, 0, 3), np.int64(1), True])
def test_leading_numbers_of_an_index_follow_numpy(index):
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(tartan.asarray(values)[index].numpy(), values[index])


@pytest.mark.parametrize("index", [2, -3, (0, 3), (1, -4), (0, 0, 0, 0)])
def test_numbers_beyond_a_tensor_are_index_errors(index):
    with pytest.raises(IndexError):
        tartan.asarray(np.zeros((2, 3, 4)))[index]


def test_constants_of_equal_numbers_keep_sign_and_type():
    x = tartan.asarray(np.ones(2, "float32"))
    assert np.signbit((x * 0.0).numpy()).tolist() == [False, False]
    assert np.signbit((x * -0.0).numpy()).tolist() == [True, True]
    assert [(x + 1).dtype, (tartan.asarray([1]) + 1).dtype, (tartan.asarray([1]) + 1.0).dtype] == ["float32", "int32", "float32"]
    assert np.isnan((x * float("nan")).numpy()).all()


def test_an_operation_on_other_shapes_gives_other_shapes():
    for shape in ((2, 3), (3, 3), (2, 3), (1, 3), (3,)):
        assert (tartan.asarray(np.zeros(shape, "float32")) + np.zeros((3, 1, 3), "float32")).shape == np.broadcast_shapes(
            shape, (3, 1, 3))
    with pytest.raises(ValueError):
        tartan.asarray(np.zeros((2, 2))) + np.zeros((3, 1, 3))
