// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/reuse_operands.h"

#include <algorithm>
#include <vector>

#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/merge_parameters.h"

namespace tartan::compiler {
namespace {

// Buffers of less than 1 / kSmallShare of the peak are left alone: each form of a kernel compiles.
constexpr int64_t kSmallShare = 128;

class OperandReuser {
 public:
  OperandReuser(int64_t min_bytes, KernelList* list)
      : min_bytes_(min_bytes), list_(*list), merger_(list) {}

  void Run() {
    const auto steps = static_cast<int>(list_.steps.size());
    lifetimes_ = LifetimesOf(list_);
    const int64_t min_bytes = std::max(min_bytes_, PeakOf(lifetimes_, steps).bytes / kSmallShare);
    bool has_merged = false;
    for (int s = 0; s < steps; ++s) {
      while (Reuse(s, min_bytes)) {
        lifetimes_ = LifetimesOf(list_);
        has_merged = true;
      }
    }
    if (has_merged) DropUnusedKernels(&list_);
  }

 private:
  // Returns true for a temporary buffer that is neither a view nor has views.
  bool IsSimple(int buffer) const {
    const BufferInfo& info = list_.buffers[buffer];
    return info.kind == BufferKind::kTemporary && info.base < 0 && info.bytes > 0 &&
           std::none_of(list_.buffers.begin(), list_.buffers.end(),
                        [&](const BufferInfo& other) { return other.base == buffer; });
  }

  // Returns false if no operand of the step can have its result.
  bool Reuse(int step, int64_t min_bytes) {
    auto* launch = std::get_if<LaunchStep>(&list_.steps[step]);
    if (launch == nullptr) return false;
    const StepBuffers used = BuffersOf(list_, list_.steps[step]);
    const auto contains = [](const std::vector<int>& buffers, int buffer) {
      return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
    };
    for (const int written : used.written) {
      if (lifetimes_[written].first != step || list_.buffers[written].bytes < min_bytes ||
          !IsSimple(written)) {
        continue;
      }
      for (const int read : used.read) {
        if (lifetimes_[read].last != step || lifetimes_[read].first == step || !IsSimple(read) ||
            contains(used.written, read) ||
            list_.buffers[read].bytes != list_.buffers[written].bytes ||
            !merger_.Merge(read, written, launch)) {
          continue;
        }
        merger_.ReplaceBuffer(written, read);
        return true;
      }
    }
    return false;
  }

  const int64_t min_bytes_;
  KernelList& list_;
  ParameterMerger merger_;
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

void ReuseOperands(int64_t min_bytes, KernelList* list) { OperandReuser(min_bytes, list).Run(); }

}  // namespace tartan::compiler
