// SPDX-License-Identifier: Apache-2.0
// Converts tokens to bytes: the "decoder" of a tokenizer.json.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "frontend/generate/text/json.h"

namespace tartan::generate {

class TokenText {
 public:
  // Unimplemented, naming it, for unsupported kinds.
  static absl::StatusOr<TokenText> FromJson(const Json& decoder);

  // `is_first`: the token is the first of a text.
  std::string Bytes(const std::string& token, bool is_first) const;

 private:
  absl::Status Add(const Json& step);

  bool is_bytes_ = false;             // each character represents one byte
  bool falls_back_to_bytes_ = false;  // decodes <0x0A>
  bool separates_ = false;            // a space between tokens
  std::string mark_;                  // represents a space; empty: none
  bool strips_space_ = false;         // space at the beginning of a text
  bool strips_marks_ = false;         // all marks of the first token
};

}  // namespace tartan::generate
