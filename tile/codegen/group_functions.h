// SPDX-License-Identifier: Apache-2.0
// What the text of a kernel is where launches whose work-groups have several items may be run in
// sequences (hal::KernelSource::in_sequence). Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// NAME_group does one group: local memory comes from the caller, since only kernels may declare it,
// and the group's items, a team, are part of a larger group. NAME_groups does many. The entry point
// does its own. The phase: 0 for all of it, 1 for what is early (loop::Early), of the first group,
// 2 for the rest.
class GroupText {
 public:
  GroupText(const loop::Kernel& kernel, const Dialect& dialect)
      : kernel_(kernel), dialect_(dialect), qualifier_(dialect.function_qualifier) {}

  // For the statements of the kernel.
  Code WorkIndex(const loop::WorkIndex& work, const loop::Type& type) const;
  std::string Barrier() const;
  std::string DeclareLocal(const loop::DeclareArray& array);
  // Around the statements of loop::Early.
  std::string BeginEarly();
  std::string EndEarly() const;
  // Of what a matrix unit has under way compilers lose sight where functions are called.
  void UseMatrixUnit() { qualifier_ = dialect_.inline_qualifier; }

  // Call last. `parameters`: those of the kernel as they are written, `body`: its statements.
  std::string Write(absl::string_view parameters, absl::string_view body) const;

 private:
  int64_t Items() const;
  // The work-item's index in the group, in one dimension.
  Code ItemIndex(int dimension) const;
  std::string WriteGroups() const;
  std::string WriteEntryPoint(absl::string_view parameters) const;

  const loop::Kernel& kernel_;
  const Dialect& dialect_;
  std::string qualifier_;
  bool has_early_ = false;
  int64_t local_bytes_ = 0;
  int64_t alignment_ = 64;  // of the local memory
};

}  // namespace tartan::codegen
