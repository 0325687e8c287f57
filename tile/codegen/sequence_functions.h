// SPDX-License-Identifier: Apache-2.0
// What the text of a kernel holds beside its entry point where launches may be run in sequences
// (hal::KernelSource::in_sequence). Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// The names of the work-item's indices in such a kernel's body.
inline constexpr const char* kItem[3] = {"work_x", "work_y", "work_z"};

// "__global const float* ", without the parameter's name.
std::string PointerTo(const loop::Parameter& parameter, const Dialect& dialect);

// What the kernel calls a number that each launch gives.
std::string ParameterName(const loop::Size& size);

// "(__global float* )arguments[0]": a launch's arguments, of which `table` has the addresses and
// the numbers.
std::vector<std::string> ArgumentsOfTable(const loop::Kernel& kernel, const Dialect& dialect,
                                          absl::string_view table = "arguments");

// The function NAME_item, which does one work-item, and NAME_items, which does many. `parameters`:
// those of the kernel as they are written, `body`: its statements, where kItem are the indices.
std::string WriteSequenceFunctions(const loop::Kernel& kernel, absl::string_view parameters,
                                   absl::string_view body, const Dialect& dialect);

// The statement with which the entry point does its work-item.
std::string WriteItemCall(const loop::Kernel& kernel, const Dialect& dialect);

}  // namespace tartan::codegen
