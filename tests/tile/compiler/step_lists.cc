// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/step_lists.h"

#include "absl/strings/str_cat.h"
#include "tile/compiler/memory/lifetimes.h"

namespace tartan::compiler {

int AddBuffer(BufferKind kind, KernelList* list) {
  list->buffers.push_back({absl::StrCat("b", list->buffers.size()), kind,
                           TensorShape{DataType::kFloat32, {kBytes / 4}}, kBytes});
  return static_cast<int>(list->buffers.size()) - 1;
}

int64_t Peak(const KernelList& list) {
  return PeakOf(LifetimesOf(list), static_cast<int>(list.steps.size())).bytes;
}

std::vector<double> Simulate(const KernelList& list) {
  std::vector<double> held;
  for (size_t b = 0; b < list.buffers.size(); ++b) held.push_back(-1 - static_cast<double>(b));
  for (const Step& step : list.steps) {
    if (const auto* fill = std::get_if<FillStep>(&step)) held[fill->buffer] = fill->value;
    if (const auto* copy = std::get_if<CopyStep>(&step)) held[copy->to] = held[copy->from];
  }
  return held;
}

}  // namespace tartan::compiler
