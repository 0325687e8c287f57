// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/compiled_function.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "frontend/api/composer.h"
#include "tile/base/status_macros.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {
namespace {

// Maximum number of values to read back for a check; a status kernel pays off only beyond it.
// Empirical.
constexpr int64_t kMaxReadNumbers = int64_t{1} << 14;

}  // namespace

absl::StatusOr<CompiledFunction> CompiledFunction::Make(LoadedPrograms& programs,
                                                        absl::Span<const Tensor> placeholders,
                                                        absl::Span<const Tensor> wanted,
                                                        absl::string_view name, bool is_checked,
                                                        RunStatistics* statistics) {
  CompiledFunction made;
  made.in_float64_ = programs.device()->in_float64();
  made.tolerance_ = SwapTolerance(*programs.device());
  std::vector<Tensor> computed;
  for (const Tensor& tensor : wanted) {
    Source& source = made.sources_.emplace_back();
    if (tensor.constant() != nullptr) {
      source.constant = *tensor.constant();
    } else if (tensor.is_placeholder()) {
      source.from = From::kPlaceholder;
      source.placeholder = static_cast<int>(
          std::find(placeholders.begin(), placeholders.end(), tensor) - placeholders.begin());
    } else {
      source.from = From::kProgram;
      computed.push_back(tensor);
    }
  }
  if (computed.empty()) return made;
  const std::vector<Tensor> read = PlaceholdersOf(computed);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const bool is_read = std::find(read.begin(), read.end(), placeholders[i]) != read.end();
    if (!placeholders[i].defined() || !is_read) continue;
    inputs.push_back(placeholders[i]);
    made.inputs_.push_back(static_cast<int>(i));
  }
  if (is_checked) TARTAN_RETURN_IF_ERROR(made.AddChecks(inputs, &computed));
  TARTAN_ASSIGN_OR_RETURN(made.program_,
                          Load(programs, inputs, computed, name, statistics, /*times=*/1));
  return made;
}

absl::Status CompiledFunction::AddChecks(absl::Span<const Tensor> inputs,
                                         std::vector<Tensor>* computed) {
  for (const CheckedTensor& checked : ChecksOf(*computed)) {
    TARTAN_ASSIGN_OR_RETURN(std::optional<InputCheck> input, InputCheck::Make(checked, inputs));
    if (input.has_value()) {
      input_checks_.push_back(*std::move(input));
      continue;
    }
    OutputCheck& check = output_checks_.emplace_back();
    check.check = checked.check;
    check.is_status = checked.values.shape().element_count() > kMaxReadNumbers;
    Tensor output = checked.values;
    if (check.is_status) {
      TARTAN_ASSIGN_OR_RETURN(output, StatusOf(checked));
    }
    const auto same = std::find(computed->begin(), computed->end(), output);
    check.output = static_cast<size_t>(same - computed->begin());
    if (same == computed->end()) computed->push_back(std::move(output));
  }
  return absl::OkStatus();
}

CompiledFunction::Failure CompiledFunction::CheckInputs(absl::Span<const HostTensor> inputs) const {
  for (const InputCheck& input : input_checks_) {
    absl::Status status = input.Run(inputs);
    if (!status.ok()) return {std::move(status), input.check().order};
  }
  return {};
}

absl::StatusOr<std::vector<HostTensor>> CompiledFunction::RunProgram(
    absl::Span<const HostTensor> inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) const {
  Failure failure;
  const TieredProgram::Running used = program_->Use(statistics);
  std::function<void()> check;
  if (!input_checks_.empty()) check = [&] { failure = CheckInputs(inputs); };
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results, used->Run(inputs, profile, check));
  if (const auto replaced = program_->TakeReplaced(*used)) {
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
  return results;
}

absl::StatusOr<std::vector<HostTensor>> CompiledFunction::Run(
    absl::Span<const HostTensor> values, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) const {
  const auto in_form = [&](const HostTensor& tensor) {
    return in_float64_ ? ir::InFloat64(tensor) : tensor;
  };
  std::vector<HostTensor> computed;
  if (program_ != nullptr) {
    std::vector<HostTensor> inputs;
    for (int input : inputs_) inputs.push_back(in_form(values[static_cast<size_t>(input)]));
    TARTAN_ASSIGN_OR_RETURN(computed,
                            CountShortage(RunProgram(inputs, statistics, profile), statistics));
  }
  std::vector<HostTensor> results;
  size_t next = 0;
  for (const Source& source : sources_) {
    switch (source.from) {
      case From::kConstant:
        results.push_back(in_form(source.constant));
        break;
      case From::kPlaceholder:
        results.push_back(in_form(values[static_cast<size_t>(source.placeholder)]));
        break;
      case From::kProgram:
        results.push_back(std::move(computed[next++]));
        break;
    }
  }
  return results;
}

}  // namespace tartan::api
