// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/precision/round_results.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/inline.h"
#include "frontend/api/loop.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/ir/type_rules.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

using ir::ValueId;
using NodePtr = std::shared_ptr<const TensorNode>;

lang::ExprPtr MakeExpr(decltype(lang::Expr::node) node) {
  return std::make_shared<const lang::Expr>(lang::Expr{{}, std::move(node)});
}

lang::ExprPtr Converted(const std::string& name, DataType type) {
  std::vector<lang::ExprPtr> arguments = {MakeExpr(lang::Name{name})};
  if (type == DataType::kBFloat16) return MakeExpr(lang::Call{"as_bfloat", std::move(arguments)});
  arguments.push_back(MakeExpr(lang::IntLiteral{8 * ByteWidth(type)}));
  return MakeExpr(lang::Call{"as_float", std::move(arguments)});
}

// Returns the function with rounded outputs. `own` has each output's type, kInvalid for outputs
// that stay.
lang::Function WithRoundedOutputs(lang::Function function, const std::vector<DataType>& own,
                                  DataType type) {
  NameScope names;
  for (const lang::Parameter& parameter : function.inputs) {
    names.Unique(parameter.name);
    for (const std::string& dim : parameter.dims) names.Unique(dim);
  }
  for (const lang::Statement& statement : function.statements) names.Unique(TargetOf(statement));
  for (size_t o = 0; o < own.size(); ++o) {
    if (own[o] == DataType::kInvalid) continue;
    std::string last = function.outputs[o];
    std::vector<DataType> steps = {type};
    // A value with a 16-bit type may be stored as float32; only an explicit conversion rounds it.
    if (own[o] != DataType::kFloat32) steps.insert(steps.begin(), DataType::kFloat32);
    if (own[o] != type) steps.push_back(own[o]);
    for (const DataType next : steps) {
      lang::Statement statement;
      const std::string target = names.Unique(absl::StrCat("Rounded", o));
      statement.node = lang::Assignment{target, Converted(last, next)};
      function.statements.push_back(std::move(statement));
      last = target;
    }
    function.outputs[o] = last;
  }
  return function;
}

// Returns true if some index does not occur in the output: the contraction reduces over it.
bool Reduces(const ir::Contraction& contraction) {
  const std::vector<math::Affine>& places = contraction.output.indices;
  for (size_t i = 0; i < contraction.index_names.size(); ++i) {
    const bool is_outer = std::any_of(places.begin(), places.end(), [i](const math::Affine& place) {
      return !place.coefficient(static_cast<int>(i)).is_zero();
    });
    if (!is_outer) return true;
  }
  return false;
}

// The properties of an application that decide about rounding.
class Work {
 public:
  explicit Work(const ir::Program& program) : program_(program) {
    for (const ValueId input : program.inputs) {
      if (!IsFloat(program.values[input].shape.type)) continue;
      most_ = std::max(most_, program.values[input].shape.element_count());
    }
    for (const ir::Value& value : program.values) {
      const auto* contraction = std::get_if<ir::Contraction>(&value.op);
      if (contraction == nullptr) continue;
      const bool reduces = Reduces(*contraction);
      const bool adds = contraction->aggregation == Aggregation::kSum ||
                        contraction->aggregation == Aggregation::kProduct;
      is_matmul_ |= contraction->inputs.size() == 2 &&
                    contraction->combination == Combination::kMultiply &&
                    contraction->inputs[0].tensor != contraction->inputs[1].tensor;
      is_reduction_ |= adds && reduces;
    }
  }

  bool is_product() const { return is_matmul_; }
  bool is_reduction() const { return is_reduction_; }

  // Returns true if the application only moves elements of an operand.
  bool OnlyMovesElements() const {
    return std::all_of(program_.values.begin(), program_.values.end(), [](const ir::Value& value) {
      const auto* special = std::get_if<ir::Special>(&value.op);
      return std::holds_alternative<ir::Input>(value.op) ||
             (special != nullptr && special->kind == ir::SpecialKind::kReshape);
    });
  }

  // Returns true for an output whose error or magnitude grows with its operands.
  bool NeedsFloat32(size_t output) const {
    const ir::Value& value = program_.values[program_.outputs[output]];
    if (is_matmul_) return false;
    if (is_reduction_ && value.shape.element_count() < most_) return true;
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    return elementwise != nullptr && ir::EnlargesRoundingErrors(*elementwise);
  }

 private:
  const ir::Program& program_;
  int64_t most_ = 0;  // element count of the largest float operand
  bool is_matmul_ = false;
  bool is_reduction_ = false;
};

class Rounder {
 public:
  Rounder(DataType type, absl::Span<const Tensor> given) : type_(type) {
    for (const Tensor& tensor : given) Keep(tensor.node());
  }

