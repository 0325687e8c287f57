// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/emit/size_arguments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace tartan::lower {
namespace {

// Operations whose constant operand may become an argument. Integer division by an argument is
// slower than by a constant, but compiling another kernel would take much longer.
bool IsPlain(ScalarOp op) {
  constexpr ScalarOp kOps[] = {ScalarOp::kAdd,    ScalarOp::kSub, ScalarOp::kMul,
                               ScalarOp::kDiv,    ScalarOp::kMod, ScalarOp::kNeg,
                               ScalarOp::kSelect, ScalarOp::kMin, ScalarOp::kMax};
  const bool is_comparison = ScalarOp::kEqual <= op && op <= ScalarOp::kGreaterEqual;
  return is_comparison || std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

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

bool MayDependOnSizes(ScalarOp op, const poly::Expr& operand, DataType index_type) {
  const auto* literal = std::get_if<poly::Literal>(&operand.node);
  if (literal == nullptr || !IsPlain(op)) return false;
  if (operand.type != DataType::kFloat32) {
    const auto* whole = std::get_if<int64_t>(&literal->value);
    const bool is_held = whole != nullptr && IsSignedInteger(operand.type) &&
                         ByteWidth(operand.type) >= 4 && *whole >= MinInteger(index_type) &&
                         *whole <= MaxInteger(index_type);
    return is_held && (literal->is_size || *whole > 1 || *whole < -1);
  }
  const auto* whole = std::get_if<int64_t>(&literal->value);
  const double value =
      whole != nullptr ? static_cast<double>(*whole) : std::get<double>(literal->value);
  const bool is_simple = value == 0 || std::abs(value) == 1 || !std::isfinite(value);
  return literal->is_size || !is_simple;
}

}  // namespace tartan::lower
