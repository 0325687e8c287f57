// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/size_arguments.h"

#include <bit>

#include "absl/strings/str_cat.h"

namespace tartan::lower {

loop::ExprPtr SizeArguments::Get(const std::string& role, int64_t value) {
  const auto [it, is_new] = positions_.emplace(role, sizes_.size());
  if (is_new) sizes_.push_back({absl::StrCat("size", sizes_.size()), value});
  return loop::Var(sizes_[it->second].name, {index_type_, 1});
}

loop::ExprPtr SizeArguments::GetFloat(const poly::ExprPtr& literal, float value) {
  const auto [it, is_new] = float_positions_.emplace(literal.get(), sizes_.size());
  if (is_new) {
    sizes_.push_back({absl::StrCat("number", sizes_.size()), std::bit_cast<int32_t>(value), true});
  }
  return loop::Var(sizes_[it->second].name, sizes_[it->second].type(index_type_));
}

std::string RangeRole(int index) { return absl::StrCat("range ", index); }

}  // namespace tartan::lower
