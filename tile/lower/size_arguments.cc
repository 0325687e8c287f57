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

loop::ExprPtr SizeArguments::GetNumber(const poly::ExprPtr& literal) {
  const auto [it, is_new] = number_positions_.emplace(literal.get(), sizes_.size());
  if (is_new) {
    const auto& value = std::get<poly::Literal>(literal->node).value;
    const auto* whole = std::get_if<int64_t>(&value);
    const std::string name = absl::StrCat("number", sizes_.size());
    if (IsFloat(literal->type)) {
      const auto real = static_cast<float>(whole != nullptr ? static_cast<double>(*whole)
                                                            : std::get<double>(value));
      sizes_.push_back({name, std::bit_cast<int32_t>(real), /*is_float=*/true});
    } else {
      sizes_.push_back({name, *whole});
    }
  }
  const loop::Size& size = sizes_[it->second];
  return loop::Cast(loop::Var(size.name, size.type(index_type_)), literal->type);
}

std::string RangeRole(int index) { return absl::StrCat("range ", index); }

}  // namespace tartan::lower
