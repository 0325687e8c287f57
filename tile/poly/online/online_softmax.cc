// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/online/online_softmax.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tile/poly/online/key_indices.h"
#include "tile/poly/online/same_element.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

constexpr DataType kFloat = DataType::kFloat32;

// A tensor with one number per row, which multiplies or divides the elements of the row.
struct RowFactor {
  ScalarOp op = ScalarOp::kDiv;  // kDiv or kMul
  int tensor = -1;               // position among the chain's RowTensors
  bool operator==(const RowFactor&) const = default;
};

enum class Kind {
  kPlain,    // does not depend on the maximum
  kMaximum,  // the maximum
  kWeight,   // exponential of a difference from the maximum, times a plain value
  kResult,   // a result of the whole row
};

// Classification of an expression or of a RowTensor.
struct Meaning {
  Kind kind = Kind::kPlain;
  std::optional<RowFactor> factor;  // row factor of a weight, which was removed from it
};

struct Analyzed {
  Meaning meaning;
  ExprPtr expr;  // without the row factor
};

bool IsAccumulator(const ExprPtr& expr) { return std::holds_alternative<Accumulator>(expr->node); }

class OnlineSoftmaxFinder {
 public:
  OnlineSoftmaxFinder(const std::vector<RowKernel>& kernels, const std::vector<RowTensor>& tensors,
                      size_t maximum, KeyIndices keys)
      : maximum_(maximum), meanings_(tensors.size()), same_as_(tensors.size(), -1) {
    online_.kernels = kernels;
    online_.tensors = tensors;
    online_.key_index = std::move(keys.of_kernels);
    online_.key_dim = std::move(keys.of_tensors);
    const RowKernel& kernel = kernels[maximum];
    online_.keys = kernel.flat.indices[online_.key_index[maximum]].range;
  }

  std::optional<OnlineSoftmax> Run() {
    for (size_t k = 0; k < online_.kernels.size(); ++k) {
      const bool is_in_key_loop = online_.key_index[k] >= 0;
      if (!(is_in_key_loop ? AddInKeyLoop(k) : AddOnce(k))) return std::nullopt;
    }
    if (!has_columns_) return std::nullopt;
    return std::move(online_);
  }

 private:
  RowKernel& kernel(size_t k) { return online_.kernels[k]; }
  bool IsReduced(size_t k) const {
    return online_.key_index[k] >= online_.kernels[k].flat.output_index_count;
  }

  // Classifies a tensor that a kernel reads.
  Meaning MeaningOf(const RowKernel& kernel, int tensor) const {
    const int kept = kernel.tensors[tensor];
    if (kept >= 0) return meanings_[kept];
    const bool is_result = results_.count(kernel.flat.tensors[tensor].value) > 0;
    return {is_result ? Kind::kResult : Kind::kPlain, {}};
  }

