// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/work_groups.h"

#include <variant>

#include "tile/base/match.h"
#include "tile/loop/local_memory.h"
#include "tile/loop/traverse.h"

namespace tartan::compiler {
namespace {

void AddGroups(const loop::StmtPtr& stmt, WorkGroups* groups) {
  if (std::holds_alternative<loop::Barrier>(stmt->node)) groups->wait = true;
  if (const auto* array = std::get_if<loop::DeclareArray>(&stmt->node)) {
    if (array->space == loop::Space::kLocal && array->over.empty()) {
      groups->local_bytes += loop::LocalBytes(*array);
    }
  }
  groups->fills_compute_unit |= std::holds_alternative<loop::MultiplyTiles>(stmt->node) ||
                                std::holds_alternative<loop::Early>(stmt->node) ||
                                std::holds_alternative<loop::Once>(stmt->node);
  loop::ForEachChild(*stmt,
                     Overloaded{[](const loop::ExprPtr&) {},
                                [&](const loop::StmtPtr& child) { AddGroups(child, groups); }});
}

}  // namespace

WorkGroups WorkGroupsOf(const loop::Kernel& kernel) {
  WorkGroups groups;
  if (kernel.body != nullptr) AddGroups(kernel.body, &groups);
  return groups;
}

int64_t ItemCount(const loop::Kernel& kernel) {
  return kernel.local_size[0] * kernel.local_size[1] * kernel.local_size[2];
}

int64_t GroupCount(const loop::Kernel& kernel) {
  return kernel.global_size[0] * kernel.global_size[1] * kernel.global_size[2] / ItemCount(kernel);
}

}  // namespace tartan::compiler
