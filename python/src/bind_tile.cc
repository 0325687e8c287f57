// SPDX-License-Identifier: Apache-2.0
// Binds the parser of Tile and its syntax tree (tile/lang/ast.h), which tartan.vmap and the export
// to ONNX rewrite. Nodes are immutable; methods with other parts return new nodes with the same
// position in the text.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/api/function.h"
#include "python/src/bindings.h"
#include "python/src/status.h"
#include "tile/lang/ast.h"
#include "tile/lang/parser.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

// A node of an expression as a value of Python.
struct BoundExpr {
  lang::ExprPtr expr;
};

using Exprs = std::vector<BoundExpr>;
using Read = std::pair<std::string, Exprs>;

BoundExpr MakeExpr(decltype(lang::Expr::node) node, lang::Position position = {}) {
  return {std::make_shared<const lang::Expr>(lang::Expr{position, std::move(node)})};
}

Exprs Bound(const std::vector<lang::ExprPtr>& exprs) {
  Exprs bound;
  for (const lang::ExprPtr& expr : exprs) bound.push_back({expr});
  return bound;
}

std::vector<lang::ExprPtr> Unbound(const Exprs& exprs) {
  std::vector<lang::ExprPtr> unbound;
  for (const BoundExpr& expr : exprs) unbound.push_back(expr.expr);
  return unbound;
}

using Number = std::variant<int64_t, double>;

std::optional<Number> NumberOf(const BoundExpr& self) {
  const auto& node = self.expr->node;
  if (const auto* x = std::get_if<lang::IntLiteral>(&node)) return x->value;
  if (const auto* x = std::get_if<lang::FloatLiteral>(&node)) return x->value;
  return std::nullopt;
}

std::optional<std::string> NameOf(const BoundExpr& self) {
  const auto* x = std::get_if<lang::Name>(&self.expr->node);
  return x == nullptr ? std::nullopt : std::optional(x->name);
}

std::optional<std::string> FunctionOf(const BoundExpr& self) {
  const auto* x = std::get_if<lang::Call>(&self.expr->node);
  return x == nullptr ? std::nullopt : std::optional(x->function);
}

Exprs ArgumentsOf(const BoundExpr& self) {
  const auto* x = std::get_if<lang::Call>(&self.expr->node);
  return x == nullptr ? Exprs() : Bound(x->arguments);
}

BoundExpr MakeName(std::string name) { return MakeExpr(lang::Name{std::move(name)}); }

BoundExpr MakeCall(std::string function, const Exprs& arguments) {
  return MakeExpr(lang::Call{std::move(function), Unbound(arguments)});
}

BoundExpr WithArguments(const BoundExpr& self, const Exprs& arguments) {
  const auto* x = std::get_if<lang::Call>(&self.expr->node);
  if (x == nullptr) throw nb::type_error("only a call has arguments");
  return MakeExpr(lang::Call{x->function, Unbound(arguments)}, self.expr->position);
}

void BindExpressions(nb::module_& module) {
  nb::class_<BoundExpr>(module, "TileExpr",
                        "An expression: a number, a name, or a call. Operators are calls.")
      .def_static("of_number", [](int64_t value) { return MakeExpr(lang::IntLiteral{value}); })
      .def_static("of_name", &MakeName)
      .def_static("call", &MakeCall, nb::arg("function"), nb::arg("arguments"))
      .def_prop_ro("number", &NumberOf)
      .def_prop_ro("name", &NameOf)
      .def_prop_ro("function", &FunctionOf)
      .def_prop_ro("arguments", &ArgumentsOf)
      .def("with_arguments", &WithArguments);
}

using lang::Contraction;

std::string AggregationOf(const Contraction& self) { return std::string(Symbol(self.aggregation)); }

std::string CombinationOf(const Contraction& self) { return std::string(Symbol(self.combination)); }

std::vector<Read> ReadsOf(const Contraction& self) {
  std::vector<Read> reads;
  for (const lang::TensorAccess& input : self.inputs) {
    reads.emplace_back(input.tensor, Bound(input.indices));
  }
  return reads;
}

std::vector<std::pair<BoundExpr, BoundExpr>> BoundsOf(const Contraction& self) {
  std::vector<std::pair<BoundExpr, BoundExpr>> bounds;
  for (const lang::Constraint& constraint : self.constraints) {
    bounds.push_back({{constraint.poly}, {constraint.range}});
  }
  return bounds;
}

std::optional<std::string> DefaultOf(const Contraction& self) {
  return self.default_tensor.empty() ? std::nullopt : std::optional(self.default_tensor);
}