  absl::StatusOr<Tensor> Run(const Tensor& tensor) {
    std::vector<std::pair<NodePtr, bool>> stack = {{tensor.node(), false}};
    while (!stack.empty()) {
      const auto [node, inputs_done] = std::move(stack.back());
      stack.pop_back();
      if (made_.count(node.get()) > 0) continue;
      if (inputs_done) {
        TARTAN_RETURN_IF_ERROR(Make(node));
        continue;
      }
      stack.push_back({node, true});
      for (const NodeResult& input : InputsOf(*node)) stack.push_back({input.node, false});
    }
    return Tensor(made_.at(tensor.node().get()).node, tensor.result());
  }

 private:
  struct Made {
    NodePtr node;
    std::vector<bool>
        stays_float32;  // per result: a float32 value whose consumers also stay in float32
    NodePtr original;   // keeps the key of the lookup alive
  };

  Made& Keep(const NodePtr& node) {
    Made& made = made_[node.get()];
    made = {node, std::vector<bool>(node->shapes.size(), false), node};
    return made;
  }

  absl::Status Make(const NodePtr& node) {
    Made& made = Keep(node);
    if (std::holds_alternative<LoopNode>(node->kind)) return MakeLoop(node, &made);
    const auto* application = std::get_if<ApplicationNode>(&node->kind);
    if (application == nullptr || node->placeholder == nullptr) return absl::OkStatus();
    ApplicationNode changed = *application;
    bool takes_float32 = false;
    bool is_changed = false;
    std::vector<TensorShape> shapes;
    for (NodeResult& input : changed.inputs) {
      const Made& operand = made_.at(input.node.get());
      const TensorShape& shape = input.node->shapes[input.result];
      takes_float32 |= operand.stays_float32[input.result] && shape.element_count() > 1;
      is_changed |= operand.node != input.node;
      input.node = operand.node;
      shapes.push_back(shape);
    }
    TARTAN_ASSIGN_OR_RETURN(const ir::Program program,
                            lang::Bind(*application->function, shapes, {}));
    const Work work(program);
    const bool rounds_results = work.is_product() || work.is_reduction() || !takes_float32;
    std::vector<DataType> rounded(node->shapes.size(), DataType::kInvalid);
    bool rounds = false;
    for (size_t r = 0; r < rounded.size(); ++r) {
      const TensorShape& shape = node->shapes[r];
      if (!IsFloat(shape.type) || shape.type == DataType::kFloat64) continue;
      made.stays_float32[r] = work.NeedsFloat32(r) || !rounds_results;
      const bool stays = made.stays_float32[r] || shape.element_count() <= 1 ||
                         work.OnlyMovesElements() || node->check != nullptr;
      if (stays) continue;
      rounded[r] = shape.type;
      rounds = true;
    }
    if (!rounds && !is_changed) return absl::OkStatus();
    if (rounds) {
      changed.function = std::make_shared<const lang::Function>(
          WithRoundedOutputs(*application->function, rounded, type_));
    }
    auto copy = std::make_shared<TensorNode>();
    copy->name = node->name;
    copy->shapes = node->shapes;
    copy->kind = std::move(changed);
    copy->placeholder = node->placeholder;
    copy->check = node->check;
    made.node = std::move(copy);
    return absl::OkStatus();
  }

  // The results of a loop's body are rounded.
  absl::Status MakeLoop(const NodePtr& node, Made* made) {
    LoopNode changed = std::get<LoopNode>(node->kind);
    for (NodeResult& input : changed.inputs) input.node = made_.at(input.node.get()).node;
    RepeatBody body = *changed.body;
    std::vector<Tensor> given = body.states;
    given.insert(given.end(), body.slices.begin(), body.slices.end());
    given.insert(given.end(), body.invariants.begin(), body.invariants.end());
    TARTAN_RETURN_IF_ERROR(ChangeResults(&body, [&](const std::vector<Tensor>& results) {
      return RoundResults(results, type_, given);
    }));
    made->node =
        api::MakeLoop(std::move(body), std::move(changed.inputs), node->name, changed.reversed);
    return absl::OkStatus();
  }

  const DataType type_;
  std::unordered_map<const TensorNode*, Made> made_;
};

}  // namespace

absl::StatusOr<Tensor> Rounded(const Tensor& tensor, DataType type) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Tensor> {
    TARTAN_ASSIGN_OR_RETURN(const Function same,
                            Function::FromTile("function (X) -> (Y) { Y = X; }"));
    auto node = std::make_shared<TensorNode>();
    node->name = tensor.node()->name;
    node->shapes = {tensor.shape()};
    node->placeholder = tensor.node()->placeholder;
    node->kind = ApplicationNode{std::make_shared<const lang::Function>(
                                     WithRoundedOutputs(same.ast(), {tensor.type()}, type)),
                                 {{tensor.node(), tensor.result()}}};
    return Tensor(std::move(node), 0);
  });
}

absl::StatusOr<std::vector<Tensor>> RoundResults(absl::Span<const Tensor> tensors, DataType type,
                                                 absl::Span<const Tensor> given) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    Rounder rounder(type, given);
    std::vector<Tensor> rounded;
    for (const Tensor& tensor : tensors) {
      TARTAN_ASSIGN_OR_RETURN(rounded.emplace_back(), rounder.Run(tensor));
    }
    return rounded;
  });
}

}  // namespace tartan::api
