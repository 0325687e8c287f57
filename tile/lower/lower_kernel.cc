#include "tile/lower/lower_kernel.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/expr_emitter.h"
#include "tile/lower/vector_reduction.h"
#include "tile/poly/coords.h"

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

bool NeedsWideIndices(const poly::FlatContraction& flat) {
  const int64_t limit = int64_t{1} << 31;
  bool wide = TensorShape{DataType::kBool, flat.output_dims}.element_count() >= limit ||
              flat.output_point_count() >= limit;
  for (const poly::Tensor& tensor : flat.tensors) {
    wide |= tensor.shape.element_count() >= limit;
  }
  return wide;
}

// The value that changes nothing when aggregated.
ExprPtr Identity(Aggregation aggregation, DataType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto number = [type](int64_t value) {
    if (type == DataType::kBool) return sem::Bool(value != 0);
    if (IsFloat(type)) return sem::Float(static_cast<double>(value), type);
    return sem::Int(value, type);
  };
  switch (aggregation) {
    case Aggregation::kProduct:
      return number(1);
    case Aggregation::kMax:
      return IsFloat(type) ? sem::Float(-infinity, type) : number(MinInteger(type));
    case Aggregation::kMin:
      return IsFloat(type) ? sem::Float(infinity, type) : number(MaxInteger(type));
    default:
      return number(0);
  }
}

ScalarOp AggregationOp(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kProduct:
      return ScalarOp::kMul;
    case Aggregation::kMax:
      return ScalarOp::kMax;
    case Aggregation::kMin:
      return ScalarOp::kMin;
    default:
      return ScalarOp::kAdd;
  }
}

class KernelLowerer {
 public:
  KernelLowerer(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                const LowerOptions& options)
      : flat_(flat),
        plan_(plan),
        indices_(flat, options.force_64bit_indices || NeedsWideIndices(flat) ? DataType::kInt64
                                                                             : DataType::kInt32) {
    // An underscore keeps names from Tile apart from keywords, functions and parameters.
    std::set<std::string> taken;
    for (const poly::Index& index : flat.indices) {
      std::string name = absl::StrCat(index.name, "_");
      for (int n = 1; !taken.insert(name).second; ++n) name = absl::StrCat(index.name, "_", n);
      names_.push_back(std::move(name));
    }
  }

