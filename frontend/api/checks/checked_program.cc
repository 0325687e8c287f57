// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checks/checked_program.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Maximum number of values to read back for a check; a status kernel pays off only beyond it.
// Empirical.
constexpr int64_t kMaxReadNumbers = int64_t{1} << 14;

}  // namespace

absl::StatusOr<CheckedProgram> CheckedProgram::Make(LoadedPrograms& programs,
                                                    absl::Span<const Tensor> placeholders,
                                                    absl::Span<const Tensor> outputs,
                                                    absl::string_view name, bool is_checked,
                                                    RunStatistics* statistics) {
  CheckedProgram made;
  made.wanted_ = outputs.size();
  std::vector<Tensor> computed(outputs.begin(), outputs.end());
  for (const CheckedTensor& checked :
       is_checked ? ChecksOf(outputs) : std::vector<CheckedTensor>()) {
    TARTAN_ASSIGN_OR_RETURN(std::optional<InputCheck> input,
                            InputCheck::Make(checked, placeholders));
    if (input.has_value()) {
      made.input_checks_.push_back(*std::move(input));
      continue;
    }
    OutputCheck& check = made.output_checks_.emplace_back();
    check.check = checked.check;
    check.is_status = checked.values.shape().element_count() > kMaxReadNumbers;
    Tensor output = checked.values;
    if (check.is_status) {
      TARTAN_ASSIGN_OR_RETURN(output, StatusOf(checked));
    }
    const auto same = std::find(computed.begin(), computed.end(), output);
    check.output = static_cast<size_t>(same - computed.begin());
    if (same == computed.end()) computed.push_back(std::move(output));
  }
  made.tolerance_ = SwapTolerance(*programs.device());
  TARTAN_ASSIGN_OR_RETURN(made.loaded_,
                          Load(programs, placeholders, computed, name, statistics, /*times=*/1));
  return made;
}

CheckedProgram::Failure CheckedProgram::CheckInputs(absl::Span<const HostTensor> inputs) const {
  for (const InputCheck& input : input_checks_) {
    absl::Status status = input.Run(inputs);
    if (!status.ok()) return {std::move(status), input.check().order};
  }
  return {};
}

absl::StatusOr<std::vector<HostTensor>> CheckedProgram::Run(
    absl::Span<const HostTensor> inputs, RunStatistics* statistics,
    std::vector<evaluator::KernelTime>* profile) const {
  Failure failure;
  const TieredProgram::Running used = loaded_->Use(statistics);
  std::function<void()> check;
  if (!input_checks_.empty()) check = [&] { failure = CheckInputs(inputs); };
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results, used->Run(inputs, profile, check));
  if (const auto replaced = loaded_->TakeReplaced(*used)) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> expected, replaced->Run(inputs));
    TARTAN_RETURN_IF_ERROR(CompareKernels(expected, results, tolerance_));
  }
  statistics->kernels += used->program().launches_per_run();
  for (const OutputCheck& output : output_checks_) {
    // A check of an input with a lower order may have failed already.
    if (output.check->order >= failure.order) break;
    const HostTensor& result = results[output.output];
    TARTAN_RETURN_IF_ERROR(output.is_status ? ReadStatus(*output.check, StatusNumbers(result))
                                            : CheckValues(*output.check, result));
  }
  TARTAN_RETURN_IF_ERROR(failure.status);
  results.resize(wanted_);
  return results;
}

std::vector<uint64_t> StatusNumbers(const HostTensor& status) {
  std::vector<uint64_t> numbers(static_cast<size_t>(status.element_count()));
  std::memcpy(numbers.data(), status.bytes().data(), status.bytes().size());
  return numbers;
}

}  // namespace tartan::api
