// SPDX-License-Identifier: Apache-2.0
// Compile-time arithmetic: sizes, constants, and values computed from them alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::lang {

struct CompileTimeScalar {
  std::variant<int64_t, double> value;
  bool is_bool = false;  // the result of a comparison or of logic; the value is 0 or 1

  bool is_integer() const { return std::holds_alternative<int64_t>(value); }
  double AsDouble() const;
  bool IsTrue() const { return AsDouble() != 0; }
  // The value as a size or an index coefficient: an integer, or a float without a fraction.
  std::optional<int64_t> AsInteger() const;
  std::string ToString() const;
};

// The function's value as base/scalar_value.h defines it: exact for integers, bool if all operands
// are bools, double if an operand is one (a bool then counts as 0 or 1). nullopt for a function (or
// operand count) that is not folded. InvalidArgument if integers overflow, are divided by zero, or
// are shifted by a negative count.
absl::StatusOr<std::optional<CompileTimeScalar>> FoldCall(
    absl::string_view function, absl::Span<const CompileTimeScalar> operands);

}  // namespace tartan::lang
