// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/composer.h"

#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/composition.h"
#include "frontend/api/loop.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

// Returns `value` converted to another float type. Sets `*is_exact` to whether that represents all
// of its elements exactly, except NaN.
HostTensor Rounded(const HostTensor& value, DataType type, bool* is_exact) {
  if (value.type() == type) return value;
  const TensorShape shape{type, value.shape().dims};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    StoreElement(type, value.GetDouble(i), i, bytes.data());
  }
  const HostTensor rounded(shape, bytes);
  for (int64_t i = 0; i < shape.element_count() && *is_exact; ++i) {
    const double exact = value.GetDouble(i);
    *is_exact = rounded.GetDouble(i) == exact || std::isnan(exact);
  }
  return rounded;
}

// Index points allowed for size arithmetic on the host.
constexpr int64_t kMaxHostPoints = int64_t{1} << 22;

ComposedFunction ComposeFunction(absl::Span<const Tensor> placeholders,
                                 absl::Span<const Tensor> outputs) {
  Composition composition;
  composition.AddPlaceholders(placeholders);
  composition.AddOutputs(outputs);
  return std::move(composition).Finish();
}

}  // namespace

absl::StatusOr<ComposedProgram> Compose(absl::Span<const Tensor> placeholders,
                                        absl::Span<const Tensor> outputs, absl::string_view name) {
  const auto loops = LoopsOf(outputs);
  if (!loops.empty()) return ComposeParts(loops, placeholders, outputs, name);
  ComposedFunction composed = ComposeFunction(placeholders, outputs);
  ComposedProgram result;
  result.program.set_name(std::string(name));
  result.program.set_code(lang::Print(composed.function));
  for (size_t i = 0; i < composed.inputs.size(); ++i) {
    const Tensor& tensor = composed.inputs[i];
    proto::Program::Input* input = result.program.add_inputs();
    input->set_name(composed.function.inputs[i].name);
    input->mutable_shape()->set_type(static_cast<proto::DataType>(tensor.type()));
    for (int64_t dim : tensor.dims()) input->mutable_shape()->add_dims(dim);
    input->set_is_constant(tensor.constant() != nullptr);
  }
  result.tree = std::make_shared<const lang::Function>(std::move(composed.function));
  result.inputs = std::move(composed.inputs);
  result.outputs.assign(outputs.begin(), outputs.end());
  return result;
}

absl::StatusOr<ReferenceProgram> ReferenceProgram::Make(absl::Span<const Tensor> placeholders,
                                                        absl::Span<const Tensor> outputs) {
  ReferenceProgram definition;
  definition.checks_ = ChecksOf(outputs);
  std::vector<Tensor> computed(outputs.begin(), outputs.end());
  for (const CheckedTensor& checked : definition.checks_) computed.push_back(checked.values);
  TARTAN_ASSIGN_OR_RETURN(computed, Unrolled(computed));
  const ComposedFunction composed = ComposeFunction(placeholders, computed);
  definition.placeholders_ = placeholders.size();
  std::vector<TensorShape> shapes;
  for (size_t i = 0; i < composed.inputs.size(); ++i) {
    const Tensor& input = composed.inputs[i];
    shapes.push_back(input.shape());
    if (i < placeholders.size()) continue;
    if (input.constant() == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("no value is given for the placeholder '", input.node()->name, "'"));
    }
    definition.constants_.push_back(*input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(definition.program_, lang::Bind(composed.function, shapes, {}));
  return definition;
}

absl::StatusOr<std::vector<HostTensor>> ReferenceProgram::Evaluate(
    absl::Span<const HostTensor> values, int64_t* points) const {
  if (values.size() != placeholders_) {
    return absl::FailedPreconditionError(
        absl::StrCat(values.size(), " values are given for ", placeholders_, " placeholders"));
  }
  std::vector<HostTensor> inputs(values.begin(), values.end());
  inputs.insert(inputs.end(), constants_.begin(), constants_.end());
  ir::NaiveOptions options;
  options.max_points = *points;
  options.points_left = points;
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          ir::EvaluateNaively(program_, inputs, options));
  const size_t wanted = results.size() - checks_.size();
  for (size_t i = 0; i < checks_.size(); ++i) {
    TARTAN_RETURN_IF_ERROR(CheckValues(*checks_[i].check, results[wanted + i]));
  }
  results.resize(wanted);
  return results;
}

void ReferenceProgram::ReturnFloat32Outputs() {
  for (ir::ValueId& output : program_.outputs) {
    TensorShape shape = program_.values[output].shape;
    if (ComputeType(shape.type) == shape.type) continue;
    shape.type = ComputeType(shape.type);
    program_.values.push_back({"", shape, ir::Elementwise{ScalarOp::kCast, {output}}});
    output = static_cast<ir::ValueId>(program_.values.size()) - 1;
  }
}

absl::StatusOr<std::vector<HostTensor>> EvaluateReference(absl::Span<const Tensor> placeholders,
                                                          absl::Span<const HostTensor> values,
                                                          absl::Span<const Tensor> outputs,
                                                          int64_t max_points) {
  TARTAN_ASSIGN_OR_RETURN(const ReferenceProgram definition,
                          ReferenceProgram::Make(placeholders, outputs));
  return definition.Evaluate(values, &max_points);
}

absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor, int64_t* points, bool* is_exact) {
  if (is_exact != nullptr) *is_exact = true;
  if (std::optional<HostTensor> known = KnownValue(tensor); known.has_value()) return *known;
  if (const TensorNode* placeholder = tensor.node()->placeholder; placeholder != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the value cannot be computed: it depends on the input '", placeholder->name, "'"));
  }
  TARTAN_ASSIGN_OR_RETURN(ReferenceProgram definition, ReferenceProgram::Make({}, {&tensor, 1}));
  definition.ReturnFloat32Outputs();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, definition.Evaluate({}, points));
  bool was_exact = true;
  const HostTensor value = Rounded(results[0], tensor.type(), &was_exact);
  if (was_exact) RememberValue(tensor, value);
  if (is_exact != nullptr) *is_exact = was_exact;
  return value;
}

absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor) {
  int64_t points = kMaxHostPoints;
  return EvaluateOnHost(tensor, &points);
}

std::vector<Tensor> PlaceholdersOf(absl::Span<const Tensor> tensors) {
  std::vector<Tensor> found;
  std::unordered_set<const TensorNode*> seen;
  std::vector<const NodeResult*> stack;
  for (const Tensor& tensor : tensors) {
    const NodeResult root{tensor.node(), tensor.result()};
    stack.push_back(&root);
    while (!stack.empty()) {
      const NodeResult& next = *stack.back();
      stack.pop_back();
      if (next.node->placeholder == nullptr || !seen.insert(next.node.get()).second) continue;
      if (std::holds_alternative<PlaceholderNode>(next.node->kind)) found.emplace_back(next);
      for (const NodeResult& input : InputsOf(*next.node)) stack.push_back(&input);
    }
  }
  return found;
}

std::vector<Tensor> PlaceholdersOf(const Tensor& tensor) { return PlaceholdersOf({&tensor, 1}); }

}  // namespace tartan::api
