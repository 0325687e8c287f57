// SPDX-License-Identifier: Apache-2.0
// Writes kernels also as plain functions, for launches that the CPU device executes in batches
// (hal::KernelSource::in_sequence). Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// The names of the work-item's indices in such functions.
inline constexpr const char* kItem[3] = {"work_x", "work_y", "work_z"};

// "__global const float* ", without the parameter's name.
std::string PointerTo(const loop::Parameter& parameter, const Dialect& dialect);

// The name of the parameter that carries a size of the launch.
std::string ParameterName(const loop::Size& size);

// A launch's arguments as text, such as "(__global float* )arguments[0]". `table` contains the
// addresses and the sizes.
std::vector<std::string> ArgumentsOfTable(const loop::Kernel& kernel, const Dialect& dialect,
                                          absl::string_view table = "arguments");

// Writes the function NAME_item, which executes one work-item, and NAME_items, which executes many.
// `parameters` is the kernel's parameter list as text, `body` its statements; they use kItem.
std::string WriteItemFunctions(const loop::Kernel& kernel, absl::string_view parameters,
                               absl::string_view body, const Dialect& dialect);

// The statement with which the entry point executes its own work-item.
std::string WriteItemCall(const loop::Kernel& kernel, const Dialect& dialect);

}  // namespace tartan::codegen
