// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/group_staging.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "tile/plan/gpu/async_copies.h"
#include "tile/plan/gpu/bank_padding.h"
#include "tile/plan/gpu/held_index.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

void CollectReads(const poly::ExprPtr& expr, std::set<const poly::Expr*>* seen,
                  std::set<int>* reads, bool* has_other_reads) {
  if (expr == nullptr || !seen->insert(expr.get()).second) return;
  if (const auto* read = std::get_if<poly::Read>(&expr->node)) reads->insert(read->access);
  if (std::holds_alternative<poly::ReadAt>(expr->node)) *has_other_reads = true;
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    for (const poly::ExprPtr& operand : apply->operands) {
      CollectReads(operand, seen, reads, has_other_reads);
    }
  }
}

bool IsReadOf(const poly::ExprPtr& expr, int access) {
  const auto* read = std::get_if<poly::Read>(&expr->node);
  return read != nullptr && read->access == access;
}

// Returns whether the expression is 0 if the access reads as 0 and all others are finite.
bool IsZeroWith(const poly::ExprPtr& expr, int access) {
  if (IsReadOf(expr, access)) return true;
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  if (apply == nullptr) return false;
  switch (apply->op) {
    case ScalarOp::kMul:
    case ScalarOp::kDot16:
    case ScalarOp::kDot8:
    case ScalarOp::kDot8u:
      return IsZeroWith(apply->operands[0], access) || IsZeroWith(apply->operands[1], access);
    case ScalarOp::kIdentity:
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kSqrt:
    case ScalarOp::kCast:
    case ScalarOp::kRelu:
      return IsZeroWith(apply->operands[0], access);
    default:
      return false;
  }
}

std::optional<double> FillFor(const poly::FlatContraction& flat, int access) {
  if (flat.body == nullptr) return std::nullopt;
  const DataType type = flat.accumulator_type;
  const double infinity = std::numeric_limits<double>::infinity();
  if (flat.aggregation == Aggregation::kSum) {
    if (IsZeroWith(flat.body, access)) return 0.0;
    return std::nullopt;
  }
  const bool exact = IsFloat(type) || ByteWidth(type) <= 4;
  if (!IsReadOf(flat.body, access) || !exact) return std::nullopt;
  switch (flat.aggregation) {
    case Aggregation::kProduct:
      return 1.0;
    case Aggregation::kMax:
      return IsFloat(type) ? -infinity : static_cast<double>(MinInteger(type));
    case Aggregation::kMin:
      return IsFloat(type) ? infinity : static_cast<double>(MaxInteger(type));
    default:
      return std::nullopt;
  }
}

bool TracksHits(const poly::FlatContraction& flat) {
  return flat.may_be_empty &&
         (flat.aggregation != Aggregation::kSum || flat.empty_value != nullptr);
}

// Returns whether access and layout allow loads of `lanes` contiguous elements of the dimension.
bool LoadsVectors(const GroupProblem& problem, const GroupProblem::Access& access,
                  const GpuPlan& plan, const std::vector<math::RangeConstraint>& absorbed,
                  const TileDim& dim, int64_t lanes) {
  if (dim.global_stride != 1 || access.type != ComputeType(access.type)) return false;
  if (access.flat.offset % lanes != 0 || access.count % lanes != 0 || dim.origin % lanes != 0) {
    return false;
  }
  const std::vector<int64_t> tile = plan.Tile();
  for (size_t i = 0; i < tile.size(); ++i) {
    const int64_t stride = access.flat.strides[i];
    if (stride == 0) continue;
    const bool is_member = std::any_of(
        dim.members.begin(), dim.members.end(),
        [&](const TileDim::Member& member) { return member.index == static_cast<int>(i); });
    // Distance between the beginnings of tiles, which other dimensions share.
    const int64_t step = is_member ? stride * tile[i] : stride;
    if (step % lanes != 0 && !(is_member && tile[i] >= problem.flat().indices[i].range))
      return false;
  }
  // A constraint must hold for all lanes of a vector or for none.
  for (const math::RangeConstraint& constraint : absorbed) {
    bool concerns = false;
    for (const TileDim::Member& member : dim.members) {
      concerns |= !constraint.poly.coefficient(member.index).is_zero();
    }
    if (!concerns) continue;
    const bool is_range = constraint.poly == math::Affine::Variable(dim.members[0].index);
    if (!is_range || dim.members.size() > 1 || constraint.range % lanes != 0) return false;
  }
  return true;
}

