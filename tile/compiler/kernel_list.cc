// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/kernel_list.h"

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

}  // namespace tartan::compiler
