// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, bitwise operators and selection.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kAnd[] = "function (A, B) -> (C) { C = A && B; }";
constexpr char kOr[] = "function (A, B) -> (C) { C = A || B; }";
constexpr char kXor[] = "function (A, B) -> (C) { C = A != B; }";
constexpr char kEqual[] = "function (A, B) -> (C) { C = A == B; }";
constexpr char kGreater[] = "function (A, B) -> (C) { C = A > B; }";
constexpr char kLess[] = "function (A, B) -> (C) { C = A < B; }";

Outputs BitShift(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string direction, context.String("direction"));
  if (direction == "LEFT") return context.Apply("function (A, B) -> (C) { C = A << B; }");
  if (direction == "RIGHT") return context.Apply("function (A, B) -> (C) { C = A >> B; }");
  return Invalid("attribute 'direction': expected LEFT or RIGHT, got ", direction);
}

Outputs IsInf(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t negative, context.Int("detect_negative", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t positive, context.Int("detect_positive", 1));
  const char* value = "isinf(X)";
  if (negative == 0) value = positive == 0 ? "isinf(X) && X == 0" : "isinf(X) && X > 0";
  if (negative != 0 && positive == 0) value = "isinf(X) && X < 0";
  return context.Apply(absl::StrCat("function (X) -> (Y) { Y = ", value, "; }"));
}

constexpr OperatorRow kOperators[] = {
    TileRow("And", 1, 2, kAnd, AxisBroadcast),
    TileRow("And", 7, 2, kAnd),
    {"BitShift", 11, {2, 2}, BitShift},
    TileRow("BitwiseAnd", 18, 2, "function (A, B) -> (C) { C = A & B; }"),
    TileRow("BitwiseNot", 18, 1, "function (X) -> (Y) { Y = ~X; }"),
    TileRow("BitwiseOr", 18, 2, "function (A, B) -> (C) { C = A | B; }"),
    TileRow("BitwiseXor", 18, 2, "function (A, B) -> (C) { C = A ^ B; }"),
    Reading(TileRow("Equal", 1, 2, kEqual, AxisBroadcast)),
    Reading(TileRow("Equal", 7, 2, kEqual)),
    Reading(TileRow("Greater", 1, 2, kGreater, AxisBroadcast)),
    Reading(TileRow("Greater", 7, 2, kGreater)),
    Reading(TileRow("GreaterOrEqual", 12, 2, "function (A, B) -> (C) { C = A >= B; }")),
    {"IsInf", 10, {1, 1}, IsInf},
    TileRow("IsNaN", 9, 1, "function (X) -> (Y) { Y = isnan(X); }"),
    Reading(TileRow("Less", 1, 2, kLess, AxisBroadcast)),
    Reading(TileRow("Less", 7, 2, kLess)),
    Reading(TileRow("LessOrEqual", 12, 2, "function (A, B) -> (C) { C = A <= B; }")),
    TileRow("Not", 1, 1, "function (X) -> (Y) { Y = !X; }"),
    TileRow("Or", 1, 2, kOr, AxisBroadcast),
    TileRow("Or", 7, 2, kOr),
    Moving(TileRow("Where", 9, 3, "function (C, A, B) -> (Y) { Y = C ? A : B; }")),
    TileRow("Xor", 1, 2, kXor, AxisBroadcast),
    TileRow("Xor", 7, 2, kXor),
};

}  // namespace

absl::Span<const OperatorRow> LogicOperators() { return kOperators; }

}  // namespace tartan::onnx
