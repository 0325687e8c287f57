// SPDX-License-Identifier: Apache-2.0
// Copies the body of a Tile function into another, under other names. Internal to frontend/api.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/shape.h"
#include "tile/lang/ast.h"

namespace tartan::api {

// Names of tensors in one function, each given once.
class NameScope {
 public:
  // `wanted` as a Tile name, changed where that is taken or no name.
  std::string Unique(absl::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> suffixes_;  // the last one tried, per name
};

// Appends the statements of `callee`, called with the tensors `arguments` of the given shapes, to
// `statements`; returns the names of its outputs. `prefix` begins the names of what it defines.
std::vector<std::string> InlineFunction(const lang::Function& callee,
                                        absl::Span<const std::string> arguments,
                                        absl::Span<const TensorShape> shapes,
                                        absl::string_view prefix, NameScope* scope,
                                        std::vector<lang::Statement>* statements);

}  // namespace tartan::api