  sem::Kernel Lower(const std::string& name) {
    sem::Kernel kernel;
    kernel.name = name;
    kernel.comments = flat_.comments;
    kernel.comments.push_back(plan_.ToString(flat_));
    kernel.index_type = indices_.type();
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      kernel.parameters.push_back({absl::StrCat("out", o), flat_.outputs[o].shape.type, true});
    }
    for (size_t t = 0; t < flat_.tensors.size(); ++t) {
      kernel.parameters.push_back({absl::StrCat("in", t), flat_.tensors[t].shape.type, false});
    }
    const int64_t items = plan_.ItemCount(flat_);
    kernel.local_size[0] = plan_.threads;
    kernel.global_size[0] = (items + plan_.threads - 1) / plan_.threads * plan_.threads;
    kernel.body = Body(items);
    return kernel;
  }

 private:
  ExprPtr Number(int64_t value) const { return indices_.Number(value); }
  sem::Type IndexType() const { return {indices_.type(), 1}; }
  const std::string& IndexName(int i) const { return names_[i]; }

  StmtPtr Body(int64_t items) {
    const ExprPtr item = sem::Var("item", IndexType());
    std::vector<StmtPtr> statements = {sem::MakeDeclare(
        IndexType(), "item", sem::Work(sem::WorkId::kGlobal, 0, indices_.type()))};
    std::vector<StmtPtr> work = DecodeItem(item);
    work.push_back(OutputLoops(0));
    StmtPtr block = sem::MakeBlock(std::move(work));
    if (items % plan_.threads != 0) {
      block = sem::MakeIf(sem::Less(item, Number(items)), std::move(block));
    }
    statements.push_back(std::move(block));
    return sem::MakeBlock(std::move(statements));
  }

  // Declares where in each output index this work-item begins; the last index varies fastest.
  std::vector<StmtPtr> DecodeItem(const ExprPtr& item) {
    std::vector<StmtPtr> statements;
    begin_.assign(flat_.output_index_count, Number(0));
    int64_t below = 1;
    for (int i = flat_.output_index_count; i-- > 0;) {
      const int64_t tiles = plan_.TileCount(flat_, i);
      if (tiles <= 1) continue;
      ExprPtr position = sem::Div(item, Number(below));
      if (below * tiles < plan_.ItemCount(flat_)) position = sem::Mod(position, Number(tiles));
      const bool single = plan_.tile[i] == 1;
      const std::string name = single ? IndexName(i) : absl::StrCat(IndexName(i), "begin");
      statements.push_back(sem::MakeDeclare(IndexType(), name,
                                            sem::Mul(position, Number(plan_.tile[i]))));
      begin_[i] = sem::Var(name, IndexType());
      below *= tiles;
    }
    return statements;
  }

  // One past the last value of output index i in this work-item's tile.
  ExprPtr End(int i) const {
    const int64_t range = flat_.indices[i].range;
    const ExprPtr end = sem::Add(begin_[i], Number(plan_.tile[i]));
    if (range % plan_.tile[i] == 0) return end;
    return sem::Select(sem::Less(end, Number(range)), end, Number(range));
  }

  bool HasRegisterTile() const {
    return plan_.register_index >= 0 && plan_.tile[plan_.register_index] > 1;
  }

  StmtPtr OutputLoops(int i) {
    if (i == flat_.output_index_count) return Element();
    if (i == plan_.block_index) return OutputLoops(i + 1);
    if (i == plan_.register_index && HasRegisterTile()) {
      return plan_.lanes > 1 ? VectorTiles(i) : OutputLoops(i + 1);
    }
    if (plan_.tile[i] == 1 || flat_.indices[i].range <= 1) {
      indices_.Set(i, begin_[i]);
      return OutputLoops(i + 1);
    }
    indices_.Set(i, sem::Var(IndexName(i), IndexType()));
    return sem::MakeFor(IndexName(i), begin_[i], End(i), OutputLoops(i + 1));
  }

  // The tiles along the register index; the last one is drawn back so that it is whole, and
  // computes some elements again.
  StmtPtr VectorTiles(int i) {
    const int64_t range = flat_.indices[i].range;
    const int64_t tile = plan_.tile[i];
    if (range == tile) {
      begin_[i] = Number(0);
      return OutputLoops(i + 1);
    }
    const std::string step = absl::StrCat(IndexName(i), "step");
    const std::string name = absl::StrCat(IndexName(i), "begin");
    const ExprPtr at = sem::Var(step, IndexType());
    const ExprPtr last = Number(range - tile);
    const ExprPtr begin =
        range % tile == 0 ? at : sem::Select(sem::Less(at, last), at, last);
    begin_[i] = sem::Var(name, IndexType());
    return sem::MakeFor(step, Number(0), Number(range),
                        sem::MakeBlock({sem::MakeDeclare(IndexType(), name, begin),
                                        OutputLoops(i + 1)}),
                        tile);
  }

  // A reduction in vectors, then everything after it element by element.
  StmtPtr VectorElements() {
    auto begin_of = [&](int i) { return i < 0 ? nullptr : begin_[i]; };
    const VectorContext context = {flat_,
                                   plan_,
                                   indices_,
                                   begin_of(plan_.register_index),
                                   begin_of(plan_.block_index),
                                   [this](int i) -> const std::string& { return names_[i]; }};
    std::vector<StmtPtr> statements = VectorReduction(context);
    ExprPtr position = Number(0);
    if (HasRegisterTile()) {
      indices_.Set(plan_.register_index, sem::Add(begin_[plan_.register_index], Lane()));
      position = Lane();
    }
    if (plan_.block_index >= 0) {
      const ExprPtr row = sem::Var("row", IndexType());
      const int64_t width = HasRegisterTile() ? plan_.tile[plan_.register_index] : 1;
      indices_.Set(plan_.block_index, sem::Add(begin_[plan_.block_index], row));
      position = sem::Add(sem::Mul(row, Number(width)), position);
    }
    StmtPtr store = StoreOutputs(position);
    if (HasRegisterTile()) {
      store = sem::MakeFor("lane", Number(0), Number(plan_.tile[plan_.register_index]),
                           std::move(store));
    }
    if (plan_.block_index >= 0) {
      store = sem::MakeFor("row", Number(0), Number(plan_.tile[plan_.block_index]),
                           std::move(store));
    }
    statements.push_back(std::move(store));
    return sem::MakeBlock(std::move(statements));
  }

  // Everything for one output element, or for the register tile of them.
  StmtPtr Element() {
    if (!flat_.is_reduction()) return StoreOutputs(nullptr);
    if (plan_.lanes > 1) return VectorElements();
    const bool tiled = HasRegisterTile();
    const int64_t tile = tiled ? plan_.tile[plan_.register_index] : 1;
    const sem::Type type = {flat_.accumulator_type, 1};
    const sem::Type flag_type = {DataType::kInt32, 1};
    const ExprPtr identity = Identity(flat_.aggregation, flat_.accumulator_type);
    std::vector<StmtPtr> statements;
    if (tiled) {
      statements.push_back(sem::MakeArray(type, "acc", tile));
      if (TracksHits()) statements.push_back(sem::MakeArray(flag_type, "hit", tile));
      std::vector<StmtPtr> clear = {
          sem::MakeStore("acc", flat_.accumulator_type, Lane(), identity)};
      if (TracksHits()) {
        clear.push_back(sem::MakeStore("hit", DataType::kInt32, Lane(), sem::Int(0)));
      }
      statements.push_back(sem::MakeFor("lane", Number(0), Number(tile),
                                        sem::MakeBlock(std::move(clear)), 1, true));
    } else {
      statements.push_back(sem::MakeDeclare(type, "acc", identity, true));
      if (TracksHits()) statements.push_back(sem::MakeDeclare(flag_type, "hit", sem::Int(0), true));
    }
    statements.push_back(ReductionLoops(flat_.output_index_count));
    statements.push_back(OverLanes([&](ExprPtr lane) { return StoreOutputs(lane); }));
    return sem::MakeBlock(std::move(statements));
  }

  // Whether an output element had any valid point must be known where the aggregation of none is
  // not the value it is to have.
  bool TracksHits() const {
    return flat_.may_be_empty &&
           (flat_.aggregation != Aggregation::kSum || flat_.empty_value != nullptr);
  }

  ExprPtr Lane() const { return sem::Var("lane", IndexType()); }

  // Runs `element` for every value of the register index (once, with null, without a tile).
  template <class F>
  StmtPtr OverLanes(F element) {
    if (!HasRegisterTile()) return element(nullptr);
    const int i = plan_.register_index;
    indices_.Set(i, sem::Add(begin_[i], Lane()));
    const int64_t tile = plan_.tile[i];
    ExprPtr end = Number(tile);
    if (flat_.indices[i].range % tile != 0) {
      const ExprPtr left = sem::Sub(Number(flat_.indices[i].range), begin_[i]);
      end = sem::Select(sem::Less(left, end), left, end);
    }
    const bool whole = flat_.indices[i].range % tile == 0;
    return sem::MakeFor("lane", Number(0), end, element(Lane()), 1, whole);
  }

  // The loops over the reduced indices from `i` on, each constraint checked as soon as the indices
  // it needs are known.
  StmtPtr ReductionLoops(int i) {
    StmtPtr inner;
    if (i == static_cast<int>(flat_.indices.size())) {
      inner = OverLanes([&](ExprPtr lane) { return Accumulate(lane); });
    } else if (flat_.indices[i].range == 1) {
      indices_.Set(i, Number(0));
      inner = ReductionLoops(i + 1);
    } else {
      indices_.Set(i, sem::Var(IndexName(i), IndexType()));
      inner = sem::MakeFor(IndexName(i), Number(0), Number(flat_.indices[i].range),
                           ReductionLoops(i + 1));
    }
    return Guarded(ConstraintsKnownAt(i - 1), std::move(inner));
  }

  // Constraints whose last needed index is `i`; those of outer indices alone belong to the level
  // before the first reduced index. Those on the register index are left to Accumulate.
  std::vector<math::RangeConstraint> ConstraintsKnownAt(int i) const {
    std::vector<math::RangeConstraint> known;
    for (const math::RangeConstraint& constraint : flat_.constraints) {
      if (NeedsLane(constraint)) continue;
      int last = flat_.output_index_count - 1;
      for (int j = flat_.output_index_count; j < static_cast<int>(flat_.indices.size()); ++j) {
        if (!constraint.poly.coefficient(j).is_zero()) last = j;
      }
      if (last == i) known.push_back(constraint);
    }
    return known;
  }

  bool NeedsLane(const math::RangeConstraint& constraint) const {
    return HasRegisterTile() && !constraint.poly.coefficient(plan_.register_index).is_zero();
  }

  StmtPtr Guarded(const std::vector<math::RangeConstraint>& constraints, StmtPtr inner) const {
    ExprPtr all;
    for (const math::RangeConstraint& constraint : constraints) {
      ExprPtr condition = indices_.Condition(constraint);
      if (condition == nullptr) continue;
      all = all == nullptr ? condition : sem::And(all, condition);
    }
    return all == nullptr ? inner : sem::MakeIf(all, std::move(inner));
  }

  StmtPtr Accumulate(const ExprPtr& lane) {
    std::vector<StmtPtr> statements;
    ExprEmitter emitter(flat_, indices_, "t", &statements);
    emitter.Count(flat_.body);
    const sem::Type type = {flat_.accumulator_type, 1};
    const ExprPtr old = lane == nullptr
                            ? sem::Var("acc", type)
                            : sem::LoadFrom("acc", flat_.accumulator_type, lane);
    statements.push_back(SetAccumulator(lane, "acc", flat_.accumulator_type,
                                        Aggregate(old, emitter.Emit(flat_.body))));
    if (TracksHits()) {
      statements.push_back(SetAccumulator(lane, "hit", DataType::kInt32, sem::Int(1)));
    }
    StmtPtr block = sem::MakeBlock(std::move(statements));
    std::vector<math::RangeConstraint> lane_constraints;
    for (const math::RangeConstraint& constraint : flat_.constraints) {
      if (NeedsLane(constraint)) lane_constraints.push_back(constraint);
    }
    return Guarded(lane_constraints, std::move(block));
  }

  ExprPtr Aggregate(const ExprPtr& old, const ExprPtr& value) const {
    const auto* apply = std::get_if<sem::Apply>(&value->node);
    if (flat_.aggregation == Aggregation::kSum && IsFloat(flat_.accumulator_type) &&
        apply != nullptr && apply->op == ScalarOp::kMul) {
      return sem::MulAdd(apply->operands[0], apply->operands[1], old);
    }
    return sem::ApplyOp(AggregationOp(flat_.aggregation), {old, value});
  }

  static StmtPtr SetAccumulator(const ExprPtr& lane, const std::string& name, DataType type,
                                ExprPtr value) {
    if (lane == nullptr) return sem::MakeAssign(name, std::move(value));
    return sem::MakeStore(name, type, lane, std::move(value));
  }

  StmtPtr StoreOutputs(const ExprPtr& lane) {
    std::vector<StmtPtr> statements;
    ExprEmitter emitter(flat_, indices_, "t", &statements);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    if (flat_.is_reduction()) emitter.SetAccumulator(Result(lane, &emitter, &statements));
    const ExprPtr index = indices_.Emit(poly::Flatten(flat_.output_coords, flat_.output_dims,
                                                      static_cast<int>(flat_.indices.size())));
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      stores.push_back(sem::MakeStore(absl::StrCat("out", o), flat_.outputs[o].shape.type, index,
                                      emitter.Emit(flat_.outputs[o].expr)));
    }
    statements.insert(statements.end(), stores.begin(), stores.end());
    return Guarded(flat_.store_guard, sem::MakeBlock(std::move(statements)));
  }

  // The aggregated value, with that of elements without a valid point put in.
  ExprPtr Result(const ExprPtr& lane, ExprEmitter* emitter, std::vector<StmtPtr>* statements) {
    const sem::Type type = {flat_.accumulator_type, 1};
    auto variable = [&](const std::string& name, DataType stored) {
      return lane == nullptr ? sem::Var(name, {stored, 1}) : sem::LoadFrom(name, stored, lane);
    };
    ExprPtr value = variable("acc", flat_.accumulator_type);
    if (TracksHits()) {
      ExprPtr empty;
      if (flat_.empty_value != nullptr) {
        emitter->Count(flat_.empty_value);
        empty = emitter->Emit(flat_.empty_value);
      } else {
        empty = Identity(Aggregation::kSum, flat_.accumulator_type);
      }
      const ExprPtr hit = sem::ApplyOp(ScalarOp::kNotEqual,
                                       {variable("hit", DataType::kInt32), sem::Int(0)});
      value = sem::Select(hit, value, empty);
    }
    statements->push_back(sem::MakeDeclare(type, "result", value));
    return sem::Var("result", type);
  }

  const poly::FlatContraction& flat_;
  const plan::KernelPlan& plan_;
  IndexEmitter indices_;
  std::vector<std::string> names_;
  std::vector<ExprPtr> begin_;  // where the work-item's tile begins, per output index
};

}  // namespace

sem::Kernel LowerKernel(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                        const std::string& name, const LowerOptions& options) {
  return KernelLowerer(flat, plan, options).Lower(name);
}

}  // namespace tartan::lower
