// SPDX-License-Identifier: Apache-2.0
// What a tokenizer makes of a text before it looks for words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/generate/text/json.h"

namespace tartan::generate {

class Normalizer {
 public:
  // "normalizer" of a tokenizer.json; Unimplemented, by name, for what is not there.
  static absl::StatusOr<Normalizer> FromJson(const Json& normalizer);

  // Unimplemented, naming the character, for NFC of a text that it might change. OutOfRange where
  // the text grows beyond reason (growth.h).
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
