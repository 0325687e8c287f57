// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/task_block.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

namespace {

bool IsCopiedStep(const math::Rational& step) {
  return step == math::Rational(1) || step == math::Rational(plan::kMaxCopiedStep);
}

}  // namespace

// Emits the loops that copy an access's elements for a cache block and K chunk.
class StagedCopy : IndexBuilder {
 public:
  StagedCopy(const TaskBlock& block, const TaskBlock::Staged& staged,
             const std::vector<TaskBlock::Task>& tasks)
      : IndexBuilder(block.index_type_),
        block_(block),
        staged_(staged),
        tasks_(tasks),
        indices_(block.indices_) {
    const plan::CpuPlan& plan = block.plan_;
    const int v = plan.vector_index;
    in_vectors_ = v >= 0 && IsCopiedStep(staged.from.coefficient(v));
    neighbours_ = staged.neighbours;
    offsets_.assign(plan.task.size(), Number(0));
    const auto add = [&](Kind kind, const std::vector<int>& indices) {
      for (int i : indices) {
        if (!staged.from.coefficient(i).is_zero()) loops_.push_back({kind, i});
      }
    };
    for (size_t at = 0; at < static_cast<size_t>(plan.block->level); ++at) {
      Place(plan.order[at], indices_.value(plan.order[at]));
    }
    const std::vector<int> inside(plan.order.begin() + plan.block->level, plan.order.end());
    // The loop order follows the tensor's memory layout.
    if (neighbours_ >= 0) add(Kind::kReduced, plan.reduction_order);
    add(Kind::kTile, inside);
    if (in_vectors_) add(Kind::kReduced, plan.reduction_order);
    for (int i : plan.order) {
      if ((i != v || !in_vectors_) && i != neighbours_) add(Kind::kRow, {i});
    }
    if (!in_vectors_ && neighbours_ < 0) add(Kind::kReduced, plan.reduction_order);
  }

  StmtPtr Emit() { return Loops(0); }

 private:
  enum class Kind { kTile, kRow, kReduced };
  struct Loop {
    Kind kind;
    int index;
  };

  const plan::CpuPlan& plan() const { return block_.plan_; }
  int64_t Range(int i) const { return block_.flat_.indices[i].range; }

  void Place(int index, ExprPtr value) {
    if (value != nullptr) indices_.Set(index, std::move(value));
  }

  StmtPtr Loops(size_t depth) {
    if (depth == loops_.size()) return Elements();
    const int i = loops_[depth].index;
    switch (loops_[depth].kind) {
      case Kind::kTile:
        return Tiles(i, depth);
      case Kind::kRow:
        return Rows(i, depth);
      default:
        return Reduced(i, depth);
    }
  }

  // Copies overlap like the kernel's own tiles: the last one begins early enough to be complete.
  StmtPtr Tiles(int i, size_t depth) {
    const int64_t step = plan().unroll[i];
    const bool is_loop = plan().task[i] > step;
    const std::string name = absl::StrCat(block_.names_[i], "copied");
    const ExprPtr at = is_loop ? Var(name) : tasks_[i].begin;
    indices_.Set(i, Range(i) % step == 0 ? at : loop::Min(at, Number(Range(i) - step)));
    if (is_loop) offsets_[i] = loop::Sub(at, tasks_[i].begin);
    StmtPtr body = Loops(depth + 1);
    return is_loop ? loop::MakeFor(name, tasks_[i].begin, tasks_[i].end, std::move(body), step)
                   : body;
  }

  StmtPtr Rows(int i, size_t depth) {
    if (plan().unroll[i] == 1) return Loops(depth + 1);
    const std::string name = absl::StrCat(block_.names_[i], "row");
    const ExprPtr row = Var(name);
    indices_.Set(i, loop::Add(indices_.value(i), row));
    places_.push_back(loop::Mul(row, Number(staged_.layout.strides[i])));
    return loop::MakeFor(name, Number(0), Number(plan().unroll[i]), Loops(depth + 1));
  }

  StmtPtr Reduced(int i, size_t depth) {
    const std::string name = absl::StrCat(block_.names_[i], "copied");
    const ExprPtr at = Var(name);
    indices_.Set(i, at);
    places_.push_back(loop::Mul(loop::Sub(at, block_.Begin(i)), Number(staged_.layout.strides[i])));
    return loop::MakeFor(name, block_.Begin(i), block_.End(i), Loops(depth + 1));
  }

