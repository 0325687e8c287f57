// SPDX-License-Identifier: Apache-2.0
// Classification of values for fusion.
#pragma once

#include <cstdint>
#include <optional>

#include "tile/ir/program.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::graph {

enum class Kind : uint8_t {
  kInput,
  kConstant,
  kPointwise,  // each element depends on single elements of the operands
  kReshape,
  kRoot,  // a reduction or special operation, always in a separate kernel
};

bool IsGather(ir::SpecialKind kind);

// `space`: index space of a contraction.
Kind KindOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space);

// Number of index points of a contraction; 0 for other values.
int64_t PointsOf(const std::optional<poly::IndexSpace>& space);
// Scalar operations per element of `value`, excluding its operands.
int OperationsOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space);
// Returns true for broadcasts: every element is an element of the operand, some repeatedly.
bool RepeatsElements(const ir::Program& program, const ir::Value& value,
                     const std::optional<poly::IndexSpace>& space);

// Returns the 16-bit elementwise value that `value` upcasts, which needs half the memory; kNoValue
// for other values.
ir::ValueId NarrowForm(const ir::Program& program, const ir::Value& value);

// Returns true for a conversion from float32 to the type.
bool RoundsFloat32(const ir::Program& program, const ir::Value& value, DataType type);

}  // namespace tartan::graph
