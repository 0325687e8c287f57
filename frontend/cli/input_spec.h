// SPDX-License-Identifier: Apache-2.0
// Parses a model input on the command line, as in `--input x=@picture.png`, and makes its value.
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
// Floats uniform in [0, 1); integers and bools 0 or 1, so that they are valid both as indices and
// as masks.
struct RandomInput {
  uint64_t seed = 0;
};
// A number. Integers that double cannot represent are parsed from the spec's text.
struct NumberInput {
  double value = 0;
};

struct InputSpec {
  std::variant<FileInput, RandomInput, NumberInput> value;
  std::string text;  // text as written by the user
};

struct NamedText {
  std::string name;
  std::string text;
};

// Splits "NAME=REST". Names may contain '=': the longest of `names` that matches is used, otherwise
// the text before the first '='. InvalidArgument, showing `text` and the expected form, if there is
// no '=' or no name.
absl::StatusOr<NamedText> SplitNamed(absl::string_view text, absl::string_view expected,
                                     absl::Span<const std::string> names);

// Parses "@FILE", "rand", "rand:SEED", "zeros", "ones" or a number, including "inf" and "nan" but
// no number too large for float64.
absl::StatusOr<InputSpec> ParseInputSpec(absl::string_view text);

// Parses "1x3x224x224"; "scalar" has no sizes.
absl::StatusOr<std::vector<int64_t>> ParseDims(absl::string_view text);

// Makes the value for `input`.
// - Open sizes come from the file (.npy, .pb, .png, .jpg; .bin if only one is open); otherwise they
//   are an error.
// - An input that is not a plain tensor is read from a .pb file; without a file it is empty.
// - An open type is the type of a .npy or .pb file, otherwise float32.
// - InvalidArgument for a type or size that differs from the input's, and for a number that the
//   type cannot represent; both are named. File errors are marked as such (exit_code.h).
absl::StatusOr<api::HostValue> MakeInput(const InputSpec& spec, const api::TensorSpec& input);

}  // namespace tartan::cli
