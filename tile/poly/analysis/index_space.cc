// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/index_space.h"

#include "absl/strings/str_cat.h"

namespace tartan::poly {
namespace {

std::vector<std::string> Names(const IndexSpace& space) {
  std::vector<std::string> names;
  for (const Index& index : space.indices) names.push_back(index.name);
  return names;
}

void AppendPolys(const char* title, const std::vector<math::Affine>& polys,
                 const std::vector<std::string>& names, std::string& text) {
  absl::StrAppend(&text, title, ":");
  for (size_t i = 0; i < polys.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? " " : ", ", polys[i].ToString(names));
  }
  absl::StrAppend(&text, "\n");
}

void AppendConstraints(const char* title, const std::vector<math::RangeConstraint>& constraints,
                       const std::vector<std::string>& names, std::string& text) {
  for (const math::RangeConstraint& constraint : constraints) {
    absl::StrAppend(&text, title, ": ", constraint.ToString(names), "\n");
  }
}

}  // namespace

std::string ToString(const IndexSpace& space) {
  std::vector<std::string> names = Names(space);
  std::string text;
  for (size_t i = 0; i < space.indices.size(); ++i) {
    bool is_output = static_cast<int>(i) < space.output_index_count;
    absl::StrAppend(&text, is_output ? "output " : "reduced ", space.indices[i].name, ": ",
                    space.indices[i].range, "\n");
  }
  AppendPolys("element", space.output_coords, names, text);
  AppendPolys("point", space.original, names, text);
  AppendConstraints("stored where", space.store_guard, names, text);
  AppendConstraints("valid where", space.constraints, names, text);
  if (!space.covers_output) absl::StrAppend(&text, "does not cover the output\n");
  if (space.may_be_empty) absl::StrAppend(&text, "elements may have no valid point\n");
  return text;
}

}  // namespace tartan::poly