  bool AddOnce(size_t k) {
    bool follows = false;
    const RowKernel& kernel = online_.kernels[k];
    for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
      const Kind kind = MeaningOf(kernel, static_cast<int>(t)).kind;
      if (kind == Kind::kMaximum || kind == Kind::kWeight) return false;
      follows = follows || kind == Kind::kResult;
    }
    online_.roles.push_back(follows ? OnlineRole::kAfter : OnlineRole::kBefore);
    if (follows) SetResult(kernel);
    return true;
  }

  void SetResult(const RowKernel& kernel) {
    if (kernel.output >= 0) meanings_[kernel.output] = {Kind::kResult, {}};
    if (kernel.output >= 0) return;
    for (const Output& output : kernel.flat.outputs) results_.insert(output.value);
  }

  bool AddInKeyLoop(size_t k) {
    if (kernel(k).flat.second_body != nullptr || kernel(k).flat.needs_hits()) return false;
    if (!IsReduced(k)) return AddElements(k);
    return k == maximum_ ? AddMaximum(k) : AddSum(k);
  }

  // Elements of a row must not be stored outside the chain.
  bool AddElements(size_t k) {
    FlatContraction& flat = kernel(k).flat;
    if (kernel(k).output < 0 || flat.outputs.size() != 1 || !flat.store_guard.empty()) return false;
    if (flat.is_reduction() && !IsPlain(k, flat.body)) return false;
    const std::optional<Analyzed> analyzed = Analyze(k, flat.outputs[0].expr);
    if (!analyzed) return false;
    if (analyzed->meaning.kind == Kind::kMaximum || analyzed->meaning.kind == Kind::kResult) {
      return false;
    }
    meanings_[kernel(k).output] = analyzed->meaning;
    ReadOriginals(k);
    const int same = SameTensor(k, *analyzed);
    online_.roles.push_back(same < 0 ? OnlineRole::kElements : OnlineRole::kNone);
    same_as_[kernel(k).output] = same;
    flat.outputs[0].expr = analyzed->expr;
    return true;
  }

  // Returns the RowTensor that a kernel of weights merely copies, or -1.
  int SameTensor(size_t k, const Analyzed& analyzed) const {
    const RowKernel& kernel = online_.kernels[k];
    const auto* read = std::get_if<Read>(&analyzed.expr->node);
    if (analyzed.meaning.kind != Kind::kWeight || read == nullptr) return -1;
    const TensorAccess& access = kernel.flat.accesses[read->access];
    const int kept = kernel.tensors[access.tensor];
    const RowTensor& from = online_.tensors[kept];
    const RowTensor& to = online_.tensors[kernel.output];
    if (from.dims != to.dims || from.axes != to.axes) return -1;
    return *RowCoords(kernel.flat, access, from, kernel.axes) == kernel.flat.output_coords ? kept
                                                                                           : -1;
  }

  // Redirects reads of copies to the original tensor.
  void ReadOriginals(size_t k) {
    for (int& kept : kernel(k).tensors) {
      if (kept >= 0 && same_as_[kept] >= 0) kept = same_as_[kept];
    }
  }

  bool AddMaximum(size_t k) {
    const FlatContraction& flat = kernel(k).flat;
    const bool is_sound = kernel(k).output >= 0 && flat.accumulator_type == kFloat &&
                          flat.constraints.empty() && !HasColumns(kernel(k)) &&
                          flat.outputs.size() == 1 && IsAccumulator(flat.outputs[0].expr) &&
                          IsPlain(k, flat.body);
    if (!is_sound) return false;
    online_.roles.push_back(OnlineRole::kMaximum);
    meanings_[kernel(k).output] = {Kind::kMaximum, {}};
    return true;
  }

  bool AddSum(size_t k) {
    FlatContraction& flat = kernel(k).flat;
    const bool has_columns = HasColumns(kernel(k));
    if (flat.aggregation != Aggregation::kSum || flat.accumulator_type != kFloat ||
        flat.outputs.size() != 1 || (!has_columns && kernel(k).output < 0)) {
      return false;
    }
    const std::optional<Analyzed> body = Analyze(k, flat.body);
    if (!body || body->meaning.kind != Kind::kWeight) return false;
    if (!has_columns && (body->meaning.factor || !IsPlain(k, flat.outputs[0].expr))) return false;
    if (has_columns && !ReadsNoMaximum(k, flat.outputs[0].expr)) return false;
    flat.body = body->expr;
    ReadOriginals(k);
    if (body->meaning.factor) MultiplySum(*body->meaning.factor, &kernel(k));
    has_columns_ = has_columns_ || has_columns;
    online_.roles.push_back(OnlineRole::kSum);
    SetResult(kernel(k));
    return true;
  }

  bool IsPlain(size_t k, const ExprPtr& expr) {
    const std::optional<Analyzed> analyzed = Analyze(k, expr);
    return analyzed && analyzed->meaning.kind == Kind::kPlain;
  }

  // The epilogue of a sum may read everything except the maximum.
  bool ReadsNoMaximum(size_t k, const ExprPtr& expr) const {
    bool is_sound = true;
    MapLeaves(expr, [&](const ExprPtr& leaf) {
      if (const auto* read = std::get_if<Read>(&leaf->node)) {
        const RowKernel& kernel = online_.kernels[k];
        const Kind kind = MeaningOf(kernel, kernel.flat.accesses[read->access].tensor).kind;
        is_sound = is_sound && (kind == Kind::kPlain || kind == Kind::kResult);
      }
      return leaf;
    });
    return is_sound;
  }

  // Applies the row factor to the sum instead of the elements.
  void MultiplySum(const RowFactor& factor, RowKernel* kernel) const {
    FlatContraction& flat = kernel->flat;
    const RowTensor& tensor = online_.tensors[factor.tensor];
    TensorAccess access;
    access.tensor = static_cast<int>(flat.tensors.size());
    for (int axis : tensor.axes) {
      access.coords.push_back(axis < 0 ? Affine::Constant(0)
                                       : Affine::Variable(kernel->axes[axis]));
    }
    flat.tensors.push_back({tensor.value, {kFloat, tensor.dims}});
    kernel->tensors.push_back(factor.tensor);
    const ExprPtr read = MakeExpr(kFloat, Read{static_cast<int>(flat.accesses.size())});
    flat.accesses.push_back(std::move(access));
    ExprPtr& result = flat.outputs[0].expr;
    result = MapLeaves(result, [&](const ExprPtr& leaf) {
      return IsAccumulator(leaf) ? MakeApply(factor.op, kFloat, {leaf, read}) : leaf;
    });
  }

  std::optional<Analyzed> Analyze(size_t k, const ExprPtr& expr) {
    if (const auto* read = std::get_if<Read>(&expr->node)) {
      const RowKernel& of = online_.kernels[k];
      return Analyzed{MeaningOf(of, of.flat.accesses[read->access].tensor), expr};
    }
    if (const auto* read = std::get_if<ReadAt>(&expr->node)) {
      const bool is_plain =
          std::all_of(read->coordinates.begin(), read->coordinates.end(),
                      [&](const ExprPtr& coordinate) { return IsPlain(k, coordinate); });
      if (!is_plain || online_.kernels[k].tensors[read->tensor] >= 0) return std::nullopt;
      return Analyzed{MeaningOf(online_.kernels[k], read->tensor), expr};
    }
    if (std::holds_alternative<Choice>(expr->node)) return std::nullopt;
    const auto* apply = std::get_if<Apply>(&expr->node);
    if (apply == nullptr) return Analyzed{{}, expr};
    return AnalyzeApply(k, expr, *apply);
  }

  std::optional<Analyzed> AnalyzeApply(size_t k, const ExprPtr& expr, const Apply& apply) {
    if (apply.op == ScalarOp::kExp && IsFromMaximum(k, apply.operands[0])) {
      return Analyzed{{Kind::kWeight, {}}, expr};
    }
    std::vector<Analyzed> operands;
    bool is_plain = true;
    for (const ExprPtr& operand : apply.operands) {
      std::optional<Analyzed> analyzed = Analyze(k, operand);
      if (!analyzed) return std::nullopt;
      is_plain = is_plain && analyzed->meaning.kind == Kind::kPlain;
      operands.push_back(*std::move(analyzed));
    }
    if (is_plain) return Analyzed{{}, expr};
    if (expr->type != kFloat) return std::nullopt;
    if (apply.op == ScalarOp::kDiv) return Multiplied(k, apply.op, operands[0], operands[1]);
    if (apply.op != ScalarOp::kMul) return std::nullopt;
    const bool is_first = operands[0].meaning.kind == Kind::kWeight;
    return Multiplied(k, apply.op, operands[is_first ? 0 : 1], operands[is_first ? 1 : 0]);
  }

  // Returns a weight multiplied or divided by a plain value, or by one number per row.
  std::optional<Analyzed> Multiplied(size_t k, ScalarOp op, const Analyzed& weight,
                                     const Analyzed& by) const {
    if (weight.meaning.kind != Kind::kWeight) return std::nullopt;
    if (by.meaning.kind == Kind::kPlain) {
      return Analyzed{weight.meaning, MakeApply(op, kFloat, {weight.expr, by.expr})};
    }
    const auto* read = std::get_if<Read>(&by.expr->node);
    if (by.meaning.kind != Kind::kResult || read == nullptr || weight.meaning.factor) {
      return std::nullopt;
    }
    const RowKernel& of = online_.kernels[k];
    const int kept = of.tensors[of.flat.accesses[read->access].tensor];
    if (kept < 0 || !IsOneNumber(kept)) return std::nullopt;
    return Analyzed{{Kind::kWeight, RowFactor{op, kept}}, weight.expr};
  }

  // Returns true if a RowTensor is float32 with one number per row.
  bool IsOneNumber(int tensor) const {
    const RowTensor& kept = online_.tensors[tensor];
    for (size_t d = 0; d < kept.dims.size(); ++d) {
      if (kept.axes[d] < 0 && kept.dims[d] != 1) return false;
    }
    return std::all_of(online_.kernels.begin(), online_.kernels.end(), [&](const RowKernel& of) {
      return of.output != tensor || of.flat.outputs[0].shape.type == kFloat;
    });
  }

  // Matches (element of the maximum's operand) - maximum.
  bool IsFromMaximum(size_t k, const ExprPtr& expr) const {
    const auto* apply = std::get_if<Apply>(&expr->node);
    if (apply == nullptr || apply->op != ScalarOp::kSub || expr->type != kFloat) return false;
    const auto* read = std::get_if<Read>(&apply->operands[1]->node);
    const RowKernel& of = online_.kernels[k];
    if (read == nullptr) return false;
    if (MeaningOf(of, of.flat.accesses[read->access].tensor).kind != Kind::kMaximum) return false;
    const RowKernel& maximum = online_.kernels[maximum_];
    return AreSameElement(apply->operands[0], {of, online_.key_index[k]}, maximum.flat.body,
                          {maximum, online_.key_index[maximum_]});
  }

  const size_t maximum_;
  OnlineSoftmax online_;
  std::vector<Meaning> meanings_;  // per RowTensor
  std::vector<int> same_as_;       // per RowTensor: the RowTensor that it copies; -1: none
  std::set<ir::ValueId> results_;  // results of the whole row that are in memory
  bool has_columns_ = false;
};

// Returns the index along which a kernel computes a maximum, or -1.
int ReducedByMaximum(const RowKernel& kernel) {
  const FlatContraction& flat = kernel.flat;
  if (!flat.is_reduction() || flat.aggregation != Aggregation::kMax) return -1;
  int reduced = -1;
  for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
    if (flat.indices[i].range == 1) continue;
    if (reduced >= 0) return -1;
    reduced = i;
  }
  return reduced;
}

}  // namespace

std::optional<OnlineSoftmax> FindOnlineSoftmax(const std::vector<RowKernel>& kernels,
                                               const std::vector<RowTensor>& tensors) {
  for (size_t k = 0; k < kernels.size(); ++k) {
    const int index = ReducedByMaximum(kernels[k]);
    if (index < 0) continue;
    auto keys = FindKeyIndices(kernels, tensors, static_cast<int>(k), index);
    if (!keys) continue;
    if (auto online = OnlineSoftmaxFinder(kernels, tensors, k, *std::move(keys)).Run())
      return online;
  }
  return std::nullopt;
}

}  // namespace tartan::poly