  StmtPtr Elements() const {
    ExprPtr to = block_.PlaceOf(staged_.layout, offsets_);
    for (const ExprPtr& place : places_) to = loop::Add(to, place);
    const int along = in_vectors_ ? plan().vector_index : neighbours_;
    const int64_t count = along >= 0 ? plan().unroll[along] : 1;
    int lanes = in_vectors_ ? plan().lanes : neighbours_ >= 0 ? plan::kMaxNeighbours : 1;
    std::vector<StmtPtr> stores;
    for (int64_t element = 0; element < count; element += lanes) {
      while (element + lanes > count) lanes /= 2;
      const bool is_every_other =
          along >= 0 && staged_.from.coefficient(along) == math::Rational(plan::kMaxCopiedStep);
      stores.push_back(loop::MakeStore(
          staged_.array, staged_.type, loop::Add(to, Number(element)),
          is_every_other ? EveryOther(2 * element, lanes) : Neighbours(element, lanes)));
    }
    return loop::MakeBlock(std::move(stores));
  }

  ExprPtr Neighbours(int64_t offset, int lanes) const {
    const poly::TensorAccess& access = block_.flat_.accesses[staged_.access];
    const math::Affine from = staged_.from + math::Affine::Constant(offset);
    return loop::LoadFrom(absl::StrCat("in", access.tensor),
                          block_.flat_.tensors[access.tensor].shape.type, indices_.Emit(from),
                          lanes);
  }

  // Two loads that share one element, so that nothing is read past the last element.
  ExprPtr EveryOther(int64_t offset, int lanes) const {
    if (lanes == 1) return Neighbours(offset, 1);
    std::vector<int> chosen;
    for (int lane = 0; lane < lanes; ++lane) chosen.push_back(2 * lane + (2 * lane >= lanes));
    return loop::MakeShuffle(Neighbours(offset, lanes), Neighbours(offset + lanes - 1, lanes),
                             std::move(chosen));
  }

  const TaskBlock& block_;
  const TaskBlock::Staged& staged_;
  const std::vector<TaskBlock::Task>& tasks_;
  IndexEmitter indices_;  // the index values in the copy's own loops
  bool in_vectors_ = false;
  int neighbours_ = -1;  // the index whose rows are copied together, or -1
  std::vector<Loop> loops_;
  std::vector<ExprPtr> offsets_;  // of the tile, per output index
  std::vector<ExprPtr> places_;   // terms of the position within the tile
};

TaskBlock::TaskBlock(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                     const IndexEmitter& indices, const std::vector<std::string>& names)
    : IndexBuilder(indices.index_type()),
      flat_(flat),
      plan_(plan),
      block_(*plan.block),
      indices_(indices),
      names_(names),
      offsets_(flat.output_index_count, indices.Number(0)) {
  if (has_chunks()) partials_ = plan::PartialsOf(flat, plan);
  for (int access : block_.staged) {
    const poly::TensorAccess& read = flat.accesses[access];
    const TensorShape& shape = flat.tensors[read.tensor].shape;
    Staged staged{
        access, absl::StrCat("staged", access),     ComputeType(shape.type),
        {},     plan::StagedOf(flat, plan, access), plan::ContiguousRows(flat, plan, access)};
    const std::vector<int64_t> strides = RowMajorStrides(shape.dims);
    for (size_t d = 0; d < strides.size(); ++d) {
      staged.from = staged.from + read.coords[d] * strides[d];
    }
    staged_.push_back(std::move(staged));
  }
}

std::vector<StmtPtr> TaskBlock::Arrays() const {
  std::vector<StmtPtr> arrays;
  if (has_chunks()) {
    arrays.push_back(loop::MakeArray({flat_.accumulator_type, 1}, "partial", partials_.size));
  }
  for (const Staged& staged : staged_) {
    arrays.push_back(loop::MakeArray({staged.type, 1}, staged.array, staged.layout.size));
  }
  return arrays;
}

bool TaskBlock::IsRagged() const {
  return has_chunks() && flat_.indices[block_.chunk_index].range % block_.chunk_length != 0;
}

ExprPtr TaskBlock::Begin(int index) const {
  if (index != block_.chunk_index) return Number(0);
  return Var(absl::StrCat(names_[index], "chunk"));
}

ExprPtr TaskBlock::End(int index) const {
  if (index != block_.chunk_index) return Number(flat_.indices[index].range);
  if (IsRagged()) return Var(absl::StrCat(names_[index], "stop"));
  return loop::Add(Begin(index), Number(block_.chunk_length));
}

ExprPtr TaskBlock::IsFirstChunk() const {
  return loop::Equals(Begin(block_.chunk_index), Number(0));
}

