// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/kernel_library.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {

absl::StatusOr<KernelLibrary::Result> KernelLibrary::Get(hal::Device& device,
                                                         const hal::ExecutableSource& source) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_.size() > capacity_) kernels_.clear();
  Result result;
  hal::ExecutableSource missing = source;
  missing.kernels.clear();
  std::vector<std::pair<size_t, std::string>> places;  // of missing kernels, with their keys
  for (const hal::KernelSource& kernel : source.kernels) {
    std::string key = absl::StrCat(source.options, "\n", kernel.source);
    const auto found = kernels_.find(key);
    if (found != kernels_.end()) {
      result.kernels.push_back(found->second);
      continue;
    }
    places.emplace_back(result.kernels.size(), std::move(key));
    result.kernels.push_back({nullptr, static_cast<int>(missing.kernels.size())});
    missing.kernels.push_back(kernel);
  }
  if (missing.kernels.empty()) return result;
  TARTAN_ASSIGN_OR_RETURN(result.built, device.Compile(missing));
  for (auto& [place, key] : places) {
    result.kernels[place].executable = result.built;
    kernels_.emplace(std::move(key), result.kernels[place]);
  }
  return result;
}

}  // namespace tartan::evaluator
