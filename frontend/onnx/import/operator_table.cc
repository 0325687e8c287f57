// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/operator_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/families.h"

namespace tartan::onnx {
namespace {

// A library of operators that a CMake option leaves out.
struct OptionalOperators {
  absl::string_view domain;  // with the domains below it
  absl::string_view option;
  absl::Span<const Family> (*families)();  // null: left out
};

constexpr OptionalOperators kOptionalOperators[] = {
#if TARTAN_ONNX_MICROSOFT
    {"com.microsoft", "TARTAN_ONNX_MICROSOFT", MicrosoftFamilies},
#else
    {"com.microsoft", "TARTAN_ONNX_MICROSOFT", nullptr},
#endif
#if TARTAN_ONNX_ML
    {"ai.onnx.ml", "TARTAN_ONNX_ML", MlFamilies},
#else
    {"ai.onnx.ml", "TARTAN_ONNX_ML", nullptr},
#endif
};

std::vector<Family> AllFamilies() {
  std::vector<Family> all(OnnxFamilies().begin(), OnnxFamilies().end());
  for (const OptionalOperators& operators : kOptionalOperators) {
    if (operators.families == nullptr) continue;
    const absl::Span<const Family> families = operators.families();
    all.insert(all.end(), families.begin(), families.end());
  }
  return all;
}

using Key = std::pair<absl::string_view, absl::string_view>;  // domain, name

// Rows by operator, ascending in since_version. Built at first use; never changes.
const std::map<Key, std::vector<const OperatorRow*>>& Index() {
  static const auto* const index = [] {
    auto* map = new std::map<Key, std::vector<const OperatorRow*>>;
    for (const Family family : AllFamilies()) {
      for (const OperatorRow& row : family()) {
        // Families of ai.onnx also have a few rows of com.microsoft.
        if (OptionWithout(row.domain).empty()) (*map)[{row.domain, row.name}].push_back(&row);
      }
    }
    for (auto& [key, rows] : *map) {
      std::sort(rows.begin(), rows.end(), [](const OperatorRow* a, const OperatorRow* b) {
        return a->since_version < b->since_version;
      });
    }
    return map;
  }();
  return *index;
}

}  // namespace

const OperatorRow* FindOperator(absl::string_view domain, absl::string_view name, int64_t opset) {
  const auto found = Index().find({domain, name});
  if (found == Index().end()) return nullptr;
  const OperatorRow* best = domain.empty() ? found->second.front() : nullptr;
  for (const OperatorRow* row : found->second) {
    if (row->since_version <= opset) best = row;
  }
  return best;
}

std::vector<int> OperatorVersions(absl::string_view domain, absl::string_view name) {
  std::vector<int> versions;
  const auto found = Index().find({domain, name});
  if (found == Index().end()) return versions;
  for (const OperatorRow* row : found->second) versions.push_back(row->since_version);
  return versions;
}

std::vector<const OperatorRow*> AllOperators() {
  std::vector<const OperatorRow*> all;
  for (const auto& [key, rows] : Index()) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

absl::string_view OptionWithout(absl::string_view domain) {
  for (const OptionalOperators& operators : kOptionalOperators) {
    const bool is_of =
        domain == operators.domain || absl::StartsWith(domain, absl::StrCat(operators.domain, "."));
    if (is_of && operators.families == nullptr) return operators.option;
  }
  return "";
}

}  // namespace tartan::onnx
