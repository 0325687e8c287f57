// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/host_repetition.h"

#include <algorithm>
#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

// The element of `whole` at `index` of its first dimension, in the same memory.
HostTensor RowOf(const HostTensor& whole, int64_t index) {
  TensorShape shape = whole.shape();
  shape.dims.erase(shape.dims.begin());
  const auto bytes = static_cast<size_t>(shape.byte_size());
  return HostTensor(shape, whole.bytes().subspan(static_cast<size_t>(index) * bytes, bytes),
                    std::make_shared<const HostTensor>(whole));
}

HostTensor Scalar(int64_t value) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, {}}, std::vector<int64_t>{value});
}

}  // namespace

absl::StatusOr<RepetitionResult> RepeatOnHost(LoadedProgram& program, const RepetitionForm& form,
                                              absl::Span<const HostTensor> operands) {
  const auto first_state = static_cast<size_t>(form.has_iteration ? 1 : 0);
  const auto first_made = static_cast<size_t>(form.has_condition ? 1 : 0);
  const auto states = static_cast<size_t>(form.states);
  const auto slices = static_cast<size_t>(form.slices_in);
  std::vector<HostTensor> inputs(first_state);
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  std::vector<std::vector<uint8_t>> rows(static_cast<size_t>(form.slices_out));
  RepetitionResult result;
  result.condition = true;
  int64_t iteration = 0;
  for (; result.condition && iteration < form.iterations; ++iteration) {
    if (form.has_iteration) inputs[0] = Scalar(iteration);
    for (size_t s = 0; s < slices; ++s) {
      inputs[first_state + states + s] = RowOf(operands[states + s], iteration);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made, program.Run(inputs));
    std::copy_n(made.begin() + static_cast<int64_t>(first_made), states,
                inputs.begin() + static_cast<int64_t>(first_state));
    for (size_t r = 0; r < rows.size(); ++r) {
      const absl::Span<const uint8_t> row = made[first_made + states + r].bytes();
      rows[r].insert(rows[r].end(), row.begin(), row.end());
    }
    if (form.has_condition) result.condition = made[0].GetInt(0) != 0;
  }
  for (size_t s = 0; s < states; ++s) result.tensors.push_back(inputs[first_state + s]);
  for (size_t r = 0; r < rows.size(); ++r) {
    TensorShape shape = program.program().host()->output_shape(first_made + states + r);
    shape.dims.insert(shape.dims.begin(), iteration);
    result.tensors.emplace_back(shape, rows[r]);
  }
  return result;
}

}  // namespace tartan::evaluator
