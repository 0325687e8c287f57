// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/matrix_operands.h"

#include <algorithm>
#include <utility>

#include "tile/plan/gpu/factors.h"
#include "tile/plan/matrix/matrix_packing.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Minimum K of a GEMM whose loads matter more than contiguous stores; empirical.
constexpr int64_t kLongSum = 1024;

// Maps a GEMM to the operands of tensor cores: which indices are rows, columns, batch and K, which
// factors a kernel packs beforehand, and how tiles of both factors are loaded.
class OperandChooser {
 public:
  // `fixed`: indices with one value per work-group. `is_local[t]`: tensor t is in local memory.
  OperandChooser(const poly::FlatContraction& flat, MatrixFormat format,
                 std::vector<bool> is_constant, const PackedVariables& packed,
                 std::vector<int> fixed = {}, std::vector<bool> is_local = {})
      : is_constant_(std::move(is_constant)),
        packs_variable_(packed),
        fixed_(std::move(fixed)),
        is_local_(std::move(is_local)) {
    plan_.format = format;
    planned_.flat = flat;
  }

  bool Choose() {
    if (!AssignIndices() || !AssignConstraints() || !PackOperands()) return false;
    Load(&plan_.right, plan_.columns);
    Load(&plan_.left, plan_.rows);
    ChooseLanes();
    return true;
  }

  const MatrixPlan& plan() const { return plan_; }
  PlannedKernel&& planned() { return std::move(planned_); }
  int packings() const { return packings_; }
  int64_t packed_bytes() const { return packed_bytes_; }

 private:
  const poly::FlatContraction& flat() const { return planned_.flat; }
  int64_t Range(int i) const { return flat().indices[i].range; }
  poly::FlatAccess Strides(int access) const { return poly::Flatten(flat(), access); }

  // Assigns indices to rows, columns, batch and K. The operand along whose indices results are
  // contiguous is the right one; its indices are the columns.
  bool AssignIndices() {
    const auto factors = FactorsOf(flat());
    // Without points, there may be no element to read in place of excluded ones.
    if (!factors.has_value() || flat().point_count() == 0) return false;
    poly::FlatAccess left = Strides(factors->first);
    poly::FlatAccess right = Strides(factors->second);
    const int count = static_cast<int>(flat().indices.size());
    const poly::FlatAccess output = poly::Flatten(flat().output_coords, flat().output_dims, count);
    std::vector<int> of_left, of_right;
    for (int i = 0; i < count; ++i) {
      if (std::find(fixed_.begin(), fixed_.end(), i) != fixed_.end()) {
        plan_.batch.push_back(i);
        continue;
      }
      const bool in_left = left.strides[i] != 0;
      const bool in_right = right.strides[i] != 0;
      if (!in_left && !in_right) return false;
      if (i >= flat().output_index_count) {
        plan_.reduced.push_back(i);
      } else if (in_left && in_right) {
        plan_.batch.push_back(i);
      } else {
        (in_left ? of_left : of_right).push_back(i);
      }
    }
    const auto is_contiguous = [&](const std::vector<int>& indices) {
      return std::any_of(indices.begin(), indices.end(),
                         [&](int i) { return std::abs(output.strides[i]) == 1; });
    };
    plan_.left.access = factors->first;
    plan_.right.access = factors->second;
    left_is_first_ = !is_contiguous(of_left);
    if (!left_is_first_) {
      std::swap(of_left, of_right);
      std::swap(plan_.left.access, plan_.right.access);
      std::swap(left, right);
    }
    plan_.rows = std::move(of_left);
    plan_.columns = std::move(of_right);
    if (plan_.reduced.empty()) return false;
    SortByStride(output, &plan_.rows);
    SortByStride(output, &plan_.columns);
    SortByStride(output, &plan_.batch);
    if (CountOf(flat(), plan_.reduced) >= kLongSum && !IsPackedAhead(plan_.right)) {
      MoveLast(right, &plan_.columns);
    }
    // A packed factor can be stored in any order.
    const bool left_decides = IsPackedAhead(plan_.right);
    SortByStride(left_decides ? left : right, &plan_.reduced);
    MoveContiguousLast(left, right);
    return true;
  }

  // Returns whether the operand is packed: constants at load, others as requested. Valid only
  // until PackOperands changes the tensors of accesses.
  bool IsPackedAhead(const MatrixOperand& operand) const {
    return IsConstant(operand) || packs_variable_[IsFirst(operand) ? 0 : 1];
  }

