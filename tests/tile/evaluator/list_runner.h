// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the test device as it is: without a memory plan, whatever device its
// kernels were planned for.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// The list's steps, one after the other. The list outlives it.
class ListRunner {
 public:
  ListRunner(const compiler::KernelList& list, hal::Device& device);
  // The first output; fails the test where the device does.
  HostTensor Run(const std::vector<HostTensor>& inputs);

 private:
  void Do(const compiler::Step& step);
  void Launch(const compiler::LaunchStep& step);

  const compiler::KernelList& list_;
  std::unique_ptr<hal::Queue> queue_;
  hal::ExecutablePtr executable_;
  std::vector<hal::BufferPtr> buffers_;
};

}  // namespace tartan::evaluator