// The dimension whose only member is the index; -1: none.
int OwnDim(const std::vector<TileDim>& dims, int index) {
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<TileDim::Member>& members = dims[d].members;
    if (members.size() == 1 && members[0].index == index && members[0].scale == 1) {
      return static_cast<int>(d);
    }
  }
  return -1;
}

class Stager {
 public:
  Stager(const GroupProblem& problem, GpuPlan* plan)
      : problem_(problem),
        plan_(plan),
        tile_(plan->Tile()),
        constraints_(TileConstraints(problem.flat(), tile_)) {}

  void Stage(int number) {
    const GroupProblem::Access& access = problem_.accesses()[number];
    StagedAccess staged;
    staged.access = number;
    staged.fill = access.fill;
    std::vector<math::RangeConstraint> absorbed;
    for (size_t c = 0; c < constraints_.size(); ++c) {
      if (!access.fill || !IsSeenBy(access, constraints_[c])) continue;
      absorbed.push_back(constraints_[c]);
      staged.absorbed.push_back(static_cast<int>(c));
    }
    std::vector<TileDim> dims = MergeTileDims(access.flat, tile_, absorbed);
    const int64_t widest = std::max<int64_t>(gpu::kAccessBytes / ByteWidth(access.type), 1);
    int load_dim = -1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].range >= widest &&
          LoadsVectors(problem_, access, *plan_, absorbed, dims[d], widest)) {
        load_dim = static_cast<int>(d);
      }
    }
    const int contiguous = ChooseVectorIndex(access, dims, &staged);
    // Elementwise kernels read a tile in vectors. If the lanes are not contiguous in the tile, they
    // read from memory directly.
    if (contiguous < 0 && !problem_.flat().is_reduction() && HasLanes(access)) return;
    const int64_t read_lanes =
        staged.vector_index < 0 ? 1 : plan_->splits[staged.vector_index].vector;
    if (load_dim >= 0 && load_dim != contiguous && dims[load_dim].range % widest != 0)
      load_dim = -1;
    if (load_dim >= 0) dims[load_dim].vector = widest;
    if (contiguous >= 0) {
      const bool both = load_dim == contiguous;
      staged.layout = VectorLayout(std::move(dims), contiguous,
                                   both ? std::max(widest, read_lanes) : read_lanes);
    } else if (load_dim >= 0 && problem_.flat().is_reduction()) {
      staged.layout = VectorLayout(std::move(dims), load_dim, widest);
    } else {
      staged.layout = OddLayout(std::move(dims));
    }
    const auto items = static_cast<uint64_t>(plan_->threads());
    SpreadThreads(static_cast<int64_t>(std::bit_floor(items)), kLine, &staged.layout);
    staged.layout.size += TotalBankPadding(problem_.flat(), *plan_, staged);
    plan_->staged.push_back(std::move(staged));
  }

 private:
  static constexpr int64_t kLine = 32;  // elements

  static bool IsSeenBy(const GroupProblem::Access& access,
                       const math::RangeConstraint& constraint) {
    for (size_t i = 0; i < access.flat.strides.size(); ++i) {
      if (!constraint.poly.coefficient(static_cast<int>(i)).is_zero() &&
          access.flat.strides[i] == 0) {
        return false;
      }
    }
    return true;
  }

  // Returns whether the access moves along an output lane index.
  bool HasLanes(const GroupProblem::Access& access) const {
    const int lane_index = plan_->lane_index;
    return lane_index >= 0 && problem_.is_output(lane_index) &&
           access.flat.strides[lane_index] != 0;
  }

  // Returns the dimension that is read in vectors: along the lane index, another output index, or a
  // reduced index; -1: none. Sets staged->vector_index.
  int ChooseVectorIndex(const GroupProblem::Access& access, const std::vector<TileDim>& dims,
                        StagedAccess* staged) const {
    const int lane_index = plan_->lane_index;
    const bool has_lanes = HasLanes(access);
    for (int i = 0; i < problem_.index_count(); ++i) {
      if (plan_->splits[i].vector == 1 || (has_lanes && i != lane_index)) continue;
      if (!problem_.flat().is_reduction() && i != lane_index) continue;
      const int dim = OwnDim(dims, i);
      if (dim < 0) continue;
      staged->vector_index = i;
      return dim;
    }
    return -1;
  }

  const GroupProblem& problem_;
  GpuPlan* plan_;
  const std::vector<int64_t> tile_;
  const std::vector<math::RangeConstraint> constraints_;
};

}  // namespace

