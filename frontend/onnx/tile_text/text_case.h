// SPDX-License-Identifier: Apache-2.0
// Upper and lower case of UTF-8 text by the C library's tables, independent of the process's
// locale.
#pragma once

#include <locale.h>

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::onnx {

class TextCase {
 public:
  // `locale` is a name such as "en_US", for languages with rules of their own. If the system lacks
  // it, the tables of Unicode decide; without those only ASCII letters have cases.
  explicit TextCase(const std::string& locale);
  ~TextCase();
  TextCase(const TextCase&) = delete;
  TextCase& operator=(const TextCase&) = delete;

  // Convert each character separately; bytes that are not UTF-8 stay unchanged.
  std::string Lower(absl::string_view text) const;
  std::string Upper(absl::string_view text) const;

 private:
  locale_t locale_;
};

}  // namespace tartan::onnx
