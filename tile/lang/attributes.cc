// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/attributes.h"

#include "absl/strings/str_cat.h"

namespace tartan::lang {

absl::StatusOr<std::string> BindAttributes(const Statement& statement, Scope& scope) {
  std::string label = TargetOf(statement);
  bool named = false;
  bool failed = false;
  for (const Attribute& attribute : statement.attributes) {
    std::string error;
    if (attribute.name != "name" && attribute.name != "pid") {
      error = absl::StrCat("there is no attribute '", attribute.name,
                           "': [[name(x)]] names the value in dumps, kernels and profiles");
    } else if (attribute.arguments.size() != 1) {
      error = absl::StrCat("the attribute '", attribute.name, "' takes one name, as in [[",
                           attribute.name, "(x)]]");
    } else if (attribute.name == "name" && named) {
      error = "the statement has two names";
    }
    if (!error.empty()) {
      scope.Error(attribute.position, error).IgnoreError();
      failed = true;
    } else if (attribute.name == "name") {
      label = attribute.arguments[0];
      named = true;
    }
  }
  if (failed) return absl::CancelledError("reported");
  return label;
}

}  // namespace tartan::lang
