// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/packed_matmul.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/integer_range.h"
#include "tile/poly/packed_factor.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Interval;
using math::RangeConstraint;

constexpr Interval kInt16{-32768, 32767};
constexpr Interval kInt8{-128, 127};
constexpr Interval kUInt8{0, 255};

ExprPtr Number(int64_t value) { return MakeNumber(value, DataType::kInt32); }

// A factor as the sum of a packed value and a difference; null: no difference.
struct Split {
  ExprPtr packed;
  ExprPtr difference;
};

// Interval that fits a part of a word, and interval that fits it after adding `offset`.
struct PartRange {
  Interval whole;
  Interval shifted;
  int64_t offset = 0;
};
constexpr PartRange kSignedByte = {kInt8, kUInt8, -128};
constexpr PartRange kUnsignedByte = {kUInt8, kInt8, 128};
constexpr PartRange kHalf = {kInt16, kInt16};

class Packer {
 public:
  Packer(const FlatContraction& flat, PackedForm form)
      : flat_(flat),
        form_(form),
        count_(form == PackedForm::kPairs || form == PackedForm::kBFloat16 ? 2 : 4) {}

  std::optional<PackedMatmul> Pack() {
    if (!FindFactors() || !FindIndex()) return std::nullopt;
    const bool differs = factors_[0].difference != nullptr || factors_[1].difference != nullptr;
    // A correction by differences requires that every result sums the same number of terms.
    if (differs && !flat_.constraints.empty()) return std::nullopt;
    PackedMatmul result;
    result.products = flat_;
    result.products.indices[packed_].range = words_[0]->WordCount(count_);
    std::array<ExprPtr, 2> words;
    for (size_t f = 0; f < 2; ++f) {
      const std::string name = absl::StrCat(flat_.name, f == 0 ? "_left" : "_right");
      words[f] = AddOperand(words_[f]->Words(name, count_), words_[f]->WordCoords(), &result);
    }
    result.products.body =
        MakeApply(Operation(), SumType(), {words[unsigned_], words[1 - unsigned_]});
    if (differs) AddDifferences(&result);
    const std::vector<int> numbers = DropUnread(&result.products);
    for (PackedMatmul::Operand& operand : result.operands) {
      operand.tensor = numbers[operand.tensor];
    }
    return result;
  }

 private:
  bool FindFactors() {
    if (!flat_.is_reduction() || flat_.aggregation != Aggregation::kSum ||
        flat_.accumulator_type != SumType() || flat_.point_count() == 0) {
      return false;
    }
    const auto* product = std::get_if<Apply>(&flat_.body->node);
    if (product == nullptr || product->op != ScalarOp::kMul || flat_.body->type != SumType()) {
      return false;
    }
    if (form_ == PackedForm::kBFloat16) {
      factors_ = {Split{product->operands[0], nullptr}, Split{product->operands[1], nullptr}};
      return product->operands[0]->type == DataType::kFloat32 &&
             product->operands[1]->type == DataType::kFloat32;
    }
    return SplitFactors(product->operands[0], product->operands[1]);
  }

  // Chooses the unsigned factor so that fewer sums are needed. Sums of the second factor are
  // preferred: weights are second, and their sums are constant.
  bool SplitFactors(const ExprPtr& left, const ExprPtr& right) {
    int least = 4;
    for (size_t candidate = 0; candidate < 2; ++candidate) {
      if (candidate == 1 && form_ != PackedForm::kUnsignedBytes) break;
      const std::optional<Split> first = SplitFactor(left, RangeOf(candidate == 0));
      const std::optional<Split> second = SplitFactor(right, RangeOf(candidate == 1));
      if (!first || !second) continue;
      const int sums =
          (first->difference != nullptr ? 1 : 0) + (second->difference != nullptr ? 2 : 0);
      if (sums >= least) continue;
      least = sums;
      unsigned_ = candidate;
      factors_ = {*first, *second};
    }
    return least < 4;
  }

