// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/small_weights.h"

#include <algorithm>
#include <cstdint>

namespace tartan::graph {
namespace {

using ir::ValueId;

constexpr int64_t kMaxRows = 16;            // maximum uses of each weight; empirical
constexpr int64_t kMinBytes = 1 << 18;      // minimum bytes of the decoded weights; empirical
constexpr double kMinRatio = 1.5;           // minimum ratio of decoded to stored bytes; empirical
constexpr double kMinRatioForManyRows = 5;  // the same if more rows use the weights; empirical

class Finder {
 public:
  Finder(const ir::Program& program, const poly::ProgramSpaces& spaces,
         const std::vector<Kind>& kinds, const std::vector<bool>& is_constant, bool for_many_rows)
      : program_(program),
        spaces_(spaces),
        kinds_(kinds),
        is_constant_(is_constant),
        for_many_rows_(for_many_rows) {
    const size_t count = program.values.size();
    found_.decoded.assign(count, false);
    found_.copied.assign(count, false);
    is_shared_.assign(count, false);
    has_many_rows_.assign(count, false);
    for (ValueId v : program.outputs) is_shared_[v] = true;
    for (size_t user = 0; user < count; ++user) {
      for (ValueId v : ir::Operands(program.values[user].op)) {
        if (!IsReduction(user)) {
          is_shared_[v] = true;
        } else if (PointsOf(spaces_[user]) > kMaxRows * Shape(v).element_count()) {
          has_many_rows_[v] = true;
        }
      }
    }
  }

  SmallWeights Run() {
    for (size_t root = 0; root < program_.values.size(); ++root) {
      const auto* contraction = std::get_if<ir::Contraction>(&program_.values[root].op);
      if (contraction == nullptr || kinds_[root] != Kind::kRoot) continue;
      for (const ir::Access& input : contraction->inputs) Decode(input.tensor);
    }
    return std::move(found_);
  }

 private:
  const TensorShape& Shape(ValueId v) const { return program_.values[v].shape; }

  bool IsReduction(size_t user) const {
    return kinds_[user] == Kind::kRoot && spaces_[user].has_value();
  }

  void Decode(ValueId weights) {
    const bool may_be =
        is_constant_[weights] && kinds_[weights] == Kind::kPointwise && !is_shared_[weights];
    const int64_t bytes =
        Shape(weights).element_count() * ByteWidth(ComputeType(Shape(weights).type));
    if (!may_be || bytes < kMinBytes) return;
    std::vector<ValueId> decoded;
    std::vector<ValueId> stored;
    Collect(weights, &decoded, &stored);
    int64_t small = 0;
    for (ValueId v : stored) small += Shape(v).byte_size();
    const bool is_many = has_many_rows_[weights];
    const double factor = is_many ? kMinRatioForManyRows : kMinRatio;
    if (is_many && !for_many_rows_) return;
    if (static_cast<double>(small) * factor > static_cast<double>(bytes)) return;
    for (ValueId v : decoded) found_.decoded[v] = true;
    for (ValueId v : stored) found_.copied[v] = found_.copied[v] || IsCopy(v);
  }

  bool IsCopy(ValueId v) const {
    return kinds_[v] == Kind::kPointwise &&
           std::holds_alternative<ir::Contraction>(program_.values[v].op);
  }

  // Collects the values to inline, and the stored tensors that they are computed from.
  void Collect(ValueId v, std::vector<ValueId>* decoded, std::vector<ValueId>* stored) const {
    const bool is_inside = kinds_[v] == Kind::kConstant || kinds_[v] == Kind::kReshape ||
                           (kinds_[v] == Kind::kPointwise && !IsCopy(v));
    std::vector<ValueId>& list = is_inside ? *decoded : *stored;
    if (std::find(list.begin(), list.end(), v) != list.end()) return;
    list.push_back(v);
    const auto* special = std::get_if<ir::Special>(&program_.values[v].op);
    const bool is_place = special != nullptr && special->kind == ir::SpecialKind::kIndex;
    if (!is_inside || is_place) return;
    for (ValueId operand : ir::Operands(program_.values[v].op)) Collect(operand, decoded, stored);
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const std::vector<Kind>& kinds_;
  const std::vector<bool>& is_constant_;
  const bool for_many_rows_;
  std::vector<bool> is_shared_;      // has a user other than reductions
  std::vector<bool> has_many_rows_;  // each weight has more than kMaxRows uses
  SmallWeights found_;
};

}  // namespace

SmallWeights FindSmallWeights(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const std::vector<Kind>& kinds, const std::vector<bool>& is_constant,
                              bool for_many_rows) {
  return Finder(program, spaces, kinds, is_constant, for_many_rows).Run();
}

}  // namespace tartan::graph