GroupProblem::GroupProblem(const poly::FlatContraction& flat,
                           const std::vector<bool>& local_tensors, bool is_local_output)
    : flat_(flat), is_local_output_(is_local_output) {
  const int count = index_count();
  output_ = poly::Flatten(flat.output_coords, flat.output_dims, count);
  std::set<const poly::Expr*> seen;
  std::set<int> body_reads, output_reads;
  bool computed = false;
  CollectReads(flat.body, &seen, &body_reads, &computed);
  has_computed_reads_ = computed;
  seen.clear();
  for (const poly::Output& output : flat.outputs) {
    CollectReads(output.expr, &seen, &output_reads, &computed);
  }
  is_eligible_ = !TracksHits(flat) && flat.output_point_count() > 0 && flat.point_count() > 0 &&
                 flat.accumulator_type != DataType::kBool;
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const poly::TensorAccess& read = flat.accesses[a];
    const TensorShape& shape = flat.tensors[read.tensor].shape;
    Access access;
    access.flat = poly::Flatten(read.coords, shape.dims, count);
    access.type = shape.type;
    access.count = shape.element_count();
    access.in_body = body_reads.count(static_cast<int>(a)) > 0;
    access.in_outputs = output_reads.count(static_cast<int>(a)) > 0;
    access.is_local = !local_tensors.empty() && local_tensors[read.tensor];
    access.may_be_staged = !access.is_local && read.guard.empty() &&
                           shape.type != DataType::kBool && access.in_body != access.in_outputs &&
                           access.count > 0;
    if (read.guard.empty()) access.fill = FillFor(flat, static_cast<int>(a));
    accesses_.push_back(std::move(access));
  }
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (output_.strides[i] == 1) contiguous_output_ = i;
  }
  operations_ = flat.is_reduction() ? OperationCount(flat.body) : 0;
}

bool GroupProblem::ReadsContiguously(int index) const {
  bool any = false;
  for (const Access& access : accesses_) {
    if (!access.in_body) continue;
    const int64_t stride = access.flat.strides[index];
    if (stride != 0 && stride != 1) return false;
    any |= stride == 1;
  }
  return any;
}

void StageAccesses(const GroupProblem& problem, GpuPlan* plan) {
  plan->staged.clear();
  // Vectors along a reduced lane index are read from memory directly.
  if (plan->lane_index >= problem.flat().output_index_count) return;
  const std::vector<int64_t> tile = plan->Tile();
  Stager stager(problem, plan);
  const bool is_reduction = problem.flat().is_reduction();
  const int held_index = problem.flat().accumulator_index < 0 ? HeldIndex(problem.flat()) : -1;
  for (size_t a = 0; a < problem.accesses().size(); ++a) {
    const GroupProblem::Access& access = problem.accesses()[a];
    if (!access.may_be_staged || access.in_body != is_reduction) continue;
    bool is_shared = false, differs = false;  // is_shared: an element is loaded several times
    for (size_t i = 0; i < tile.size(); ++i) {
      if (tile[i] == 1 || static_cast<int>(i) == held_index) continue;
      const bool output = problem.is_output(static_cast<int>(i));
      (access.flat.strides[i] != 0 ? differs : is_shared) |= output || access.flat.strides[i] != 0;
    }
    // Adjacent work-items read distant elements although contiguous ones are in the tile.
    bool is_strided = false;
    if (!plan->thread_parts.empty() && !is_reduction) {
      const int64_t stride = std::abs(access.flat.strides[plan->thread_parts[0].index]);
      bool has_near = false;
      for (size_t i = 0; i < tile.size(); ++i) {
        has_near |= std::abs(access.flat.strides[i]) == 1 && tile[i] > 1;
      }
      is_strided = stride > 1 && has_near;
    }
    if (is_reduction ? is_shared && differs : is_strided) stager.Stage(static_cast<int>(a));
  }
}

