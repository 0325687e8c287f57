// SPDX-License-Identifier: Apache-2.0
// Reads JSON (RFC 8259): files of tokenizers, whose tables have a quarter of a million entries.
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
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the file

  // InvalidArgument with line and column, for what is no JSON, too deep or no UTF-8.
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

  // A member of an object; null's for one that is not there, and of what is no object.
  const Json& operator[](absl::string_view name) const;
  // Members with a value for where they are not there, or are of another kind.
  std::string StringOr(absl::string_view name, absl::string_view otherwise) const;
  bool BoolOr(absl::string_view name, bool otherwise) const;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

}  // namespace tartan::generate