  bool IsConstant(const MatrixOperand& operand) const {
    const int tensor = flat().accesses[operand.access].tensor;
    return tensor < static_cast<int>(is_constant_.size()) && is_constant_[tensor];
  }

  bool IsLocal(const MatrixOperand& operand) const {
    const int tensor = flat().accesses[operand.access].tensor;
    return tensor < static_cast<int>(is_local_.size()) && is_local_[tensor];
  }

  // Returns whether the operand is the first factor of the body.
  bool IsFirst(const MatrixOperand& operand) const {
    return (&operand == &plan_.left) == left_is_first_;
  }

  static void SortByStride(const poly::FlatAccess& access, std::vector<int>* indices) {
    std::stable_sort(indices->begin(), indices->end(), [&](int a, int b) {
      return std::abs(access.strides[a]) > std::abs(access.strides[b]);
    });
  }

  // Moves the index along which the factor is contiguous to the end, so that tiles load vectors.
  static void MoveLast(const poly::FlatAccess& access, std::vector<int>* indices) {
    const auto found = std::find_if(indices->begin(), indices->end(),
                                    [&](int i) { return access.strides[i] == 1; });
    if (found != indices->end()) std::rotate(found, found + 1, indices->end());
  }

  // Moves an index along which a factor is contiguous to the end of the K indices.
  void MoveContiguousLast(const poly::FlatAccess& left, const poly::FlatAccess& right) {
    // A contiguous factor that stays in its own layout counts most: packing can reorder the other.
    const auto value = [&](int i) {
      return (left.strides[i] == 1 && !IsPackedAhead(plan_.left) ? 2 : 0) +
             (right.strides[i] == 1 && !IsPackedAhead(plan_.right) ? 2 : 0) +
             (left.strides[i] == 1 || right.strides[i] == 1 ? 1 : 0);
    };
    const auto best = std::max_element(plan_.reduced.begin(), plan_.reduced.end(),
                                       [&](int a, int b) { return value(a) < value(b); });
    if (best == plan_.reduced.end() || value(*best) == 0) return;
    std::rotate(best, best + 1, plan_.reduced.end());
  }

  // Assigns each constraint to the operands that have all its indices.
  bool AssignConstraints() {
    for (size_t c = 0; c < flat().constraints.size(); ++c) {
      bool in_rows = false, in_columns = false;
      const math::Affine& poly = flat().constraints[c].poly;
      for (int i : plan_.rows) in_rows |= !poly.coefficient(i).is_zero();
      for (int i : plan_.columns) in_columns |= !poly.coefficient(i).is_zero();
      if (in_rows && in_columns) return false;
      // A constraint on K indices alone keeps both operands within their tensors.
      if (!in_columns) plan_.left.constraints.push_back(static_cast<int>(c));
      if (!in_rows) plan_.right.constraints.push_back(static_cast<int>(c));
    }
    return true;
  }

  // Returns false if a factor to be packed as a variable is constant or cannot be packed.
  bool PackOperands() {
    plan_.left.is_early = IsConstant(plan_.left);
    plan_.right.is_early = IsConstant(plan_.right);
    for (const auto& [operand, rows] :
         {std::make_pair(&plan_.left, &plan_.rows), std::make_pair(&plan_.right, &plan_.columns)}) {
      if (!IsPackedAhead(*operand)) continue;
      const bool is_constant = IsConstant(*operand);
      if (is_constant && packs_variable_[IsFirst(*operand) ? 0 : 1]) return false;
      if (!Pack(*operand, *rows) && !is_constant) return false;
    }
    if (planned_.packed.empty()) return true;
    const std::vector<int> numbers = poly::DropUnread(&planned_.flat);
    for (PackedOperand& packed : planned_.packed) packed.tensor = numbers[packed.tensor];
    const auto factors = FactorsOf(flat());
    plan_.left.access = left_is_first_ ? factors->first : factors->second;
    plan_.right.access = left_is_first_ ? factors->second : factors->first;
    return true;
  }