  const PartRange& RangeOf(bool is_first_operand) const {
    if (form_ == PackedForm::kPairs) return kHalf;
    return form_ == PackedForm::kUnsignedBytes && is_first_operand ? kUnsignedByte : kSignedByte;
  }

  DataType SumType() const {
    return form_ == PackedForm::kBFloat16 ? DataType::kFloat32 : DataType::kInt32;
  }

  ScalarOp Operation() const {
    if (form_ == PackedForm::kBFloat16) return ScalarOp::kDotBFloat16;
    if (form_ == PackedForm::kPairs) return ScalarOp::kDot16;
    return form_ == PackedForm::kBytes ? ScalarOp::kDot8 : ScalarOp::kDot8u;
  }

  std::optional<Split> SplitFactor(const ExprPtr& expr, const PartRange& part) const {
    const std::optional<Interval> range = IntegerRange(flat_, expr);
    if (range && part.whole.Contains(*range)) return Split{expr, nullptr};
    if (form_ == PackedForm::kPairs) return std::nullopt;
    if (range && part.shifted.Contains(*range)) {
      return Split{Int32Apply(ScalarOp::kAdd, Convert(expr, DataType::kInt32), Number(part.offset)),
                   Number(-part.offset)};
    }
    const auto* apply = std::get_if<Apply>(&expr->node);
    if (apply == nullptr || expr->type != DataType::kInt32) return std::nullopt;
    if (apply->op != ScalarOp::kSub || !IsFixed(apply->operands[1])) return std::nullopt;
    std::optional<Split> split = SplitFactor(apply->operands[0], part);
    if (!split) return std::nullopt;
    const ExprPtr before = split->difference != nullptr ? split->difference : Number(0);
    split->difference = Int32Apply(ScalarOp::kSub, before, apply->operands[1]);
    return split;
  }

  // Returns, per index, whether the expression depends on it.
  std::vector<bool> IndicesOf(const ExprPtr& expr) const {
    std::vector<bool> used(flat_.indices.size(), false);
    MapPolys(ElementsOf(flat_, expr), [&](const Affine& poly) {
      for (size_t i = 0; i < used.size(); ++i) {
        used[i] = used[i] || !poly.coefficient(static_cast<int>(i)).is_zero();
      }
      return poly;
    });
    return used;
  }

  // Returns true if the expression is equal for all terms of a sum.
  bool IsFixed(const ExprPtr& expr) const {
    const std::vector<bool> used = IndicesOf(expr);
    return std::find(used.begin() + flat_.output_index_count, used.end(), true) == used.end();
  }

  // Finds the longest reduced index along which both factors can be packed.
  bool FindIndex() {
    for (int i = flat_.output_index_count; i < static_cast<int>(flat_.indices.size()); ++i) {
      if (IsConstrained(i)) continue;
      if (packed_ >= 0 && flat_.indices[i].range <= flat_.indices[packed_].range) continue;
      std::optional<PackedFactor> left = PackedFactor::Make(flat_, factors_[0].packed, i);
      std::optional<PackedFactor> right = PackedFactor::Make(flat_, factors_[1].packed, i);
      if (!left || !right) continue;
      packed_ = i;
      words_ = {std::move(left), std::move(right)};
    }
    return packed_ >= 0;
  }

  bool IsConstrained(int index) const {
    return std::any_of(flat_.constraints.begin(), flat_.constraints.end(),
                       [&](const RangeConstraint& constraint) {
                         return !constraint.poly.coefficient(index).is_zero();
                       });
  }

  // Adds a kernel's result as a tensor without a value, and returns a read of it.
  static ExprPtr AddOperand(FlatContraction kernel, std::vector<Affine> coords,
                            PackedMatmul* result) {
    FlatContraction& products = result->products;
    const int tensor = static_cast<int>(products.tensors.size());
    products.tensors.push_back({ir::kNoValue, kernel.outputs[0].shape});
    products.accesses.push_back({tensor, std::move(coords), {}});
    result->operands.push_back({std::move(kernel), tensor});
    return MakeExpr(DataType::kInt32, Read{static_cast<int>(products.accesses.size()) - 1});
  }

