// SPDX-License-Identifier: Apache-2.0
// What a value is to those who divide a program into kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "tile/ir/program.h"
#include "tile/poly/index_space.h"

namespace tartan::graph {

enum class Kind : uint8_t {
  kInput,
  kConstant,
  kPointwise,  // computable at any single element from single elements of its operands
  kReshape,
  kRoot,  // a reduction or a special operation: always a kernel of its own
};

bool IsGather(ir::SpecialKind kind);

// `space` is that of a contraction.
Kind KindOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space);

// Index points of a contraction; 0 for other values.
int64_t PointsOf(const std::optional<poly::IndexSpace>& space);
// Scalar operations for one element of `value`, without those of its operands.
int OperationsOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space);
// Nothing but elements of its operand, some of them more than once.
bool RepeatsElements(const ir::Program& program, const ir::Value& value,
                     const std::optional<poly::IndexSpace>& space);

// The elementwise 16-bit value that `value` is converted from, which says as much in half of the
// memory; kNoValue for others.
ir::ValueId NarrowForm(const ir::Program& program, const ir::Value& value);

}  // namespace tartan::graph
