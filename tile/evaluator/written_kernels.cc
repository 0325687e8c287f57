// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/written_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/loop/launch_batches.h"

namespace tartan::evaluator {

std::shared_ptr<const WrittenKernel> WriteOne(const loop::Kernel& kernel,
                                              const codegen::Dialect& dialect) {
  auto written = std::make_shared<WrittenKernel>();
  written->text = codegen::WriteKernelText(kernel, dialect);
  written->kept = loop::PersistentParameters(kernel);
  return written;
}

std::shared_ptr<const WrittenKernel> WrittenKernels::Get(const loop::Kernel& kernel,
                                                         const codegen::Dialect& dialect,
                                                         absl::string_view settings) {
  if (kernel.checks_bounds) return WriteOne(kernel, dialect);
  const std::string key =
      absl::StrCat(kernel.name, kernel.in_launch_batch ? " in a sequence\n" : "\n", settings);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  }
  std::shared_ptr<const WrittenKernel> written = WriteOne(kernel, dialect);
  std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_.size() >= capacity_) kernels_.clear();
  return kernels_.emplace(key, std::move(written)).first->second;
}

}  // namespace tartan::evaluator
