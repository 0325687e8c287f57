// SPDX-License-Identifier: Apache-2.0
// Numeric command-line options with the parsing rules of numbers.h. CLI11's own conversions accept
// "nan", octal numbers and lists with empty parts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/cli/numbers.h"

namespace tartan::cli {

// Returns the value; throws an error that names the option.
template <class T>
T ValueOrThrow(const std::string& option, absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  throw CLI::ValidationError(option, std::string(value.status().message()));
}

template <class T>
CLI::Option* AddInteger(CLI::App* command, const std::string& name, T* value, int64_t least,
                        int64_t most, const std::string& help) {
  const auto take = [=](const std::string& text) {
    *value = static_cast<T>(ValueOrThrow(name, ParseInteger(text, least, most)));
  };
  return command->add_option_function<std::string>(name, take, help)->type_name("N");
}

inline CLI::Option* AddDouble(CLI::App* command, const std::string& name, double* value,
                              double least, double most, const std::string& help) {
  const auto take = [=](const std::string& text) {
    *value = ValueOrThrow(name, ParseDouble(text, least, most));
  };
  return command->add_option_function<std::string>(name, take, help)
      ->type_name("X")
      ->default_str(absl::StrCat(*value));
}

// Adds an option for a list of integers, "1,8,32".
inline CLI::Option* AddIntegers(CLI::App* command, const std::string& name,
                                std::vector<int64_t>* values, int64_t least, int64_t most,
                                const std::string& help) {
  const auto take = [=](const std::string& text) {
    for (const std::string& part : ValueOrThrow(name, SplitList(text))) {
      values->push_back(ValueOrThrow(name, ParseInteger(part, least, most)));
    }
  };
  return command->add_option_function<std::string>(name, take, help)->type_name("N[,N]");
}

}  // namespace tartan::cli
