// SPDX-License-Identifier: Apache-2.0
// Normalizes a text before a tokenizer splits it into words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/generate/text/json.h"

namespace tartan::generate {

class Normalizer {
 public:
  // Reads "normalizer" of a tokenizer.json; Unimplemented, naming it, for unsupported kinds.
  static absl::StatusOr<Normalizer> FromJson(const Json& normalizer);

  // Unimplemented, naming the character, if NFC might change the text. OutOfRange if the text grows
  // beyond the limit (growth.h).
  absl::StatusOr<std::string> Apply(std::string text) const;

 private:
  enum class Kind { kPrepend, kReplace, kNfc };
  struct Step {
    Kind kind = Kind::kNfc;
    std::string from;
    std::string to;
  };
  absl::Status Add(const Json& step);

  std::vector<Step> steps_;
};

}  // namespace tartan::generate
