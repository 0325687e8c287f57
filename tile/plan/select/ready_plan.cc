// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select/ready_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tile/plan/cpu/compute_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/select/check_plan.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kRows = 4;            // rows of a tile
constexpr int64_t kVectors = 2;         // vectors per row of a tile
constexpr int64_t kMaxParts = 16;       // maximum low-precision values per word
constexpr int64_t kDecodedVectors = 4;  // vectors per row of results if weights are decoded
constexpr int kSquareLanes = 8;         // lanes of a transposed square
constexpr int64_t kMinBlock = 4;        // minimum block of a packed operand
constexpr int64_t kLanes = 16;          // maximum lanes of a vector
constexpr int64_t kThreads = 64;        // work-items per work-group on GPUs
// Points that justify a work-item; empirical.
constexpr int64_t kPointsOfItem = 1 << 15;
constexpr int64_t kItemsOfUnit = 8;  // maximum work-items per compute unit

// Divides `most` by two until it is no larger than the range, or 1.
int64_t Fitting(int64_t range, int64_t most) {
  while (most > range && most > 1) most /= 2;
  return most;
}

// Returns whether some constraint or guard depends on the index.
bool IsConstrained(const poly::FlatContraction& flat, int i) {
  bool is = false;
  const auto look = [&](const std::vector<math::RangeConstraint>& constraints) {
    for (const math::RangeConstraint& constraint : constraints) {
      is |= !constraint.poly.coefficient(i).is_zero();
    }
  };
  look(flat.constraints);
  look(flat.store_guard);
  for (const poly::TensorAccess& access : flat.accesses) look(access.guard);
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    if (const auto* in_range = std::get_if<poly::InRange>(&expr.node)) look(in_range->constraints);
    if (const auto* read = std::get_if<poly::ReadAt>(&expr.node)) look(read->guard);
  });
  return is;
}

// Enlarges ranges so that the tile fits. An error of the plan at that size is an error at every
// size.
poly::FlatContraction WithRoom(poly::FlatContraction flat, const CpuPlan& plan) {
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    flat.indices[i].range = std::max(flat.indices[i].range, plan.unroll[i]);
  }
  return flat;
}