// A range constraint must be absorbed by every input that depends on it: elements beyond the range
// are undefined, and 0 times one of them may not be 0. For another constraint one absorbing input
// is enough; the other inputs must be staged, so that they are read within their tensors.
std::vector<bool> FilledConstraints(const GroupProblem& problem, const GpuPlan& plan) {
  const std::vector<math::RangeConstraint> constraints =
      TileConstraints(problem.flat(), plan.Tile());
  std::vector<bool> filled;
  for (size_t c = 0; c < constraints.size(); ++c) {
    const bool is_range = c >= problem.flat().constraints.size();
    bool any = false;
    bool all = true;
    for (size_t a = 0; a < problem.accesses().size(); ++a) {
      const GroupProblem::Access& access = problem.accesses()[a];
      if (!access.in_body) continue;
      bool depends = false;
      for (int i = 0; i < problem.index_count(); ++i) {
        depends |= access.flat.strides[i] != 0 && !constraints[c].poly.coefficient(i).is_zero();
      }
      if (!depends) continue;
      const auto staged =
          std::find_if(plan.staged.begin(), plan.staged.end(),
                       [&](const StagedAccess& s) { return s.access == static_cast<int>(a); });
      const bool absorbs =
          staged != plan.staged.end() && staged->fill &&
          std::count(staged->absorbed.begin(), staged->absorbed.end(), static_cast<int>(c)) > 0;
      any |= absorbs;
      all &= absorbs || (!is_range && staged != plan.staged.end());
    }
    filled.push_back(any && all && !problem.has_computed_reads());
  }
  return filled;
}

std::string ReasonInvalid(const poly::FlatContraction& flat, const GpuPlan& plan,
                          const HardwareSettings& settings) {
  std::vector<int64_t> threads(flat.indices.size(), 1);
  bool output_after_partial = false;
  bool partial_ended = false;
  bool seen_partial = false;
  for (const ThreadPart& part : plan.thread_parts) {
    threads[part.index] *= part.count;
    const bool partial = part.index >= flat.output_index_count;
    if (partial && partial_ended) output_after_partial = true;
    if (seen_partial && !partial) partial_ended = true;
    seen_partial |= partial;
  }
  if (output_after_partial) return "work-items that share an output element are not adjacent";
  int64_t local_bytes = 0;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    if (threads[i] != plan.splits[i].threads) {
      return absl::StrCat("index ", flat.indices[i].name, " has ", threads[i], " of ",
                          plan.splits[i].threads, " work-items");
    }
  }
  if (plan.lane_index >= 0 && plan.lane_index < flat.output_index_count &&
      flat.indices[plan.lane_index].range % plan.splits[plan.lane_index].vector != 0) {
    return "vectors do not divide the range of the lane index";
  }
  if (flat.accumulator_index >= 0 &&
      plan.OwnCount(flat.accumulator_index) != flat.accumulators_per_element()) {
    return "a work-item does not compute all joined sums of an element";
  }
  if (plan.lane_index >= flat.output_index_count && !plan.staged.empty()) {
    return "inputs are in local memory although lanes are along a reduced index";
  }
  for (const StagedAccess& staged : plan.staged) {
    if (staged.is_there) continue;
    const poly::Tensor& tensor = flat.tensors[flat.accesses[staged.access].tensor];
    local_bytes +=
        plan.tile_buffer_count() * staged.layout.size * ByteWidth(ComputeType(tensor.shape.type));
  }
  if (plan.partial_threads(flat) > 1) {
    const int64_t lanes = plan.lane_index >= 0 && plan.lane_index < flat.output_index_count
                              ? plan.splits[plan.lane_index].vector
                              : 1;
    local_bytes +=
        plan.threads() * lanes * flat.accumulators_per_element() * ByteWidth(flat.accumulator_type);
  }
  if (plan.buffering == Buffering::kAsyncCopies && !CanCopyAsync(flat, plan)) {
    return "asynchronous copies cannot load the tiles";
  }
  if (local_bytes > MostLocalBytes(plan, settings)) {
    return absl::StrCat(local_bytes, " local bytes; the limit is ", MostLocalBytes(plan, settings));
  }
  if (plan.threads() > settings.max_work_group_size) {
    return absl::StrCat(plan.threads(), " work-items in a group; the limit is ",
                        settings.max_work_group_size);
  }
  return "";
}

}  // namespace tartan::plan
