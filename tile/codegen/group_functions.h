// SPDX-License-Identifier: Apache-2.0
// Writes kernels whose work-groups have several items as functions, for persistent megakernels that
// execute a batch of launches (hal::KernelSource::in_sequence). Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// Writes NAME_group, which executes one work-group, NAME_groups, which executes many, and the entry
// point, which executes its own. The work-items of a group form a team within a larger work-group.
// The caller supplies local memory, which only kernels may declare. Phases: 0 is everything; 1 is
// the loop::Early part of the first work-group; 2 is the rest. A kernel with loop::Once executes
// consecutive launches in a loop, and copies the arguments of each next launch from the table.
class GroupText {
 public:
  GroupText(const loop::Kernel& kernel, const Dialect& dialect)
      : kernel_(kernel), dialect_(dialect), qualifier_(dialect.function_qualifier) {}

  // Texts for the statements of the kernel.
  Code WorkIndex(const loop::WorkIndex& work, const loop::Type& type) const;
  std::string Barrier() const;
  std::string DeclareLocal(const loop::DeclareArray& array);
  // Texts around the statements of loop::Early.
  std::string BeginEarly();
  std::string EndEarly() const;
  // Text after the statements of loop::Once, at an indentation of `depth`: begins the loop over
  // launches.
  std::string BeginLaunches(int depth);
  std::string BeginFetch(const loop::Fetch& fetch) const;
  // Inlines the functions: compilers do not track pending MMA operations across calls.
  void UseMma() { qualifier_ = dialect_.inline_qualifier; }

  // Call last. `parameters` is the kernel's parameter list as text, `body` its statements.
  std::string Write(absl::string_view parameters, absl::string_view body) const;

 private:
  int64_t Items() const;
  // The work-item's index in the work-group along one dimension.
  Code ItemIndex(int dimension) const;
  std::string WriteGroups() const;
  std::string WriteEntryPoint(absl::string_view parameters) const;
  // Declares the launch's arguments from the table, at an indentation of `depth`.
  std::string DeclareArguments(int depth) const;
  // Declares the entry point's table, filled with its own arguments of the given names.
  std::string WriteTable(const std::vector<std::string>& names, const std::string& item) const;
  // The element of the table that holds a parameter.
  std::string WordOf(const std::string& parameter) const;
  // The condition that there is a next launch and the work-item copies a word of its arguments.
  std::string HasWord() const;
  // Text after the statements of a launch: copies the next launch's arguments into the table.
  std::string EndLaunches() const;

  const loop::Kernel& kernel_;
  const Dialect& dialect_;
  std::string qualifier_;
  bool has_early_ = false;
  bool has_runs_ = false;
  int64_t local_bytes_ = 0;
  int64_t alignment_ = 64;  // of the local memory, in bytes
};

}  // namespace tartan::codegen
