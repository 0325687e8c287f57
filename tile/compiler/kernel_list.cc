// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/kernel_list.h"

#include <utility>

#include "tile/base/match.h"

namespace tartan::compiler {

StepBuffers BuffersOf(const KernelList& list, const Step& step) {
  StepBuffers buffers;
  Match(
      step,
      [&](const LaunchStep& launch) {
        const loop::Kernel& kernel = list.kernels[launch.kernel];
        for (size_t p = 0; p < launch.buffers.size(); ++p) {
          const bool is_output = kernel.parameters[p].is_output;
          (is_output ? buffers.written : buffers.read).push_back(launch.buffers[p]);
        }
      },
      [&](const FillStep& fill) { buffers.written = {fill.buffer}; },
      [&](const CopyStep& copy) {
        buffers.read = {copy.from};
        buffers.written = {copy.to};
      });
  return buffers;
}

void DropUnusedKernels(KernelList* list) {
  std::vector<int> numbers(list->kernels.size(), -1);  // positions in the new list
  for (std::vector<Step>* steps : {&list->setup, &list->steps}) {
    for (const Step& step : *steps) {
      if (const auto* launch = std::get_if<LaunchStep>(&step)) numbers[launch->kernel] = 0;
    }
  }
  std::vector<loop::Kernel> kept;
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] < 0) continue;
    numbers[k] = static_cast<int>(kept.size());
    kept.push_back(std::move(list->kernels[k]));
  }
  list->kernels = std::move(kept);
  for (std::vector<Step>* steps : {&list->setup, &list->steps}) {
    for (Step& step : *steps) {
      if (auto* launch = std::get_if<LaunchStep>(&step)) launch->kernel = numbers[launch->kernel];
    }
  }
}

}  // namespace tartan::compiler
