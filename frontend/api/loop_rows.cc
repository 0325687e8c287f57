// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/loop_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

using ir::ValueId;

class RowSum {
 public:
  RowSum(const ir::Program& program, const std::vector<bool>& varies, int64_t count)
      : program_(program), count_(count), made_(program.values.size()), has_rows_(made_.size()) {
    for (size_t i = 0; i < varies.size(); ++i) has_rows_[program.inputs[i]] = varies[i];
  }

  absl::StatusOr<std::optional<ir::Program>> Run() {
    const ValueId wanted = program_.outputs[0];
    for (const ValueId input : program_.inputs) {
      TARTAN_ASSIGN_OR_RETURN(made_[input],
                              builder_.AddInput(program_.values[input].name, ShapeOf(input)));
    }
    for (ValueId id = 0; id <= wanted; ++id) {
      TARTAN_ASSIGN_OR_RETURN(const bool is_made, Make(id, id == wanted));
      if (!is_made) return std::optional<ir::Program>();
    }
    ValueId sum = made_[wanted];
    if (!is_summed_) {
      if (has_rows_[wanted]) return std::optional<ir::Program>();
      TARTAN_ASSIGN_OR_RETURN(
          sum, builder_.AddElementwise(ScalarOp::kMul, {sum, builder_.AddConstant(count_)}));
    }
    builder_.AddOutput(sum, "Sum");
    TARTAN_ASSIGN_OR_RETURN(ir::Program program, std::move(builder_).Build());
    return std::optional<ir::Program>(std::move(program));
  }

 private:
  TensorShape ShapeOf(ValueId id) const {
    TensorShape shape = program_.values[id].shape;
    if (has_rows_[id]) shape.dims.insert(shape.dims.begin(), count_);
    return shape;
  }

  absl::StatusOr<bool> Make(ValueId id, bool is_wanted) {
    const ir::Value& value = program_.values[id];
    if (std::holds_alternative<ir::Input>(value.op)) return !is_wanted;
    for (const ValueId operand : ir::Operands(value.op)) {
      if (has_rows_[operand]) has_rows_[id] = true;
    }
    if (const auto* constant = std::get_if<ir::Constant>(&value.op)) {
      if (constant->weak) {
        made_[id] = WeakConstant(*constant);
      } else {
        made_[id] = builder_.AddConstant(value.shape.type, constant->AsDouble());
      }
      return true;
    }
    if (const auto* elementwise = std::get_if<ir::Elementwise>(&value.op)) {
      return MakeElementwise(id, *elementwise);
    }
    if (const auto* contraction = std::get_if<ir::Contraction>(&value.op)) {
      return MakeContraction(id, *contraction, is_wanted);
    }
    const auto& special = std::get<ir::Special>(value.op);
    if (special.kind != ir::SpecialKind::kReshape) return false;
    TARTAN_ASSIGN_OR_RETURN(made_[id], Reshaped(made_[special.operands[0]], ShapeOf(id).dims));
    return true;
  }

  ValueId WeakConstant(const ir::Constant& constant) {
    const auto* whole = std::get_if<int64_t>(&constant.value);
    return whole != nullptr ? builder_.AddConstant(*whole)
                            : builder_.AddConstant(std::get<double>(constant.value));
  }

  absl::StatusOr<ValueId> Reshaped(ValueId id, const std::vector<int64_t>& dims) {
    return builder_.AddSpecial(ir::SpecialKind::kReshape, {&id, 1}, dims);
  }

  absl::StatusOr<bool> MakeElementwise(ValueId id, const ir::Elementwise& elementwise) {
    const ir::Value& value = program_.values[id];
    std::vector<ValueId> operands;
    for (const ValueId operand : elementwise.operands) {
      ValueId made = made_[operand];
      const int64_t missing = value.shape.rank() - program_.values[operand].shape.rank();
      if (has_rows_[operand] && missing > 0) {
        std::vector<int64_t> dims = ShapeOf(operand).dims;
        dims.insert(dims.begin() + 1, static_cast<size_t>(missing), 1);
        TARTAN_ASSIGN_OR_RETURN(made, Reshaped(made, dims));
      }
      operands.push_back(made);
    }
    if (elementwise.op == ScalarOp::kCast) {
      TARTAN_ASSIGN_OR_RETURN(made_[id], builder_.AddCast(operands[0], value.shape.type));
    } else {
      TARTAN_ASSIGN_OR_RETURN(made_[id], builder_.AddElementwise(elementwise.op, operands));
    }
    return true;
  }

  // The index of the rows is the last one. A sum that is the result includes it.
  absl::StatusOr<bool> MakeContraction(ValueId id, ir::Contraction contraction, bool is_wanted) {
    const bool has_rows = has_rows_[id];
    if (has_rows && contraction.default_value != ir::kNoValue) return false;
    const auto row = math::Affine::Variable(static_cast<int>(contraction.index_names.size()));
    for (ir::Access& input : contraction.inputs) {
      if (has_rows_[input.tensor]) input.indices.insert(input.indices.begin(), row);
      input.tensor = made_[input.tensor];
    }
    if (contraction.default_value != ir::kNoValue) {
      contraction.default_value = made_[contraction.default_value];
    }
    if (has_rows) {
      contraction.index_names.push_back("row_of_loop");
      if (is_wanted && contraction.aggregation == Aggregation::kSum) {
        is_summed_ = true;
        has_rows_[id] = false;
      } else {
        contraction.output.indices.insert(contraction.output.indices.begin(), row);
      }
    }
    TARTAN_ASSIGN_OR_RETURN(made_[id],
                            builder_.AddContraction(std::move(contraction), ShapeOf(id).dims));
    return true;
  }

