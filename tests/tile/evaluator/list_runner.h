// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the test device without a memory plan, whichever device it was planned for.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

enum class Runs : uint8_t { kOneByOne, kInSequence };

// Runs a list's steps in order. `Runs::kInSequence` writes kernels as functions of work-groups, as
// for a GPU, and runs their launches as one batch if the test device supports it. The list must
// outlive the runner.
class ListRunner {
 public:
  ListRunner(const compiler::KernelList& list, hal::Device& device, Runs runs = Runs::kOneByOne,
             const HardwareSettings& planned_for = {});
  // Return the first output, or all of them; a device error fails the test.
  HostTensor Run(const std::vector<HostTensor>& inputs);
  std::vector<HostTensor> RunAll(const std::vector<HostTensor>& inputs);

 private:
  void Do(const compiler::Step& step);
  void Launch(const compiler::LaunchStep& step);
  // Runs all launches as one recording. An additional copy makes even a single launch a batch.
  void RunLaunches();

  const compiler::KernelList& list_;
  hal::Device& device_;
  std::unique_ptr<hal::Queue> queue_;
  hal::ExecutablePtr executable_;
  std::vector<hal::Launch> launches_;
  std::vector<hal::BufferPtr> buffers_;
};

}  // namespace tartan::evaluator
