// SPDX-License-Identifier: Apache-2.0
// Upper and lower case of text in UTF-8 by the C library's tables, without the process's locale.
#pragma once

#include <locale.h>

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::onnx {

class TextCase {
 public:
  // `locale`: "en_US" and the like, for languages with rules of their own. Where the system does
  // not have it the tables of Unicode alone decide, and without those only ASCII has cases.
  explicit TextCase(const std::string& locale);
  ~TextCase();
  TextCase(const TextCase&) = delete;
  TextCase& operator=(const TextCase&) = delete;

  // Each character on its own; bytes that are no UTF-8 stay as they are.
  std::string Lower(absl::string_view text) const;
  std::string Upper(absl::string_view text) const;

 private:
  locale_t locale_;
};

}  // namespace tartan::onnx