  const ir::Program& program_;
  const int64_t count_;
  ir::ProgramBuilder builder_;
  std::vector<ValueId> made_;
  std::vector<bool> has_rows_;
  bool is_summed_ = false;
};

// The program of one result, with all inputs.
absl::StatusOr<ir::Program> ProgramOfResult(const ApplicationNode& application, int result) {
  std::vector<TensorShape> shapes;
  for (const NodeResult& input : application.inputs) {
    shapes.push_back(input.node->shapes[input.result]);
  }
  TARTAN_ASSIGN_OR_RETURN(ir::Program program, lang::Bind(*application.function, shapes, {}));
  program.outputs = {program.outputs[static_cast<size_t>(result)]};
  program.output_names = {program.output_names[static_cast<size_t>(result)]};
  return ir::ProgramBuilder(std::move(program)).Build();
}

}  // namespace

bool IsSumOfTwo(const ApplicationNode& application) {
  std::vector<TensorShape> shapes;
  for (const NodeResult& input : application.inputs) {
    shapes.push_back(input.node->shapes[input.result]);
  }
  if (shapes.size() != 2 || shapes[0] != shapes[1]) return false;
  const absl::StatusOr<ir::Program> program = lang::Bind(*application.function, shapes, {});
  if (!program.ok() || program->outputs.size() != 1) return false;
  const auto* sum = std::get_if<ir::Elementwise>(&program->values[program->outputs[0]].op);
  return sum != nullptr && sum->op == ScalarOp::kAdd && sum->operands == program->inputs;
}

absl::StatusOr<std::vector<int>> InputsOfResult(const ApplicationNode& application, int result) {
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, ProgramOfResult(application, result));
  const std::vector<int> uses = ir::UseCounts(program);
  std::vector<int> inputs;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (uses[program.inputs[i]] > 0) inputs.push_back(static_cast<int>(i));
  }
  return inputs;
}

absl::StatusOr<std::optional<Function>> SumOverRows(const ApplicationNode& application, int result,
                                                    const std::vector<bool>& varies,
                                                    int64_t count) {
  TARTAN_ASSIGN_OR_RETURN(ir::Program program, ProgramOfResult(application, result));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int> inputs, InputsOfResult(application, result));
  std::vector<ValueId> used;
  for (const int input : inputs) used.push_back(program.inputs[static_cast<size_t>(input)]);
  program.inputs = std::move(used);
  TARTAN_ASSIGN_OR_RETURN(program, ir::ProgramBuilder(std::move(program)).Build());
  TARTAN_ASSIGN_OR_RETURN(const std::optional<ir::Program> sum,
                          RowSum(program, varies, count).Run());
  if (!sum.has_value()) return std::optional<Function>();
  TARTAN_ASSIGN_OR_RETURN(Function function, Function::FromTile(ir::ToTile(*sum)));
  return std::optional<Function>(std::move(function));
}

std::unordered_set<const TensorNode*> VaryingNodes(const RepeatBody& body) {
  std::unordered_set<const TensorNode*> varying;
  for (const auto* placeholders : {&body.states, &body.slices}) {
    for (const Tensor& placeholder : *placeholders) varying.insert(placeholder.node().get());
  }
  std::vector<std::pair<const TensorNode*, bool>> stack;
  for (const auto* results : {&body.next_states, &body.rows}) {
    for (const Tensor& result : *results) stack.push_back({result.node().get(), false});
  }
  std::unordered_set<const TensorNode*> seen;
  while (!stack.empty()) {
    const auto [node, inputs_done] = stack.back();
    stack.pop_back();
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    if (inputs_done) {
      const bool varies = std::any_of(inputs.begin(), inputs.end(), [&](const NodeResult& input) {
        return varying.count(input.node.get()) > 0;
      });
      if (varies) varying.insert(node);
      continue;
    }
    if (!seen.insert(node).second) continue;
    stack.push_back({node, true});
    for (const NodeResult& input : inputs) stack.push_back({input.node.get(), false});
  }
  return varying;
}

absl::StatusOr<Tensor> RowsBefore(const Tensor& after, const Tensor& first, bool reversed) {
  const int64_t count = after.dims()[0];
  const std::string sizes = absl::StrCat(count, ", ", after.dims()[1]);
  return Apply(absl::StrCat("function (N, I) -> (B) { F = reshape(I, 1, ",
                            first.shape().element_count(), "); A[u + ", reversed ? count - 1 : 0,
                            ", i : ", sizes, "] = =(F[u, i]); B[t, i : ", sizes, "] = =(N[t ",
                            reversed ? "+" : "-", " 1, i]) default A; }"),
               {after, first}, "rows_before");
}

}  // namespace tartan::api
