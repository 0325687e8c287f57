// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/constant_operands/scales.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// A factor and the number that scales its elements.
struct Scaled {
  ValueId factor = ir::kNoValue;
  ValueId scale = ir::kNoValue;
};

class ScaleRewriter {
 public:
  explicit ScaleRewriter(const ir::Program& program)
      : program_(program), is_constant_(FindConstants(program)), rewriter_(program) {
    const std::vector<std::vector<ValueId>> users = UsersOf(program);
    std::vector<bool> is_output(program.values.size(), false);
    for (ValueId output : program.outputs) is_output[output] = true;
    for (size_t v = 0; v < program.values.size(); ++v) {
      const auto value = static_cast<ValueId>(v);
      std::optional<Scaled> scaled = AsScaled(value);
      const bool is_factor =
          !users[v].empty() && std::all_of(users[v].begin(), users[v].end(),
                                           [&](ValueId user) { return IsMatmul(user); });
      if (is_output[v] || !is_factor) scaled.reset();
      has_scales_ |= scaled.has_value();
      scaled_.push_back(scaled);
    }
  }

  bool has_scales() const { return has_scales_; }

  ir::Program Run() && {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      std::vector<ValueId> scales;
      if (auto* product = std::get_if<ir::Contraction>(&value.op)) TakeScales(product, &scales);
      ir::RenumberOperands(value.op, rewriter_.numbers());
      for (const ValueId scale : scales) {
        const ValueId sum =
            rewriter_.Append({absl::StrCat(value.name, "_sum"), value.shape, std::move(value.op)});
        value.op = ir::Elementwise{ScalarOp::kMul, {sum, rewriter_.numbers()[scale]}};
      }
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }

  std::optional<Scaled> AsScaled(ValueId v) const {
    const auto* product = std::get_if<ir::Elementwise>(&value(v).op);
    if (product == nullptr || product->op != ScalarOp::kMul || is_constant_[v]) return {};
    for (int i = 0; i < 2; ++i) {
      const ValueId factor = product->operands[i];
      const ValueId scale = product->operands[1 - i];
      if (value(factor).shape == value(v).shape && IsMove(factor) && IsNumber(scale)) {
        return Scaled{factor, scale};
      }
    }
    return {};
  }

  // Returns true for copies and their reshapes. A kernel that computes the elements would also
  // scale them.
  bool IsMove(ValueId v) const {
    const auto* copy = std::get_if<ir::Contraction>(&value(v).op);
    if (copy != nullptr) {
      return copy->inputs.size() == 1 && copy->aggregation == Aggregation::kAssign;
    }
    const auto* special = std::get_if<ir::Special>(&value(v).op);
    return special != nullptr && special->kind == ir::SpecialKind::kReshape &&
           IsMove(special->operands[0]);
  }

  bool IsNumber(ValueId v) const {
    const TensorShape& shape = value(v).shape;
    if (shape.element_count() != 1) return false;
    // A scalar with more dimensions than the result would change the result's shape.
    const bool is_literal = std::holds_alternative<ir::Constant>(value(v).op);
    return is_literal
               ? shape.dims.empty()
               : is_constant_[v] && shape.dims.size() <= 1 && shape.type == DataType::kFloat32;
  }

  bool IsMatmul(ValueId v) const {
    const auto* product = std::get_if<ir::Contraction>(&value(v).op);
    return product != nullptr && product->aggregation == Aggregation::kSum &&
           product->combination == Combination::kMultiply && product->inputs.size() == 2 &&
           product->default_value == ir::kNoValue && !product->output.indices.empty() &&
           value(v).shape.type == DataType::kFloat32 &&
           std::all_of(product->inputs.begin(), product->inputs.end(), [&](const auto& input) {
             return value(input.tensor).shape.type == DataType::kFloat32;
           });
  }

  void TakeScales(ir::Contraction* product, std::vector<ValueId>* scales) const {
    for (ir::Access& input : product->inputs) {
      const std::optional<Scaled>& scaled = scaled_[input.tensor];
      if (!scaled.has_value()) continue;
      input.tensor = scaled->factor;
      scales->push_back(scaled->scale);
    }
  }

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  Rewriter rewriter_;
  std::vector<std::optional<Scaled>> scaled_;  // by value
  bool has_scales_ = false;
};

}  // namespace

ir::Program ScaleAfterMatmuls(const ir::Program& program) {
  ScaleRewriter rewriter(program);
  return rewriter.has_scales() ? std::move(rewriter).Run() : program;
}

}  // namespace tartan::graph
