// SPDX-License-Identifier: Apache-2.0
// How one form of an operator is imported.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// Makes the node's outputs, in order; may leave out trailing ones that nothing wants.
using Handler = absl::StatusOr<std::vector<api::Tensor>> (*)(NodeContext& context);
// The same for operators of strings, sequences and optionals: they see and make values.
using ValueHandler = absl::StatusOr<std::vector<api::Value>> (*)(NodeContext& context);
// Rewrites an old form of the node into the one its handler knows.
using Lift = absl::Status (*)(NodeContext& context);

// How many operands a node may have. Operands [0, least) must be there; later ones may be left out.
struct Arity {
  int least = 1;
  int most = 1;
};
inline constexpr int kAnyNumber = 1 << 30;

// What an operator does with operands that are not plain numbers but represented by some
// (api/element.h). Strings among its operands have one list of words when it sees them.
enum class ElementUse : uint8_t {
  kRefused,
  kMoved,  // it moves elements only: its outputs are such elements too
  kRead,   // it looks at shapes, or compares elements for being equal or less: outputs are plain
};

struct OperatorRow {
  absl::string_view name;
  // The operator set that introduced this form. It holds until the next row of the same name.
  int since_version = 1;
  Arity arity;
  // Exactly one of the three: a handler, a Tile function applied to the operands, value_handler.
  Handler handler = nullptr;
  const char* tile = nullptr;
  Lift lift = nullptr;
  // Bit i: operand i decides shapes, so its value is asked for before the handler is called.
  uint32_t host_operands = 0;
  absl::string_view domain = "";
  ElementUse elements = ElementUse::kRefused;
  ValueHandler value_handler = nullptr;
};

constexpr OperatorRow TileRow(absl::string_view name, int since_version, int operands,
                              const char* tile) {
  return {name, since_version, {operands, operands}, nullptr, tile};
}

constexpr OperatorRow ValueRow(absl::string_view name, int since_version, Arity arity,
                               ValueHandler handler, uint32_t host_operands = 0,
                               absl::string_view domain = "") {
  OperatorRow row{name, since_version, arity};
  row.value_handler = handler;
  row.host_operands = host_operands;
  row.domain = domain;
  return row;
}

// The row of an operator that only moves elements, or only looks at them.
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
