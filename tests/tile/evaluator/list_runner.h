// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the test device as it is: without a memory plan, whatever device its
// kernels were planned for.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

enum class Runs : uint8_t { kOneByOne, kInSequence };

// The list's steps, one after the other. In a sequence, kernels are written as functions of groups,
// as for the device that they were planned for, and their launches run as one where the test device
// can do that. The list outlives it.
class ListRunner {
 public:
  ListRunner(const compiler::KernelList& list, hal::Device& device, Runs runs = Runs::kOneByOne,
             const HardwareSettings& planned_for = {});
  // The first output; fails the test where the device does.
  HostTensor Run(const std::vector<HostTensor>& inputs);

 private:
  void Do(const compiler::Step& step);
  void Launch(const compiler::LaunchStep& step);
  // All as one recording, with a copy that makes it a sequence even where there is one alone.
  void RunLaunches();

  const compiler::KernelList& list_;
  hal::Device& device_;
  std::unique_ptr<hal::Queue> queue_;
  hal::ExecutablePtr executable_;
  std::vector<hal::Launch> launches_;
  std::vector<hal::BufferPtr> buffers_;
};

}  // namespace tartan::evaluator
