// SPDX-License-Identifier: Apache-2.0
// Arithmetic of what is known when a function is bound: sizes, literals and what is computed from
// them alone.
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
  bool is_bool = false;  // the answer of a comparison or of logic; the value is 0 or 1

  bool is_integer() const { return std::holds_alternative<int64_t>(value); }
  double AsDouble() const;
  bool IsTrue() const { return AsDouble() != 0; }
  // The value as a size or an index coefficient: an integer, or a float without a fraction.
  std::optional<int64_t> AsInteger() const;
  std::string ToString() const;
};

// The function's value as base/scalar_value.h defines it: of integers where that is exact, of bools
// alone as bool, of doubles where an operand is one (then a bool counts as 0 or 1). nullopt for a
// function (or a number of operands) that is not evaluated here. InvalidArgument where integers
// overflow, are divided by zero or shifted by a negative count.
absl::StatusOr<std::optional<CompileTimeScalar>> FoldCall(
    absl::string_view function, absl::Span<const CompileTimeScalar> operands);

}  // namespace tartan::lang
