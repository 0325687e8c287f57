// SPDX-License-Identifier: Apache-2.0
// Describes how one form of an operator is imported.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// Computes the node's outputs, in order. Trailing outputs that nothing uses may be omitted.
using Handler = Outputs (*)(NodeContext& context);
// The same for operators of strings, sequences and optionals, which take and return values.
using ValueHandler = OutputValues (*)(NodeContext& context);
// Rewrites an older form of the node into the form that its handler knows.
using Lift = absl::Status (*)(NodeContext& context);

// The number of operands of a node: the first `least` operands are required, the others optional.
struct Arity {
  int least = 1;
  int most = 1;
};
inline constexpr int kAnyNumber = 1 << 30;

// The use of operands whose elements are encoded in plain numbers (api/element.h). String operands
// share one list of words when the operator sees them.
enum class ElementUse : uint8_t {
  kRefused,
  kMoved,  // only moves elements: its outputs have the same element type
  kRead,   // reads shapes or compares elements: its outputs are plain
};

struct OperatorRow {
  absl::string_view name;
  // The operator set that introduced this form. It is valid up to the next row of the same name.
  int since_version = 1;
  Arity arity;
  // Exactly one is set: `handler`, `tile` (a Tile function applied to the operands) or
  // `value_handler`.
  Handler handler = nullptr;
  // Bit i: operand i decides shapes, so its value is resolved before the handler is called.
  uint32_t host_operands = 0;
  Lift lift = nullptr;
  const char* tile = nullptr;
  ValueHandler value_handler = nullptr;
  absl::string_view domain = "";
  ElementUse elements = ElementUse::kRefused;
};

constexpr OperatorRow TileRow(absl::string_view name, int since_version, int operands,
                              const char* tile, Lift lift = nullptr) {
  return {name, since_version, {operands, operands}, nullptr, 0, lift, tile};
}

constexpr OperatorRow ValueRow(absl::string_view name, int since_version, Arity arity,
                               ValueHandler handler, uint32_t host_operands = 0) {
  return {name, since_version, arity, nullptr, host_operands, nullptr, nullptr, handler};
}

// The row of an operator outside of ai.onnx.
constexpr OperatorRow In(absl::string_view domain, OperatorRow row) {
  row.domain = domain;
  return row;
}

// Marks the row of an operator that only moves elements (Moving) or only reads them (Reading).
constexpr OperatorRow Moving(OperatorRow row) {
  row.elements = ElementUse::kMoved;
  return row;
}
constexpr OperatorRow Reading(OperatorRow row) {
  row.elements = ElementUse::kRead;
  return row;
}

constexpr uint32_t HostOperands() { return 0; }
template <class... Rest>
constexpr uint32_t HostOperands(int first, Rest... rest) {
  return (uint32_t{1} << first) | HostOperands(rest...);
}

}  // namespace tartan::onnx
