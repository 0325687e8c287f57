// SPDX-License-Identifier: Apache-2.0
// What a user writes for a model input, as in `--input x=@picture.png`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"

namespace tartan::cli {

struct FileInput {
  std::string path;
};
// Floats uniform in [0, 1), integers and bools 0 or 1: valid as indices and masks alike.
struct RandomInput {
  uint64_t seed = 0;
};
// The text of the spec holds whole numbers that are not exact as double.
struct NumberInput {
  double value = 0;
};

struct InputSpec {
  std::variant<FileInput, RandomInput, NumberInput> value;
  std::string text;  // as the user wrote it
};

struct NamedText {
  std::string name;
  std::string text;
};

// "NAME=REST". Names may hold '=' themselves: the longest one of `names` that fits is meant, and
// where none does, what stands before the first '='. InvalidArgument, showing `text` and what was
// expected, where there is no '=' or nothing before it.
absl::StatusOr<NamedText> SplitNamed(absl::string_view text, absl::string_view expected,
                                     absl::Span<const std::string> names);

// "@FILE", "rand", "rand:SEED", "zeros", "ones" or a number: "inf" and "nan" too, but none that is
// too large for float64.
absl::StatusOr<InputSpec> ParseInputSpec(absl::string_view text);

// "1x3x224x224" as sizes; "scalar" as none.
absl::StatusOr<std::vector<int64_t>> ParseDims(absl::string_view text);

// The value for `input`, whose open sizes the file decides (.npy, .pb, .png, and .bin where one is
// open) or are an error. What is no tensor of plain numbers comes from a .pb file; made up, it is
// empty. An open type is that of a .npy or .pb file, else float32. A type or size
// that differs from the input's is InvalidArgument with both; errors of files are marked as such
// (exit_code.h). A number that the type does not hold is InvalidArgument naming both.
absl::StatusOr<api::HostValue> MakeInput(const InputSpec& spec, const api::TensorSpec& input);

}  // namespace tartan::cli
