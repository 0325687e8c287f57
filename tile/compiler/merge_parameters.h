// SPDX-License-Identifier: Apache-2.0
// Lets launches write their results over a tensor that they read.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Changes launches of one list, and adds forms of its kernels. The caller calls DropUnusedKernels
// at the end.
class ParameterMerger {
 public:
  explicit ParameterMerger(KernelList* list) : list_(*list) {}

  // If the launch reads the buffer `read`, replaces its kernel by one that reads and writes this
  // buffer through the parameter of the output `written`. Returns false, and changes nothing,
  // unless each element is read where it is written. Afterwards the caller calls ReplaceBuffer.
  bool Merge(int read, int written, LaunchStep* launch);
  // Returns true for a launch whose kernel has the buffer as a parameter but never accesses it.
  bool IgnoresParameter(const Step& step, int buffer) const;
  // Removes an unused buffer from a launch, with the parameter of its kernel.
  void Drop(int buffer, LaunchStep* launch);
  // Replaces a buffer in all steps and outputs by another one.
  void ReplaceBuffer(int from, int to);

 private:
  std::string VariantName(const std::string& name) const;
  loop::Kernel Merged(loop::Kernel kernel, int written, const std::vector<int>& read) const;

  KernelList& list_;
  // Merged kernels by origin: kernel, written parameter, and the read parameters merged into it.
  std::map<std::tuple<int, int, std::vector<int>>, int> merged_;
};

}  // namespace tartan::compiler
