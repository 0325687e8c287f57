// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/kernel_library.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {

absl::StatusOr<std::vector<BuiltKernel>> KernelLibrary::Get(const hal::ExecutableSource& source,
                                                            const Build& build) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_.size() > capacity_) kernels_.clear();
  std::vector<BuiltKernel> kernels(source.kernels.size());
  std::vector<std::string> keys;
  std::vector<int> missing;
  for (size_t k = 0; k < source.kernels.size(); ++k) {
    keys.push_back(absl::StrCat(source.options, "\n", source.kernels[k].source));
    const auto found = kernels_.find(keys.back());
    if (found == kernels_.end()) {
      missing.push_back(static_cast<int>(k));
    } else {
      kernels[k] = found->second;
    }
  }
  if (missing.empty()) return kernels;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<BuiltKernel> built, build(missing));
  for (size_t m = 0; m < missing.size(); ++m) {
    kernels[missing[m]] = built[m];
    kernels_.emplace(std::move(keys[missing[m]]), built[m]);
  }
  return kernels;
}

}  // namespace tartan::evaluator