class ReadyPlanner {
 public:
  ReadyPlanner(const poly::FlatContraction& flat, const HardwareSettings& settings,
               const std::vector<bool>& is_constant)
      : flat_(flat),
        settings_(settings),
        is_constant_(is_constant),
        kernel_(flat, settings),
        plan_(ScalarPlan(flat, std::min(settings.threads, kThreads))) {
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (kernel_.chosen[i]) plan_.unroll[i] = Range(i);
    }
  }

  PlannedKernel Run() {
    if (flat_.output_point_count() == 0) return Planned(plan_);
    const CpuPlan scalar = plan_;
    if (std::optional<PlannedKernel> packed = PackConstant()) return *std::move(packed);
    ChooseTile();
    OrderReduction();
    OrderOutputs();
    const CpuPlan tasks = WithTasks(plan_);
    const bool is_right = ReasonInvalid(WithRoom(flat_, tasks), tasks, settings_).empty();
    return Planned(is_right ? tasks : WithTasks(scalar));
  }

 private:
  int OutputCount() const { return flat_.output_index_count; }
  int IndexCount() const { return static_cast<int>(flat_.indices.size()); }
  int64_t Range(int i) const { return flat_.indices[i].range; }
  int64_t Lanes() const {
    return std::max<int64_t>(std::min(settings_.vector_width, kLanes) * 4 / kernel_.element_bytes,
                             1);
  }
  // Rows of a tile along index i.
  int64_t Rows(int i, int64_t most) const {
    return IsConstrained(flat_, i) ? Fitting(Range(i), most) : most;
  }
  PlannedKernel Planned(CpuPlan plan) const { return {flat_, std::move(plan), {}, 0, "ready"}; }

  bool MayUnroll(int i) const {
    return !kernel_.chosen[i] && (!flat_.needs_hits() || !kernel_.constrained[i]);
  }
  bool MayVectorize(int i) const {
    const bool are_flags = flat_.is_reduction() && flat_.accumulator_type == DataType::kBool;
    return !are_flags && MayUnroll(i) && Lanes() > 1 && Range(i) > 1;
  }
  // Returns whether vectors along the index read contiguous elements, or one element for all lanes.
  static bool IsClean(const CpuKernel::Access& read, int i) {
    return !read.irregular[i] && (read.strides[i] == 0 || read.strides[i] == 1);
  }
  bool AreClean(int i) const {
    return std::all_of(kernel_.reads.begin(), kernel_.reads.end(),
                       [&](const CpuKernel::Access& read) { return IsClean(read, i); });
  }
  bool AreWritten(int i) const {
    return std::all_of(kernel_.writes.begin(), kernel_.writes.end(),
                       [&](const CpuKernel::Access& write) { return write.strides[i] == 1; });
  }
  // The output index along which results are contiguous and vectors possible; -1: none.
  int WrittenIndex() const {
    for (int i = 0; i < OutputCount(); ++i) {
      if (AreWritten(i) && MayVectorize(i)) return i;
    }
    return -1;
  }
  bool IsFollowed(int i) const {
    return std::any_of(
        kernel_.reads.begin(), kernel_.reads.end(),
        [&](const CpuKernel::Access& read) { return read.in_body && read.strides[i] == 1; });
  }

  // Packs a constant operand that is not contiguous along the results' vector index, at load, and
  // plans the kernel that reads the copy.
  std::optional<PlannedKernel> PackConstant() {
    const int v = WrittenIndex();
    if (v < 0 || !flat_.is_reduction() || settings_.threads > 1) return std::nullopt;
    int unclean = -1;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (IsClean(read, v)) continue;
      const bool may_pack = read.in_body && read.access >= 0 && unclean < 0 &&
                            is_constant_[flat_.accesses[read.access].tensor];
      if (!may_pack) return std::nullopt;
      unclean = read.access;
    }
    if (unclean < 0 || !poly::CanPack(flat_, unclean, v)) return std::nullopt;
    // The copy pays only if several rows read it.
    if (RowIndex(v) < 0 && ReducedVector() >= 0) return std::nullopt;
    // A block should divide the range, because conditional stores are long code.
    int64_t block = kVectors * settings_.vector_width;
    while (block > kMinBlock && Range(v) % block != 0) block /= 2;
    if (Range(v) % block != 0) block = settings_.vector_width;
    if (Range(v) % block != 0 && (ReadsAtComputed() || block >= Range(v))) return std::nullopt;
    poly::PackedKernel packed = poly::PackRead(flat_, unclean, v, block);
    const int tensor = flat_.accesses[unclean].tensor;
    PlannedKernel planned = ReadyPlanner(packed.kernel, settings_, is_constant_).Run();
    planned.packed.push_back(
        {tensor, flat_.tensors[tensor].value, std::move(packed.copy), unclean, v, block});
    return planned;
  }

  void Vectorize(int v, int64_t lanes, int64_t vectors) {
    plan_.vector_index = v;
    plan_.lanes = static_cast<int>(lanes);
    plan_.unroll[v] = lanes * vectors;
  }

  void ChooseTile() {
    if (settings_.threads > 1) return;  // one element to a work-item: rows of several are slower
    const int v = WrittenIndex();       // one element per work-item; several rows are slower
    if (v >= 0 && AreClean(v)) {
      const int64_t lanes = flat_.is_reduction() ? Fitting(Range(v), Lanes()) : Lanes();
      const bool uses_again = flat_.is_reduction() && RowIndex(v) >= 0;
      const int parts = PartsIndex();
      const int64_t vectors = uses_again ? kVectors : parts >= 0 ? kDecodedVectors : 1;
      Vectorize(v, lanes, vectors == 1 ? 1 : Fitting(Range(v) / lanes, vectors));
      if (uses_again) plan_.unroll[RowIndex(v)] = Rows(RowIndex(v), kRows);
      if (parts >= 0) plan_.unroll[parts] = Range(parts);
      while (parts >= 0 && plan_.unroll[v] > lanes && !FitsRegisters(kernel_, plan_)) {
        plan_.unroll[v] /= 2;
      }
    } else if (flat_.is_reduction()) {
      if (!AlongReduced()) AlongRead();
    } else if (v >= 0) {
      Squares(v);
    }
  }

  // An output index along which an operand that moves with the vectors is reused; -1: none.
  int RowIndex(int v) const {
    int row = -1;
    for (int i = 0; i < OutputCount(); ++i) {
      if (i == v || !MayUnroll(i) || kernel_.constrained[i] || Range(i) < 2) continue;
      bool is_used_again = false;
      bool is_followed = false;
      for (const CpuKernel::Access& read : kernel_.reads) {
        if (!read.in_body) continue;
        is_used_again = is_used_again || (read.strides[v] != 0 && read.strides[i] == 0);
        is_followed = is_followed || read.strides[i] != 0;
      }
      if (is_used_again && is_followed) row = i;
    }
    return row;
  }

  // The reduced index of the low-precision values in a word: other factors move along it, the words
  // do not. Its range is part of the kernel's structure. -1: none.
  int PartsIndex() const {
    if (!flat_.is_reduction()) return -1;
    for (int r = OutputCount(); r < IndexCount(); ++r) {
      if (Range(r) < 2 || Range(r) > kMaxParts || kernel_.constrained[r]) continue;
      bool has_words = false;
      bool is_followed = false;
      for (const CpuKernel::Access& read : kernel_.reads) {
        if (!read.in_body || read.access < 0) continue;
        const DataType type = flat_.tensors[flat_.accesses[read.access].tensor].shape.type;
        (read.strides[r] != 0 ? is_followed : has_words) |=
            (read.strides[r] != 0) ? IsFloat(type) : type == DataType::kInt32;
      }
      if (has_words && is_followed) return r;
    }
    return -1;
  }

  // A reduced index along which reads are contiguous; -1: none.
  int ReducedVector() const {
    for (int r = IndexCount(); r-- > OutputCount();) {
      if (!MayVectorize(r) || !IsFollowed(r)) continue;
      const bool are_clean = std::all_of(
          kernel_.reads.begin(), kernel_.reads.end(),
          [&](const CpuKernel::Access& read) { return !read.in_body || IsClean(read, r); });
      if (are_clean) return r;
    }
    return -1;
  }

  // Chooses a tile whose vector lanes hold partial results along a reduced index. Returns false if
  // there is none.
  bool AlongReduced() {
    const int r = ReducedVector();
    if (r < 0) return false;
    Vectorize(r, Lanes(), 1);
    int64_t left = kRows * kVectors;
    for (int i = OutputCount(); i-- > 0 && left > 1;) {
      if (!MayUnroll(i) || kernel_.constrained[i] || !IsUsedAgainAlong(i)) continue;
      plan_.unroll[i] = Rows(i, std::min(left, kRows));
      left /= plan_.unroll[i];
    }
    return true;
  }

  // Chooses vectors along an output index along which reads are contiguous. Results are stored one
  // by one. An example is the gradient by a filter [co, ci, k0, k1] of images with channels last.
  void AlongRead() {
    for (int v = 0; v < OutputCount(); ++v) {
      if (!MayVectorize(v) || !IsFollowed(v) || !AreClean(v) || RowIndex(v) < 0) continue;
      const int64_t lanes = Fitting(Range(v), Lanes());
      Vectorize(v, lanes, Fitting(Range(v) / lanes, kVectors));
      plan_.unroll[RowIndex(v)] = Rows(RowIndex(v), kRows);
      return;
    }
  }

  bool ReadsAtComputed() const {
    bool any = false;
    poly::VisitExprs(flat_, [&](const poly::Expr& expr) {
      any |= std::holds_alternative<poly::ReadAt>(expr.node);
    });
    return any;
  }

  // Returns whether the index moves some operand and leaves another one unchanged.
  bool IsUsedAgainAlong(int i) const {
    bool stays = false;
    bool moves = false;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (!read.in_body) continue;
      (read.strides[i] == 0 ? stays : moves) = true;
    }
    return stays && moves;
  }

  // Chooses transposed squares for elementwise kernels that read along another index than they
  // write.
  void Squares(int v) {
    // Constants are copied once, at load; that does not justify long code.
    if (std::all_of(is_constant_.begin(), is_constant_.end(), [](bool is) { return is; })) return;
    if (settings_.vector_width < kSquareLanes) return;
    for (int row = 0; row < OutputCount(); ++row) {
      if (row == v || !MayUnroll(row) || Range(row) < 2) continue;
      const bool is_square = std::all_of(
          kernel_.reads.begin(), kernel_.reads.end(), [&](const CpuKernel::Access& read) {
            return IsClean(read, v) ||
                   (read.strides[row] == 1 && !read.irregular[v] && !read.irregular[row]);
          });
      if (!is_square) continue;
      Vectorize(v, kSquareLanes, 1);
      plan_.unroll[row] = kSquareLanes;
      return;
    }
  }

  // Makes the reduced index that is contiguous in memory the innermost.
  void OrderReduction() {
    std::stable_sort(plan_.reduction_order.begin(), plan_.reduction_order.end(), [&](int a, int b) {
      const auto place = [&](int i) { return i == plan_.vector_index ? 2 : IsFollowed(i) ? 1 : 0; };
      return place(a) < place(b);
    });
  }

  // Orders output loops so that vector operands stay in a cache: the indices that move them are the
  // outermost, the rows the innermost.
  void OrderOutputs() {
    if (!flat_.is_reduction()) return;
    const int v = plan_.vector_index;
    const int row = v >= 0 && v < OutputCount() ? RowIndex(v) : -1;
    if (row < 0) return;
    const auto moves_with_vectors = [&](int i) {
      return std::any_of(kernel_.reads.begin(), kernel_.reads.end(),
                         [&](const CpuKernel::Access& read) {
                           return read.in_body && read.strides[v] != 0 && read.strides[i] != 0;
                         });
    };
    const auto place = [&](int i) { return i == row ? 2 : moves_with_vectors(i) ? 0 : 1; };
    std::stable_sort(plan_.order.begin(), plan_.order.end(),
                     [&](int a, int b) { return place(a) < place(b); });
  }

  // Assigns one tile per work-item (lower/cpu/dynamic_shape_kernel.h). Elementwise kernels instead
  // divide their innermost index into as many tasks as keep the compute units busy.
  CpuPlan WithTasks(CpuPlan plan) const {
    int64_t others = 1;
    int innermost = -1;
    for (int i : plan.order) {
      const bool may_be_whole = flat_.indices[i].is_lane || kernel_.chosen[i];
      if (may_be_whole && plan.unroll[i] >= Range(i)) {
        plan.task[i] = Range(i);
        continue;
      }
      plan.task[i] = plan.unroll[i];
      if (innermost >= 0) others *= Tiles(plan, innermost);
      innermost = i;
    }
    if (flat_.is_reduction() || innermost < 0) return plan;
    const int64_t most = kItemsOfUnit * std::max<int64_t>(settings_.compute_units, 1);
    const int64_t items = std::clamp<int64_t>(flat_.point_count() / kPointsOfItem, 1, most);
    const int64_t tiles = Tiles(plan, innermost);
    const int64_t tasks = std::clamp<int64_t>(items / std::max<int64_t>(others, 1), 1, tiles);
    plan.task[innermost] = (tiles + tasks - 1) / tasks * plan.unroll[innermost];
    return plan;
  }
  int64_t Tiles(const CpuPlan& plan, int i) const {
    return std::max<int64_t>((Range(i) + plan.unroll[i] - 1) / plan.unroll[i], 1);
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const std::vector<bool>& is_constant_;
  const CpuKernel kernel_;
  CpuPlan plan_;
};

}  // namespace

bool HasFreeRows(const poly::FlatContraction& flat, const CpuPlan& plan, int i) {
  const bool is_row = flat.is_reduction() && i < flat.output_index_count &&
                      i != plan.vector_index && !flat.indices[i].is_lane;
  return is_row && plan.unroll[i] > 1 && !IsConstrained(flat, i);
}

PlannedKernel PlanReady(const poly::FlatContraction& flat, const HardwareSettings& settings,
                        const std::vector<bool>& is_constant) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  return ReadyPlanner(merged, settings, is_constant).Run();
}

}  // namespace tartan::plan
