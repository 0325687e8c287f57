// SPDX-License-Identifier: Apache-2.0
// Serializes compiled programs, so that later processes need not compile them again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "hal/hal.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// Access to a store of bytes. Null functions: no store.
struct ProgramStore {
  std::function<std::optional<std::string>(absl::string_view key)> load;
  std::function<void(absl::string_view key, absl::string_view bytes)> store;
};

// A program's steps, and the texts of the kernels that they launch.
struct ProgramSource {
  // after ParseProgram, kernels have no bodies, and parameters only is_output
  compiler::KernelList list;
  hal::ExecutableSource source;
};

// Returns whether the launch batches of a list are compiled as one function. False if kernels have
// sizes, because many programs share such kernels.
bool JoinsLaunchBatches(const compiler::KernelList& list);

std::string SerializeProgram(const ProgramSource& program);

// Nothing if the bytes are not a program with consistent steps, buffers and kernels. The caller
// sets the source's format and options.
std::optional<ProgramSource> ParseProgram(absl::string_view bytes);

}  // namespace tartan::evaluator