ExprPtr TaskBlock::IsLastChunk() const {
  const int64_t range = flat_.indices[block_.chunk_index].range;
  return loop::LessEqual(Number(range - block_.chunk_length), Begin(block_.chunk_index));
}

StmtPtr TaskBlock::Emit(const std::vector<Task>& tasks, const std::function<StmtPtr()>& tiles) {
  std::vector<StmtPtr> statements;
  if (IsRagged()) {
    const int i = block_.chunk_index;
    statements.push_back(Declare(absl::StrCat(names_[i], "stop"),
                                 loop::Min(loop::Add(Begin(i), Number(block_.chunk_length)),
                                           Number(flat_.indices[i].range))));
  }
  for (const Staged& staged : staged_) statements.push_back(Fill(staged, tasks));
  statements.push_back(tiles());
  StmtPtr chunk = loop::MakeBlock(std::move(statements));
  if (!has_chunks()) return chunk;
  const int i = block_.chunk_index;
  return loop::MakeFor(absl::StrCat(names_[i], "chunk"), Number(0), Number(flat_.indices[i].range),
                       std::move(chunk), block_.chunk_length);
}

StmtPtr TaskBlock::Fill(const Staged& staged, const std::vector<Task>& tasks) const {
  return StagedCopy(*this, staged, tasks).Emit();
}

ExprPtr TaskBlock::PlaceOf(const plan::BlockArray& array,
                           const std::vector<ExprPtr>& offsets) const {
  ExprPtr place = Number(0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (array.tile_strides[i] == 0) continue;
    place = loop::Add(place, loop::Mul(offsets[i], Number(array.tile_strides[i])));
  }
  return place;
}

std::vector<StmtPtr> TaskBlock::Places() const {
  std::vector<StmtPtr> places;
  if (has_chunks()) {
    places.push_back(Declare("partial_at", PlaceOf(partials_, offsets_)));
  }
  for (const Staged& staged : staged_) {
    ExprPtr place = PlaceOf(staged.layout, offsets_);
    if (has_chunks()) {
      const int64_t stride = staged.layout.strides[block_.chunk_index];
      place = loop::Sub(place, loop::Mul(Begin(block_.chunk_index), Number(stride)));
    }
    places.push_back(Declare(absl::StrCat(staged.array, "_at"), std::move(place)));
  }
  return places;
}

std::map<int, StagedRead> TaskBlock::Reads() const {
  std::map<int, StagedRead> reads;
  for (const Staged& staged : staged_) {
    StagedRead read{staged.array, staged.type, Var(absl::StrCat(staged.array, "_at")), {}, {}};
    for (size_t i = 0; i < staged.layout.strides.size(); ++i) {
      if (staged.layout.strides[i] == 0) continue;
      const int index = static_cast<int>(i);
      (index < flat_.output_index_count ? read.tile : read.loops)
          .set_coefficient(index, staged.layout.strides[i]);
    }
    reads.emplace(staged.access, std::move(read));
  }
  return reads;
}

StmtPtr TaskBlock::Resume(const std::vector<Position>& positions,
                          const std::vector<std::string>& accumulators) const {
  const ExprPtr at = Var("partial_at");
  std::vector<StmtPtr> loads;
  for (size_t p = 0; p < positions.size(); ++p) {
    int64_t shift = 0;
    for (size_t i = 0; i < positions[p].size(); ++i)
      shift += positions[p][i] * partials_.strides[i];
    loads.push_back(loop::MakeAssign(accumulators[p],
                                     loop::LoadFrom("partial", flat_.accumulator_type,
                                                    loop::Add(at, Number(shift)), plan_.lanes)));
  }
  return loop::MakeIf(loop::Not(IsFirstChunk()), loop::MakeBlock(std::move(loads)));
}

std::vector<StmtPtr> TaskBlock::Suspend(const std::vector<Position>& positions,
                                        const std::vector<std::string>& accumulators) const {
  const ExprPtr at = Var("partial_at");
  const loop::Type type = {flat_.accumulator_type, plan_.lanes};
  std::vector<StmtPtr> stores;
  for (size_t p = 0; p < positions.size(); ++p) {
    int64_t shift = 0;
    for (size_t i = 0; i < positions[p].size(); ++i)
      shift += positions[p][i] * partials_.strides[i];
    stores.push_back(loop::MakeStore("partial", flat_.accumulator_type,
                                     loop::Add(at, Number(shift)),
                                     loop::Var(accumulators[p], type)));
  }
  return stores;
}

}  // namespace tartan::lower
