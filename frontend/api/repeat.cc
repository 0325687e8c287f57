// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/repeat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

HostTensor RowOf(const HostTensor& whole, int64_t row, const TensorShape& shape) {
  const size_t bytes = static_cast<size_t>(shape.byte_size());
  return HostTensor(shape, whole.bytes().subspan(static_cast<size_t>(row) * bytes, bytes));
}

HostTensor Stack(const std::vector<HostTensor>& rows, TensorShape shape) {
  shape.dims.insert(shape.dims.begin(), static_cast<int64_t>(rows.size()));
  std::vector<uint8_t> bytes;
  for (const HostTensor& row : rows) {
    bytes.insert(bytes.end(), row.bytes().begin(), row.bytes().end());
  }
  return HostTensor(shape, bytes);
}

// Returns Internal unless a runner's results have the shapes that the loop's body defines.
absl::Status CheckResults(const RepeatBody& body, absl::Span<const HostTensor> results) {
  if (results.size() != body.states.size() + body.rows.size()) {
    return absl::InternalError(absl::StrCat("a loop returned ", results.size(),
                                            " results, expected ",
                                            body.states.size() + body.rows.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_row = i >= body.states.size();
    TensorShape expected =
        is_row ? body.rows[i - body.states.size()].shape() : body.states[i].shape();
    const TensorShape& made = results[i].shape();
    if (is_row) expected.dims.insert(expected.dims.begin(), made.dims.empty() ? -1 : made.dims[0]);
    if (made == expected) continue;
    return absl::InternalError(absl::StrCat("result ", i, " of a loop is ", made.ToString(),
                                            ", expected ", expected.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RepeatCall::Run(absl::Span<const HostTensor> operands,
                                                        CallRunner& runner) const {
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runner.Repeat(body_, operands));
  TARTAN_RETURN_IF_ERROR(CheckResults(body_, results));
  return results;
}

absl::Status TooManyIterations(int64_t iterations) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a loop has not ended after ", iterations, " iterations"));
}

absl::StatusOr<std::vector<HostTensor>> NaiveRunner::Repeat(const RepeatBody& body,
                                                            absl::Span<const HostTensor> operands) {
  const size_t count = body.states.size();
  std::vector<HostTensor> states(operands.begin(), operands.begin() + static_cast<int64_t>(count));
  const absl::Span<const HostTensor> scanned = operands.subspan(count, body.slices.size());
  const absl::Span<const HostTensor> invariants = operands.subspan(count + body.slices.size());
  std::vector<Tensor> placeholders = body.states;
  placeholders.insert(placeholders.end(), body.slices.begin(), body.slices.end());
  placeholders.insert(placeholders.end(), body.invariants.begin(), body.invariants.end());
  if (body.iteration.defined()) placeholders.push_back(body.iteration);
  std::vector<Tensor> outputs = body.next_states;
  outputs.insert(outputs.end(), body.rows.begin(), body.rows.end());
  if (body.condition.defined()) outputs.push_back(body.condition);
  std::vector<std::vector<HostTensor>> rows(body.rows.size());
  TARTAN_ASSIGN_OR_RETURN(const ReferenceProgram definition,
                          ReferenceProgram::Make(placeholders, outputs));
  for (int64_t iteration = 0; iteration < body.iterations; ++iteration) {
    if (iterations_ == 0) return TooManyIterations(iteration);
    --iterations_;
    std::vector<HostTensor> values = states;
    for (size_t i = 0; i < body.slices.size(); ++i) {
      values.push_back(RowOf(scanned[i], iteration, body.slices[i].shape()));
    }
    values.insert(values.end(), invariants.begin(), invariants.end());
    if (body.iteration.defined()) {
      values.push_back(
          HostTensor::FromVector(body.iteration.shape(), std::vector<int64_t>{iteration}));
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made,
                            definition.Evaluate(values, &points_));
    std::copy_n(made.begin(), count, states.begin());
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(made[count + i]);
    if (body.condition.defined() && made.back().GetInt(0) == 0) break;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    states.push_back(Stack(rows[i], body.rows[i].shape()));
  }
  return states;
}

}  // namespace tartan::api
