// SPDX-License-Identifier: Apache-2.0
// What the text of a kernel is where launches whose work-groups have several items may be run in
// sequences (hal::KernelSource::in_sequence). Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// NAME_group does one group: local memory comes from the caller, since only kernels may declare it,
// and the group's items, a team, are part of a larger group. NAME_groups does many. The entry point
// does its own. The phase: 0 for all of it, 1 for what is early (loop::Early), of the first group,
// 2 for the rest. Those of a kernel that keeps what it does once (loop::Once) do a run of launches:
// they take the arguments of the next one from the table.
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
  // Behind the statements of loop::Once, at that depth: those of each launch are a loop's body.
  std::string BeginLaunches(int depth);
  std::string BeginFetch(const loop::Fetch& fetch) const;
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
  // The launch's arguments, from the table, at that depth.
  std::string DeclareArguments(int depth) const;
  // The entry point's table: its arguments, which are so called.
  std::string WriteTable(const std::vector<std::string>& names, const std::string& item) const;
  // A parameter's word in the table.
  std::string WordOf(const std::string& parameter) const;
  // The condition that there is a next launch, of which the work-item brings a word.
  std::string HasWord() const;
  // Behind the statements of a launch: the next one's arguments come into the table.
  std::string EndLaunches() const;

  const loop::Kernel& kernel_;
  const Dialect& dialect_;
  std::string qualifier_;
  bool has_early_ = false;
  bool has_runs_ = false;
  int64_t local_bytes_ = 0;
  int64_t alignment_ = 64;  // of the local memory
};

}  // namespace tartan::codegen
