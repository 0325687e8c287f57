// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/known_kernels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/digest.h"
#include "tile/loop/rename.h"
#include "tile/loop/simplify.h"

namespace tartan::compiler {
namespace {

// All that the simplified kernel follows from: its sizes are unknown to the simplifier, and so is
// the global size where there are any.
loop::Kernel FormOf(const loop::Kernel& lowered) {
  loop::Kernel form = lowered;
  form.name.clear();
  form.comments.clear();
  for (loop::Size& size : form.sizes) size.value = 0;
  if (!form.sizes.empty()) std::fill_n(form.global_size, 3, int64_t{1});
  return form;
}

std::shared_ptr<const SimplifiedKernel> SimplifyForm(loop::Kernel form) {
  auto simplified = std::make_shared<SimplifiedKernel>();
  loop::Kernel kernel = loop::Simplify(form);
  simplified->body = kernel.body;
  simplified->text = loop::ToString(loop::WithoutNames(std::move(kernel)));
  simplified->name = absl::StrCat("ready_", Digest(simplified->text));
  simplified->lowered = std::move(form);
  return simplified;
}

}  // namespace

std::shared_ptr<const SimplifiedKernel> SimplifyKernel(const loop::Kernel& lowered) {
  return SimplifyForm(FormOf(lowered));
}

std::shared_ptr<const SimplifiedKernel> KnownKernels::Get(const loop::Kernel& lowered) {
  loop::Kernel form = FormOf(lowered);
  const uint64_t hash = form.body == nullptr ? 0 : loop::HashOf(*form.body);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto known = Find(hash, form); known != nullptr) return known;
  }
  std::shared_ptr<const SimplifiedKernel> simplified = SimplifyForm(std::move(form));
  std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_.size() >= capacity_) kernels_.clear();
  kernels_.emplace(hash, simplified);
  return simplified;
}

std::shared_ptr<const SimplifiedKernel> KnownKernels::Find(uint64_t hash,
                                                           const loop::Kernel& form) const {
  const auto [begin, end] = kernels_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (loop::Equal(it->second->lowered, form)) return it->second;
  }
  return nullptr;
}

}  // namespace tartan::compiler
