# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of Tile functions in tartan._core, and its rewriting for tartan.vmap (tartan._mapped_tile)."""

import numpy as np
import pytest
import tartan
from tartan import _core, _mapped_tile
from tartan._core import TileExpr, parse_tile

_CONVOLUTION = """function (I[N, L, CI], K[LK, CI, CO]) -> (R) {
  [[name(conv)]] O[n, x, co : N, L - LK + 1, CO] = +(I[n, x + 2*k, ci] * K[k, ci, co]), k < 5 default D;
  R = O > 0 ? -O : 1.5;
}
"""


def test_a_tree_has_what_the_text_has():
    function = parse_tile(_CONVOLUTION)
    assert (function.inputs, function.outputs, function.has_rules) == (["I", "K"], ["R"], False)
    assert function.dims == [["N", "L", "CI"], ["LK", "CI", "CO"]]
    first, second = function.statements
    assert (first.target, first.value, second.target, second.contraction) == ("O", None, "R", None)
    contraction = first.contraction
    assert (contraction.aggregation, contraction.combination, contraction.default) == ("+", "*", "D")
    assert [i.name for i in contraction.indices] == ["n", "x", "co"]
    assert [name for name, _ in contraction.reads] == ["I", "K"]
    place = contraction.reads[0][1][1]
    assert (place.function, place.arguments[0].name, place.arguments[1].function) == ("add", "x", "mul")
    ((bound, limit),) = contraction.bounds
    assert (bound.name, limit.number) == ("k", 5)
    choice = second.value
    assert (choice.function, [x.function for x in choice.arguments]) == ("cond", ["cmp_gt", "neg", None])
    assert choice.arguments[2].number == 1.5 and isinstance(choice.arguments[2].number, float)


def test_a_printed_tree_parses_to_itself():
    printed = str(parse_tile(_CONVOLUTION))
    assert "[[name(conv)]]" in printed and str(parse_tile(printed)) == printed


def test_a_function_without_sizes_has_no_dims():
    assert parse_tile("function (A, B[]) -> (C) { C = A + B; }").dims == [None, []]


def test_errors_have_the_position():
    with pytest.raises(ValueError, match="net:1:30"):
        parse_tile("function (A) -> (B) { B = A +; }", "net")


def test_a_changed_function_computes():
    function = parse_tile("function (A[N]) -> (B) { B = A + 1; }")
    (statement,) = function.statements
    value = TileExpr.call("mul", [statement.value.with_arguments([TileExpr.of_name("A"), TileExpr.of_number(-3)]),
                                  TileExpr.of_number(2)])
    changed = function.changed([["2"]], [statement.with_value(value)])
    assert str(changed) == "function (A[2]) -> (B) {\n  B = (A + -3) * 2;\n}\n"
    x = tartan.asarray(np.array([1.0, 5.0], "float32"))
    (result,) = _core.apply_tile(changed, [x._value])
    np.testing.assert_array_equal(np.asarray(tartan.Tensor(result)), [-4.0, 4.0])
    with pytest.raises(ValueError, match=r"function \(A\[N\]\)"):  # messages show the text, which people wrote
        _core.apply_tile(changed, [tartan.asarray(np.zeros(3, "float32"))._value])


def test_changes_that_do_not_fit_are_refused():
    function = parse_tile("function (A[N]) -> (B) { B[i : N] = +(A[i]); }")
    with pytest.raises(ValueError, match="sizes"):
        function.changed([], function.statements)
    with pytest.raises(ValueError, match="read"):
        function.statements[0].contraction.changed([], [], [], None)
    with pytest.raises(TypeError, match="call"):
        TileExpr.of_number(1).with_arguments([])


@pytest.mark.parametrize("text, mapped, shapes, wanted", [
    ("function (A[N], B) -> (C) { C = A * B + N; }", (True, True), ((3,), (2, 3)),
     "function (A[4, N], B) -> (C) {\n  C = reshape(A, 4, 1, 3) * B + N;\n}\n"),
    ("function (A[N, K], B[K, M]) -> (C) { [[name(v0)]] C[i, j : N, M] = +(A[i, k] * B[k, j]), k < K; }",
     (True, False), ((2, 3), (3, 5)),
     "function (A[4, N, K], B[K, M]) -> (C) {\n"
     "  [[name(v0)]] C[v1, i, j : 4, N, M] = +(A[v1, i, k] * B[k, j]), k < K;\n}\n"),
    ("function (A[N], D[N]) -> (C) { C[i : N] = =(A[i]), i < 2 default D; }", (True, False), ((3,), (3,)),
     "function (A[4, N], D[N]) -> (C) {\n  Default0[v0, v0_0 : 4, 3] = =(D[v0_0]);\n"
     "  C[v0, i : 4, N] = =(A[v0, i]), i < 2 default Default0;\n}\n"),
    ("function (A) -> (S, B) { S = sort(A, 0); B = cumsum(A, -1, 1); }", (True,), ((3,),),
     "function (A) -> (S, B) {\n  S = sort(A, 1);\n  B = cumsum(A, -1, 1);\n}\n")])
def test_a_mapped_function_has_an_additional_axis(text, mapped, shapes, wanted):
    function, outputs = _mapped_tile.with_axis(parse_tile(text), mapped, shapes, 4)
    assert str(function) == wanted
    assert all(outputs)


def test_outputs_that_depend_on_nothing_mapped_stay():
    function, outputs = _mapped_tile.with_axis(
        parse_tile("function (A, B) -> (C, D) { C = A + 1; D = B + 1; }"), (True, False), ((3,), (3,)), 4)
    assert outputs == (True, False)


@pytest.mark.parametrize("text", ["function (A) -> (B) { B = gather(A, 0); }", "function (A) -> (B) { B = prng(A, 3); }",
                                  "function (A) -> (B) { B = custom_gradient(A, rule, A); } "
                                  "function rule (A, B, D) -> (E) { E = D; }"])
def test_other_functions_are_left_to_rules(text):
    with pytest.raises(_mapped_tile.Unsupported):
        _mapped_tile.with_axis(parse_tile(text), (True,), ((3,),), 4)
