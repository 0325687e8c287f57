// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/pad_rows.h"

#include <set>
#include <utility>
#include <variant>

#include "tile/plan/gpu/factors.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;
using poly::FlatContraction;

// Vector width in bytes: the widest load of a GPU's work-item.
constexpr int64_t kVectorBytes = 16;
// Elements; below this the padding would be a large share of the row.
constexpr int64_t kMinPaddedRow = 32;

class RowPadder {
 public:
  RowPadder(const ir::Program& program, const ir::Grouping& grouping, const std::vector<bool>& kept,
            std::vector<std::optional<FlatContraction>>* flats)
      : program_(program), grouping_(grouping), flats_(*flats) {
    for (size_t g = 0; g < flats_.size(); ++g) {
      const ir::KernelGroup& group = grouping.groups[g];
      ExcludeDefault(group);
      if (!flats_[g].has_value()) {
        ExcludeSpecial(group);
      } else if (kept[g] || ReadsAnywhere(*flats_[g])) {
        ExcludeAll(*flats_[g]);
      }
    }
    for (ValueId output : program.outputs) Exclude(output);
    for (ValueId value : grouping.written_by_parts) Exclude(value);
  }

  std::map<ValueId, TensorShape> Run() {
    std::map<ValueId, TensorShape> padded;
    for (const std::optional<FlatContraction>& flat : flats_) {
      if (!flat.has_value()) continue;
      for (ValueId value : TakenAlongRows(*flat)) {
        if (IsPaddable(value)) padded[value] = Padded(program_.values[value].shape);
      }
    }
    for (std::optional<FlatContraction>& flat : flats_) {
      if (flat.has_value()) Pad(padded, &*flat);
    }
    return padded;
  }

 private:
  ValueId StorageOf(ValueId value) const { return grouping_.storage[value]; }
  void Exclude(ValueId value) { excluded_.insert(StorageOf(value)); }

  void ExcludeSpecial(const ir::KernelGroup& group) {
    for (ValueId output : group.outputs) Exclude(output);
    if (group.root == ir::kNoValue) return;
    const auto* special = std::get_if<ir::Special>(&program_.values[group.root].op);
    if (special == nullptr) return;
    for (ValueId operand : special->operands) Exclude(operand);
  }

  // Excludes the default value, because it may be copied as a whole before the kernel writes its
  // part.
  void ExcludeDefault(const ir::KernelGroup& group) {
    if (group.root == ir::kNoValue) return;
    const auto* contraction = std::get_if<ir::Contraction>(&program_.values[group.root].op);
    if (contraction == nullptr || contraction->default_value == ir::kNoValue) return;
    Exclude(contraction->default_value);
  }

  void ExcludeAll(const FlatContraction& flat) {
    for (const poly::Tensor& tensor : flat.tensors) Exclude(tensor.value);
    for (const poly::Output& output : flat.outputs) Exclude(output.value);
  }

  static bool ReadsAnywhere(const FlatContraction& flat) {
    bool is_anywhere = false;
    poly::VisitExprs(flat, [&](const poly::Expr& expr) {
      is_anywhere |= std::holds_alternative<poly::ReadAt>(expr.node);
    });
    return is_anywhere;
  }

  static TensorShape Padded(TensorShape shape) {
    const int64_t vector = kVectorBytes / ByteWidth(shape.type);
    shape.dims.back() = (shape.dims.back() + vector - 1) / vector * vector;
    return shape;
  }

  // Returns the values that gain from aligned rows: factors read as vectors along K or, in 16 bits,
  // along their own rows, and the matmul's result, which is stored as vectors if the kernel reads
  // nothing else.
  std::vector<ValueId> TakenAlongRows(const FlatContraction& flat) const {
    const auto factors = plan::FactorsOf(flat);
    if (!factors.has_value()) return {};
    std::vector<ValueId> values;
    if (flat.accesses.size() == 2) values.push_back(StorageOf(flat.outputs.front().value));
    for (int a : {factors->first, factors->second}) {
      const poly::TensorAccess& access = flat.accesses[a];
      if (access.coords.empty()) continue;
      const int index = access.coords.back().single_variable();
      const poly::Tensor& factor = flat.tensors[access.tensor];
      if (index >= flat.output_index_count || (index >= 0 && ByteWidth(factor.shape.type) == 2)) {
        values.push_back(StorageOf(factor.value));
      }
    }
    return values;
  }

  // Returns true if exactly one kernel writes the value, as whole rows, and all readers see rows of
  // that length.
  bool IsPaddable(ValueId value) const {
    const TensorShape& shape = program_.values[value].shape;
    if (excluded_.count(value) > 0 || shape.dims.size() < 2) return false;
    const int64_t length = shape.dims.back();
    if (length < kMinPaddedRow || Padded(shape).dims.back() == length) return false;
    int writers = 0;
    for (const std::optional<FlatContraction>& flat : flats_) {
      if (!flat.has_value()) continue;
      for (const poly::Tensor& tensor : flat->tensors) {
        if (StorageOf(tensor.value) == value && tensor.shape.dims.back() != length) return false;
      }
      for (const poly::Output& output : flat->outputs) {
        if (StorageOf(output.value) != value) continue;
        ++writers;
        if (flat->outputs.size() > 1 || flat->output_dims.back() != length ||
            output.shape.dims.back() != length || !flat->store_guard.empty()) {
          return false;
        }
      }
    }
    return writers == 1;
  }

  void Pad(const std::map<ValueId, TensorShape>& padded, FlatContraction* flat) const {
    for (poly::Tensor& tensor : flat->tensors) {
      const auto found = padded.find(StorageOf(tensor.value));
      if (found != padded.end()) tensor.shape.dims.back() = found->second.dims.back();
    }
    for (poly::Output& output : flat->outputs) {
      const auto found = padded.find(StorageOf(output.value));
      if (found == padded.end()) continue;
      output.shape.dims.back() = flat->output_dims.back() = found->second.dims.back();
      flat->has_padded_rows = true;
    }
  }

  const ir::Program& program_;
  const ir::Grouping& grouping_;
  std::vector<std::optional<FlatContraction>>& flats_;
  std::set<ValueId> excluded_;  // by the value that owns the memory
};

}  // namespace

std::map<ValueId, TensorShape> PadRows(const ir::Program& program, const ir::Grouping& grouping,
                                       const std::vector<bool>& kept,
                                       std::vector<std::optional<FlatContraction>>* flats) {
  return RowPadder(program, grouping, kept, flats).Run();
}

}  // namespace tartan::compiler