// The contraction with other indices, sizes and default. `reads` has the indices of every read.
Contraction WithIndices(Contraction self, const Exprs& indices, const Exprs& sizes,
                        const std::vector<Exprs>& reads,
                        const std::optional<std::string>& initial) {
  if (reads.size() != self.inputs.size()) throw nb::value_error("a read is missing");
  self.output.indices = Unbound(indices);
  self.output_dims = Unbound(sizes);
  for (size_t i = 0; i < reads.size(); ++i) self.inputs[i].indices = Unbound(reads[i]);
  self.default_tensor = initial.value_or("");
  return self;
}

void BindContractions(nb::module_& module) {
  nb::class_<Contraction>(module, "TileContraction",
                          "A contraction: O[indices : sizes] = aggregation(reads), bounds.")
      .def_prop_ro("aggregation", &AggregationOf)
      .def_prop_ro("combination", &CombinationOf)
      .def_prop_ro("indices", [](const Contraction& self) { return Bound(self.output.indices); })
      .def_prop_ro("sizes", [](const Contraction& self) { return Bound(self.output_dims); })
      .def_prop_ro("reads", &ReadsOf)
      .def_prop_ro("bounds", &BoundsOf)
      .def_prop_ro("default", &DefaultOf)
      .def("changed", &WithIndices, nb::arg("indices"), nb::arg("sizes"), nb::arg("reads"),
           nb::arg("default").none());
}

using lang::Statement;

std::optional<BoundExpr> ValueOf(const Statement& self) {
  const auto* x = std::get_if<lang::Assignment>(&self.node);
  return x == nullptr ? std::nullopt : std::optional(BoundExpr{x->value});
}

std::optional<Contraction> ContractionOf(const Statement& self) {
  const auto* x = std::get_if<Contraction>(&self.node);
  return x == nullptr ? std::nullopt : std::optional(*x);
}

Statement WithValue(Statement self, const BoundExpr& value) {
  self.node = lang::Assignment{lang::TargetOf(self), value.expr};
  return self;
}

Statement WithContraction(Statement self, const Contraction& contraction) {
  self.node = contraction;
  return self;
}

using api::Function;
using Dims = std::optional<std::vector<std::string>>;

std::vector<std::string> InputsOf(const Function& self) {
  std::vector<std::string> names;
  for (const lang::Parameter& input : self.ast().inputs) names.push_back(input.name);
  return names;
}

std::vector<Dims> DimsOf(const Function& self) {
  std::vector<Dims> dims;
  for (const lang::Parameter& input : self.ast().inputs) {
    dims.push_back(input.has_dims ? Dims(input.dims) : std::nullopt);
  }
  return dims;
}

// The function with other sizes of its inputs and other statements.
Function Changed(const Function& self, const std::vector<Dims>& dims,
                 std::vector<Statement> statements) {
  lang::Function tree = self.ast();
  if (dims.size() != tree.inputs.size()) throw nb::value_error("the sizes of an input are missing");
  for (size_t i = 0; i < dims.size(); ++i) {
    tree.inputs[i].has_dims = dims[i].has_value();
    tree.inputs[i].dims = dims[i].value_or(std::vector<std::string>());
    tree.inputs[i].dim_positions.clear();
  }
  tree.statements = std::move(statements);
  return ValueOrRaise(Function::FromTree(std::move(tree), self.text(), self.file()));
}

Function ParseTile(const std::string& text, const std::string& name) {
  return ValueOrRaise(Function::FromTile(text, name.empty() ? "tile" : name));
}

}  // namespace

void BindTile(nb::module_& module) {
  BindExpressions(module);
  BindContractions(module);
  nb::class_<Statement>(module, "TileStatement",
                        "A statement, of which either `value` or `contraction` is not None.")
      .def_prop_ro("target", [](const Statement& self) { return lang::TargetOf(self); })
      .def_prop_ro("value", &ValueOf)
      .def_prop_ro("contraction", &ContractionOf)
      .def("with_value", &WithValue)
      .def("with_contraction", &WithContraction);
  nb::class_<Function>(module, "TileFunction", "The syntax tree of a Tile text; str() prints it.")
      .def_prop_ro("inputs", &InputsOf)
      .def_prop_ro("dims", &DimsOf)
      .def_prop_ro("outputs", [](const Function& self) { return self.ast().outputs; })
      .def_prop_ro("statements", [](const Function& self) { return self.ast().statements; })
      .def_prop_ro("has_rules", [](const Function& self) { return !self.ast().rules.empty(); })
      .def("changed", &Changed, nb::arg("dims"), nb::arg("statements"))
      .def("__str__", [](const Function& self) { return lang::Print(self.ast()); });
  module.def("parse_tile", &ParseTile, nb::arg("text"), nb::arg("name") = "");
}

}  // namespace tartan::python
