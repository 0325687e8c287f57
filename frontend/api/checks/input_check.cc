// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checks/input_check.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "frontend/api/checks/integer_range.h"
#include "frontend/api/composer.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

// Limits of "little arithmetic": the number of applications, and the elements of each of their
// tensors.
constexpr size_t kMaxNodes = 32;
constexpr int64_t kMaxElements = 1 << 12;

bool IsLittle(const Tensor& values) {
  std::unordered_set<const TensorNode*> seen;
  std::vector<Tensor> stack = {values};
  while (!stack.empty()) {
    const Tensor tensor = std::move(stack.back());
    stack.pop_back();
    const bool is_whole = IsInteger(tensor.type()) || tensor.type() == DataType::kBool;
    if (std::holds_alternative<LoopNode>(tensor.node()->kind)) return false;
    if (!is_whole || tensor.shape().element_count() > kMaxElements) return false;
    if (!seen.insert(tensor.node().get()).second) continue;
    if (seen.size() > kMaxNodes) return false;
    const absl::Span<const NodeResult> inputs = InputsOf(*tensor.node());
    stack.insert(stack.end(), inputs.begin(), inputs.end());
  }
  return true;
}

}  // namespace

absl::StatusOr<std::optional<InputCheck>> InputCheck::Make(const CheckedTensor& checked,
                                                           absl::Span<const Tensor> inputs) {
  InputCheck made;
  made.check_ = checked.check;
  std::vector<Tensor> read;
  for (const Tensor& placeholder : PlaceholdersOf(checked.values)) {
    const auto input = std::find(inputs.begin(), inputs.end(), placeholder);
    if (input == inputs.end()) return std::optional<InputCheck>();
    made.inputs_.push_back(static_cast<size_t>(input - inputs.begin()));
    read.push_back(placeholder);
  }
  if (checked.values.is_placeholder()) return std::optional(std::move(made));
  if (read.empty() || !IsLittle(checked.values)) return std::optional<InputCheck>();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(read, {checked.values}, "check"));
  std::vector<TensorShape> shapes;
  for (const Tensor& input : composed.inputs) {
    shapes.push_back(input.shape());
    if (input.constant() != nullptr) made.constants_.push_back(*input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(ir::Program program, lang::Bind(*composed.tree, shapes, {}));
  made.program_ = std::make_shared<const ir::Program>(std::move(program));
  return std::optional(std::move(made));
}

bool InputCheck::IsProven(absl::Span<const HostTensor> inputs) const {
  std::vector<IntegerRange> ranges;
  for (const HostTensor& input : inputs) ranges.push_back(RangeOf(input));
  const IntegerRange range = OutputRange(*program_, std::move(ranges));
  return std::all_of(check_->bounds.begin(), check_->bounds.end(), [&](const Bounds& bounds) {
    return range.least >= bounds.least && range.greatest <= bounds.greatest;
  });
}

absl::Status InputCheck::Run(absl::Span<const HostTensor> values) const {
  if (program_ == nullptr) return CheckValues(*check_, values[inputs_[0]]);
  std::vector<HostTensor> inputs;
  for (const size_t input : inputs_) inputs.push_back(values[input]);
  inputs.insert(inputs.end(), constants_.begin(), constants_.end());
  if (IsProven(inputs)) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results,
                          ir::EvaluateNaively(*program_, inputs));
  return CheckValues(*check_, results[0]);
}

}  // namespace tartan::api
