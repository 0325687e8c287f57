// SPDX-License-Identifier: Apache-2.0
// A JSON parser (RFC 8259) for tokenizer files, whose tables have about 250,000 entries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::generate {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // members in file order

  // InvalidArgument, with line and column, for invalid or too deeply nested JSON and for invalid
  // UTF-8.
  static absl::StatusOr<Json> Parse(absl::string_view text);

  Json() = default;
  template <class T>
  explicit Json(T value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Null for a value of another kind.
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }

  // A member of an object; a null value if it is missing or this is not an object.
  const Json& operator[](absl::string_view name) const;
  // Members with a default for missing values and values of another kind.
  std::string StringOr(absl::string_view name, absl::string_view otherwise) const;
  bool BoolOr(absl::string_view name, bool otherwise) const;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

}  // namespace tartan::generate
