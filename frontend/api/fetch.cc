// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/fetch.h"

#include <algorithm>
#include <utility>

#include "frontend/api/composer.h"
#include "tile/base/status_macros.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {

absl::StatusOr<Fetch> Fetch::Make(LoadedPrograms& programs, absl::Span<const Tensor> placeholders,
                                  absl::Span<const Tensor> wanted, absl::string_view name,
                                  bool is_checked, RunStatistics* statistics) {
  Fetch fetch;
  fetch.in_float64_ = programs.device()->in_float64();
  std::vector<Tensor> computed;
  std::vector<Tensor> read;
  for (const Tensor& tensor : wanted) {
    Source& source = fetch.sources_.emplace_back();
    if (tensor.constant() != nullptr) {
      source.constant = *tensor.constant();
    } else if (tensor.is_placeholder()) {
      source.from = From::kPlaceholder;
      source.placeholder = static_cast<int>(
          std::find(placeholders.begin(), placeholders.end(), tensor) - placeholders.begin());
    } else {
      source.from = From::kProgram;
      computed.push_back(tensor);
      for (Tensor& placeholder : PlaceholdersOf(tensor)) read.push_back(std::move(placeholder));
    }
  }
  if (computed.empty()) return fetch;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const bool is_read = std::find(read.begin(), read.end(), placeholders[i]) != read.end();
    if (!placeholders[i].defined() || !is_read) continue;
    inputs.push_back(placeholders[i]);
    fetch.inputs_.push_back(static_cast<int>(i));
  }
  TARTAN_ASSIGN_OR_RETURN(fetch.program_, CheckedProgram::Make(programs, inputs, computed, name,
                                                               is_checked, statistics));
  return fetch;
}

absl::StatusOr<std::vector<HostTensor>> Fetch::Run(absl::Span<const HostTensor> values,
                                                   RunStatistics* statistics,
                                                   std::vector<KernelProfile>* profile) const {
  const auto in_form = [&](const HostTensor& tensor) {
    return in_float64_ ? ir::InFloat64(tensor) : tensor;
  };
  std::vector<HostTensor> computed;
  if (program_.is_loaded()) {
    std::vector<HostTensor> inputs;
    for (int input : inputs_) inputs.push_back(in_form(values[static_cast<size_t>(input)]));
    std::vector<evaluator::KernelTime> times;
    TARTAN_ASSIGN_OR_RETURN(
        computed,
        CountShortage(program_.Run(inputs, statistics, profile == nullptr ? nullptr : &times),
                      statistics));
    if (profile != nullptr) {
      for (const evaluator::KernelTime& time : times) {
        profile->push_back({time.kernel, time.description, time.ms, time.flops, time.bytes});
      }
    }
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
