// SPDX-License-Identifier: Apache-2.0
// Copies the body of a Tile function into another function under new names. Internal to
// frontend/api.
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

// Unique tensor names within one function.
class NameScope {
 public:
  // Returns `wanted` as a valid and unused Tile name, changed if necessary.
  std::string Unique(absl::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> suffixes_;  // the last suffix tried, per name
};

// Appends the statements of `callee`, called with the tensors `arguments` of the given shapes, to
// `statements`. Returns the names of its outputs. The names of its definitions begin with `prefix`.
std::vector<std::string> InlineFunction(const lang::Function& callee,
                                        absl::Span<const std::string> arguments,
                                        absl::Span<const TensorShape> shapes,
                                        absl::string_view prefix, NameScope* scope,
                                        std::vector<lang::Statement>* statements);

}  // namespace tartan::api