  // Returns whether every point of the indices' ranges has an element, even if constraints exclude
  // it.
  bool IsWithinTensor(const poly::TensorAccess& read) const {
    const std::vector<int64_t>& dims = flat().tensors[read.tensor].shape.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t minimum = read.coords[d].constant.numerator();
      int64_t maximum = minimum;
      for (size_t i = 0; i < flat().indices.size(); ++i) {
        const int64_t reach = read.coords[d].coefficient(static_cast<int>(i)).numerator() *
                              (flat().indices[i].range - 1);
        (reach < 0 ? minimum : maximum) += reach;
      }
      if (minimum < 0 || maximum >= dims[d]) return false;
    }
    return true;
  }

  // Packs the factor as a matrix of rows by K in the tensor core's format. Returns false if that is
  // impossible.
  bool Pack(const MatrixOperand& operand, const std::vector<int>& rows) {
    const poly::TensorAccess read = flat().accesses[operand.access];
    const bool is_constant = IsConstant(operand);
    if (flat().tensors[read.tensor].value == ir::kNoValue || !IsWithinTensor(read)) return false;
    const poly::FlatAccess strides = Strides(operand.access);
    std::vector<int> packed;
    for (const std::vector<int>* list :
         std::initializer_list<const std::vector<int>*>{&plan_.batch, &rows, &plan_.reduced}) {
      for (int i : *list) {
        if (strides.strides[i] != 0) packed.push_back(i);
      }
    }
    poly::FlatContraction copy = FactorCopy(flat(), operand.access, packed, plan_.format);
    if (!is_constant) PadRows(&copy);
    const TensorShape shape = copy.outputs.front().shape;
    poly::TensorAccess target;
    for (int i : packed) target.coords.push_back(math::Affine::Variable(i));
    PackedOperand result;
    result.tensor = static_cast<int>(flat().tensors.size());
    result.source = flat().tensors[read.tensor].value;
    result.copy = std::move(copy);
    result.access = operand.access;
    if (!is_constant) {
      const int64_t bytes = flat().tensors[read.tensor].shape.byte_size() + shape.byte_size();
      packed_bytes_ += bytes;
      ++packings_;
    }
    planned_.packed.push_back(std::move(result));
    target.tensor = static_cast<int>(flat().tensors.size());
    planned_.flat.tensors.push_back({ir::kNoValue, shape});
    planned_.flat.accesses[operand.access] = std::move(target);
    return true;
  }

  // Pads the rows of a copy that end within a vector along a long K, so that tiles are copied in
  // vectors with a tail.
  void PadRows(poly::FlatContraction* copy) const {
    const int64_t vector = MatrixTile{plan_.format}.vector();
    const int64_t range = Range(plan_.reduced.back());
    if (plan_.reduced.size() != 1 || range < kLongSum || range % vector == 0) return;
    copy->output_dims.back() = TilesOf(range, vector) * vector;
    copy->outputs.front().shape.dims = copy->output_dims;
  }

  // Chooses how tiles of a factor are loaded, by the index along which it is contiguous.
  void Load(MatrixOperand* operand, const std::vector<int>& rows) const {
    const poly::FlatAccess access = Strides(operand->access);
    const DataType type = flat().tensors[flat().accesses[operand->access].tensor].shape.type;
    const bool is_wide = plan_.format == MatrixFormat::kTf32;
    // Asynchronous copies go from global to local memory only.
    const bool may_copy = type == ElementType(plan_.format) && !IsLocal(*operand);
    // Lines along rows in tf32: work-items load the left factor from a copied tile and round it.
    // That is slow where the other tile passes through registers (H100: 90 TFLOP/s, else 244).
    const bool may_turn =
        !is_wide || (may_copy && operand == &plan_.left && fixed_.empty() && plan_.right.is_copied);
    if (AreVectors(*operand, access, plan_.reduced)) {
      operand->loads_vectors = true;
    } else if (may_copy && plan_.reduced.size() == 1 &&
               AreVectors(*operand, access, plan_.reduced, /*may_have_tail=*/true)) {
      operand->loads_vectors = operand->has_tail = true;
    } else if (may_turn && AreVectors(*operand, access, rows)) {
      operand->loads_vectors = operand->along_rows = true;
    } else if (may_copy && !is_wide && rows.size() == 1 &&
               AreVectors(*operand, access, rows, /*may_have_tail=*/true)) {
      operand->loads_vectors = operand->along_rows = operand->has_tail = true;
    } else {
      operand->spreads_rows = !rows.empty() && access.strides[rows.back()] == 1;
    }
    operand->is_copied = operand->loads_vectors && may_copy;
    operand->is_rounded =
        operand->is_copied && is_wide && !operand->along_rows && !IsPacked(*operand);
    operand->is_early &= operand->is_copied;
  }

  // Returns whether the factor's elements were already rounded when they were packed.
  bool IsPacked(const MatrixOperand& operand) const {
    const int tensor = flat().accesses[operand.access].tensor;
    return std::any_of(planned_.packed.begin(), planned_.packed.end(),
                       [&](const PackedOperand& packed) { return packed.tensor == tensor; });
  }

  // Returns whether the elements along the last indices of a list form aligned vectors of the
  // tensor core's format that constraints include or exclude as a whole. With `may_have_tail`, the
  // last vector may be shorter.
  bool AreVectors(const MatrixOperand& operand, const poly::FlatAccess& access,
                  const std::vector<int>& indices, bool may_have_tail = false) const {
    const int64_t vector = MatrixTile{plan_.format}.vector();
    std::vector<int64_t> strides = access.strides;
    int64_t range = 1;  // of contiguous elements
    for (auto i = indices.rbegin(); i != indices.rend() && access.strides[*i] == range; ++i) {
      if (range % vector == 0 || IsConstrained(operand, *i)) break;
      strides[*i] = 0;
      range *= Range(*i);
    }
    const bool is_whole = range % vector == 0 || (may_have_tail && range > 1);
    return is_whole && access.offset % vector == 0 &&
           std::all_of(strides.begin(), strides.end(),
                       [&](int64_t stride) { return stride % vector == 0; });
  }

  bool IsConstrained(const MatrixOperand& operand, int index) const {
    return std::any_of(operand.constraints.begin(), operand.constraints.end(), [&](int c) {
      return !flat().constraints[c].poly.coefficient(index).is_zero();
    });
  }

  void ChooseLanes() {
    if (plan_.columns.empty()) return;
    const int column = plan_.columns.back();
    const poly::FlatAccess output = poly::Flatten(flat().output_coords, flat().output_dims,
                                                  static_cast<int>(flat().indices.size()));
    const bool is_stored_by_lanes =
        output.strides[column] == 1 &&
        std::none_of(flat().outputs.begin(), flat().outputs.end(),
                     [](const poly::Output& out) { return out.shape.type == DataType::kBool; });
    if (!is_stored_by_lanes) return;
    for (int64_t lanes : {4, 2}) {
      if (Range(column) % lanes != 0 && !HasRoomAfterRows(output, column, lanes)) continue;
      plan_.lanes = lanes;
      return;
    }
  }

  // Returns whether rows are padded so that whole vectors can be stored at their ends, and columns
  // beyond the end read nothing from memory.
  bool HasRoomAfterRows(const poly::FlatAccess& output, int column, int64_t lanes) const {
    if (!flat().has_padded_rows || output.offset % lanes != 0) return false;
    for (int a = 0; a < static_cast<int>(flat().accesses.size()); ++a) {
      const bool is_factor = a == plan_.left.access || a == plan_.right.access;
      if (!is_factor && Strides(a).strides[column] != 0) return false;
    }
    for (size_t i = 0; i < output.strides.size(); ++i) {
      const bool is_row = static_cast<int>(i) != column;
      if (is_row && (output.strides[i] % lanes != 0)) return false;
    }
    return true;
  }

  const std::vector<bool> is_constant_;
  const PackedVariables packs_variable_;
  const std::vector<int> fixed_;
  const std::vector<bool> is_local_;
  bool left_is_first_ = true;  // of the body's operands
  int packings_ = 0;           // number of variables packed in each run
  int64_t packed_bytes_ = 0;   // bytes that packing these moves
  MatrixPlan plan_;
  PlannedKernel planned_;
};

}  // namespace

std::optional<MatrixOperands> ChooseMatrixOperands(const poly::FlatContraction& flat,
                                                   MatrixFormat format,
                                                   const std::vector<bool>& is_constant,
                                                   const PackedVariables& packed) {
  OperandChooser chooser(flat, format, is_constant, packed);
  if (!chooser.Choose()) return std::nullopt;
  return MatrixOperands{chooser.planned(), chooser.plan(), chooser.packings(),
                        chooser.packed_bytes()};
}

std::optional<MatrixPlan> ChooseMatrixOperandsOfGroup(const poly::FlatContraction& flat,
                                                      MatrixFormat format,
                                                      const std::vector<int>& fixed,
                                                      const std::vector<bool>& is_local) {
  OperandChooser chooser(flat, format, {}, {false, false}, fixed, is_local);
  if (!chooser.Choose()) return std::nullopt;
  return chooser.plan();
}

}  // namespace tartan::plan
