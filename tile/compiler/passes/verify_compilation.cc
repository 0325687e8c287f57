// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/passes/verify_compilation.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/verify_list.h"
#include "tile/ir/verify_stored.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Checks that a per-value table is empty or has one entry per value.
absl::Status CheckSize(absl::string_view what, size_t size, const ir::Program& program) {
  if (size == 0 || size == program.values.size()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": ", size, " values, but the program has ", program.values.size()));
}

absl::Status CheckIsValue(absl::string_view what, ValueId value, const ir::Program& program) {
  if (value >= 0 && value < static_cast<ValueId>(program.values.size())) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, " value ", value, ", but the program has ", program.values.size()));
}

absl::Status CheckDecisions(const Compilation& c) {
  TARTAN_RETURN_IF_ERROR(CheckSize("index spaces", c.spaces.size(), c.program));
  TARTAN_RETURN_IF_ERROR(CheckSize("is_constant", c.is_constant.size(), c.program));
  for (const auto& [root, algorithm] : c.algorithms) {
    TARTAN_RETURN_IF_ERROR(CheckIsValue("an algorithm is selected for", root, c.program));
    if (std::holds_alternative<ir::Contraction>(c.program.values[root].op)) continue;
    return absl::InternalError(absl::StrCat("an algorithm is selected for ",
                                            c.program.values[root].name,
                                            ", which is not a contraction"));
  }
  for (const ValueId value : c.grouping.held) {
    TARTAN_RETURN_IF_ERROR(CheckIsValue("grouping.held names", value, c.program));
  }
  for (const ValueId value : c.grouping.inlined) {
    TARTAN_RETURN_IF_ERROR(CheckIsValue("grouping.inlined names", value, c.program));
  }
  return absl::OkStatus();
}

absl::Status CheckPartition(const Partition& partition, const ir::Program& program) {
  const std::vector<ValueId>& storage = partition.grouping.storage;
  TARTAN_RETURN_IF_ERROR(CheckSize("grouping.storage", storage.size(), program));
  if (storage.empty()) return absl::OkStatus();
  for (const ValueId output : program.outputs) {
    TARTAN_RETURN_IF_ERROR(CheckIsValue("an output is stored as", storage[output], program));
  }
  for (const PartitionedKernel& kernel : partition.kernels) {
    for (const ValueId output : kernel.outputs) {
      TARTAN_RETURN_IF_ERROR(CheckIsValue("a kernel computes", output, program));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyCompilation(const Compilation& c) {
  TARTAN_RETURN_IF_ERROR(c.has_upcast_float16 ? ir::VerifyStored(c.program)
                                              : ir::Verify(c.program));
  TARTAN_RETURN_IF_ERROR(CheckDecisions(c));
  TARTAN_RETURN_IF_ERROR(CheckPartition(c.partition, c.program));
  return VerifyList(c.list);
}

}  // namespace tartan::compiler
