// SPDX-License-Identifier: Apache-2.0
// Compiled programs as bytes, so that a later process need not plan and generate their kernels
// again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "hal/hal.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// Where the bytes are kept. Null functions: nowhere.
struct ProgramStore {
  std::function<std::optional<std::string>(absl::string_view key)> load;
  std::function<void(absl::string_view key, absl::string_view bytes)> store;
};

// A program's steps, and the text of the kernels they launch.
struct ProgramSource {
  compiler::KernelList list;  // after ParseProgram its kernels' parameters tell only what is an
                              // output, and there is no body
  hal::ExecutableSource source;
};

// Whether the sequences of a list are built as one: not where kernels have sizes, which many
// programs share.
bool JoinsSequences(const compiler::KernelList& list);

std::string SerializeProgram(const ProgramSource& program);

// Nothing if the bytes are not a program whose steps, buffers and kernels fit together. The
// source's format and options are left to the caller.
std::optional<ProgramSource> ParseProgram(absl::string_view bytes);

}  // namespace tartan::evaluator
