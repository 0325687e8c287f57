// SPDX-License-Identifier: Apache-2.0
// Helpers that write pieces of Tile text with concrete sizes.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/data_type.h"

namespace tartan::onnx {

// A literal that reads back as the same value: "0.25", "(-1.0)", "inf()". Whole numbers have float
// form too.
std::string Literal(double value);
std::string Literal(int64_t value);

// "as_float(x, 32)": `expr` converted to `type`.
std::string Cast(absl::string_view expr, DataType type);

// {"i0", "i1", …}, `count` index names.
std::vector<std::string> IndexNames(int64_t count, absl::string_view prefix = "i");

// "X[i0, 2*i1]"; "X[]" without indices.
std::string Read(absl::string_view tensor, absl::Span<const std::string> indices);

// "O[i0, i1 : 3, 4]"; "O[]" without indices.
std::string Write(absl::string_view tensor, absl::Span<const std::string> indices,
                  absl::Span<const int64_t> dims);

// "reshape(X, 3, 4)".
std::string ReshapeCall(absl::string_view tensor, absl::Span<const int64_t> dims);

// "function (A, B) -> (Y) {\n  …\n}\n": one statement per line, given without its semicolon.
std::string TileFunction(absl::string_view inputs, absl::string_view outputs,
                         absl::Span<const std::string> statements);

// "X0, X1, …": the operand list of a function.
std::string NameList(absl::string_view prefix, int64_t count);

}  // namespace tartan::onnx
