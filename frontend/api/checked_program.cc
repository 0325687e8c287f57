#include "frontend/api/checked_program.h"

#include <cstring>
#include <limits>
#include <optional>

#include "tile/base/status_macros.h"

namespace tartan::api {

absl::StatusOr<CheckedProgram> CheckedProgram::Make(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, bool is_checked, RunStatistics* statistics, LoadedPrograms* shared) {
  CheckedProgram made;
  std::vector<Tensor> computed(outputs.begin(), outputs.end());
  for (const CheckedTensor& checked :
       is_checked ? ChecksOf(outputs) : std::vector<CheckedTensor>()) {
    TARTAN_ASSIGN_OR_RETURN(std::optional<InputCheck> input,
                            InputCheck::Make(checked, placeholders));
    if (input.has_value()) {
      made.input_checks_.push_back(*std::move(input));
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(computed.emplace_back(), StatusOf(checked));
    made.output_checks_.push_back(checked.check);
  }
  TARTAN_ASSIGN_OR_RETURN(made.loaded_,
                          Load(device, placeholders, computed, name, statistics, shared));
  return made;
}

absl::StatusOr<std::vector<HostTensor>> CheckedProgram::Run(
    absl::Span<const HostTensor> inputs, std::vector<evaluator::KernelTime>* profile) const {
  absl::Status failure;
  int64_t order = std::numeric_limits<int64_t>::max();  // of the failure
  for (const InputCheck& input : input_checks_) {
    failure = input.Run(inputs);
    if (failure.ok()) continue;
    order = input.check().order;
    break;
  }
  // The device may know of one that comes before.
  const bool is_first = output_checks_.empty() || output_checks_.front()->order >= order;
  if (!failure.ok() && is_first) return failure;
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results, loaded_->Run(inputs, profile));
  const size_t wanted = results.size() - output_checks_.size();
  for (size_t i = 0; i < output_checks_.size() && output_checks_[i]->order < order; ++i) {
    TARTAN_RETURN_IF_ERROR(ReadStatus(*output_checks_[i], StatusNumbers(results[wanted + i])));
  }
  TARTAN_RETURN_IF_ERROR(failure);
  results.resize(wanted);
  return results;
}

std::vector<uint64_t> StatusNumbers(const HostTensor& status) {
  std::vector<uint64_t> numbers(static_cast<size_t>(status.element_count()));
  std::memcpy(numbers.data(), status.bytes().data(), status.bytes().size());
  return numbers;
}

}  // namespace tartan::api
