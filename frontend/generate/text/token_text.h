// SPDX-License-Identifier: Apache-2.0
// What tokens mean, as bytes: "decoder" of a tokenizer.json.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "frontend/generate/text/json.h"

namespace tartan::generate {

class TokenText {
 public:
  // Unimplemented, by name, for what is not there.
  static absl::StatusOr<TokenText> FromJson(const Json& decoder);

  // `is_first`: of the first token of a text.
  std::string Bytes(const std::string& token, bool is_first) const;

 private:
  absl::Status Add(const Json& step);

  bool is_bytes_ = false;             // one character a byte
  bool falls_back_to_bytes_ = false;  // <0x0A>
  bool separates_ = false;            // a space between tokens
  std::string mark_;                  // stands for a space; empty: none does
  bool strips_space_ = false;         // at the beginning
  bool strips_marks_ = false;         // all of the first token
};

}  // namespace tartan::generate