  // Uses sum((a + x) * (b + y)) = sum(a * b) + y * sum(a) + x * sum(b) + count * x * y.
  void AddDifferences(PackedMatmul* result) const {
    ExprPtr total = MakeExpr(DataType::kInt32, Accumulator{});
    const auto add = [&](const ExprPtr& a, const ExprPtr& b) {
      total = Int32Apply(ScalarOp::kAdd, total, Int32Apply(ScalarOp::kMul, a, b));
    };
    for (size_t f = 0; f < 2; ++f) {
      const ExprPtr& difference = factors_[1 - f].difference;
      if (difference == nullptr) continue;
      const ExprPtr& packed = factors_[f].packed;
      FlatContraction sums = Sums(packed, f == 0 ? "_left_sums" : "_right_sums");
      add(difference, AddOperand(std::move(sums), SumCoords(packed), result));
    }
    const ExprPtr& x = factors_[0].difference;
    const ExprPtr& y = factors_[1].difference;
    if (x != nullptr && y != nullptr) {
      add(Int32Apply(ScalarOp::kMul, x, y),
          Number(flat_.point_count() / flat_.output_point_count()));
    }
    for (Output& output : result->products.outputs) {
      output.expr = MapLeaves(output.expr, [&](const ExprPtr& leaf) {
        return std::holds_alternative<Accumulator>(leaf->node) ? total : leaf;
      });
    }
  }

  // Returns a kernel that sums the expression over the reduced indices, per output index that it
  // depends on.
  FlatContraction Sums(const ExprPtr& expr, absl::string_view name) const {
    FlatContraction sums = ElementsOf(flat_, expr);
    sums.name = absl::StrCat(flat_.name, name);
    const std::vector<bool> used = IndicesOf(expr);
    std::vector<Affine> place(flat_.indices.size());
    sums.indices.clear();
    const auto keep = [&](int i) {
      place[i] = Affine::Variable(static_cast<int>(sums.indices.size()));
      sums.indices.push_back(flat_.indices[i]);
    };
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (!used[i]) continue;
      keep(i);
      sums.output_coords.push_back(place[i]);
      sums.output_dims.push_back(flat_.indices[i].range);
    }
    sums.output_index_count = static_cast<int>(sums.indices.size());
    for (int i = flat_.output_index_count; i < static_cast<int>(place.size()); ++i) keep(i);
    sums.accumulator_type = DataType::kInt32;
    sums.body = sums.outputs[0].expr;
    sums.outputs = {{ir::kNoValue,
                     {DataType::kInt32, sums.output_dims},
                     MakeExpr(DataType::kInt32, Accumulator{})}};
    const std::vector<Affine> coords = std::move(sums.output_coords);
    sums.output_coords.clear();
    sums = MapPolys(sums, [&](const Affine& poly) { return poly.Substitute(place); });
    sums.output_coords = coords;
    return sums;
  }

  std::vector<Affine> SumCoords(const ExprPtr& expr) const {
    const std::vector<bool> used = IndicesOf(expr);
    std::vector<Affine> coords;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (used[i]) coords.push_back(Affine::Variable(i));
    }
    return coords;
  }

  const FlatContraction& flat_;
  const PackedForm form_;
  const int64_t count_;
  size_t unsigned_ = 0;  // factor that is the operation's first operand
  std::array<Split, 2> factors_;
  int packed_ = -1;  // packed index
  std::array<std::optional<PackedFactor>, 2> words_;
};

}  // namespace

std::optional<PackedMatmul> PackMatmul(const FlatContraction& flat, PackedForm form) {
  return Packer(flat, form).Pack();
}

}  // namespace tartan::poly
