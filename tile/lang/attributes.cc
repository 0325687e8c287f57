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
    if (attribute.name != "name") continue;  // other attributes are notes without meaning
    if (attribute.arguments.size() != 1) {
      error = "the attribute 'name' takes one name, as in [[name(x)]]";
    } else if (named) {
      error = "the statement has two attributes 'name'";
    }
    if (!error.empty()) {
      scope.Error(attribute.position, error).IgnoreError();
      failed = true;
    } else {
      label = attribute.arguments[0];
      named = true;
    }
  }
  if (failed) return absl::CancelledError("reported");
  return label;
}

}  // namespace tartan::lang
