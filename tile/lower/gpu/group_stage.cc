// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/group_stage.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/plan/gpu/bank_padding.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

GroupStage::GroupStage(const GroupContext& context, const plan::StagedAccess& access)
    : context_(context), access_(access), layout_(access.layout) {
  const poly::FlatContraction& kernel = context.flat();
  const poly::TensorAccess& read = kernel.accesses[access.access];
  const TensorShape& shape = kernel.tensors[read.tensor].shape;
  flat_ = poly::Flatten(read.coords, shape.dims, context.index_count());
  stored_ = shape.type;
  type_ = ComputeType(stored_);
  count_ = shape.element_count();
  const std::vector<math::RangeConstraint> all =
      plan::TileConstraints(kernel, context.plan().Tile());
  for (int number : access.absorbed) constraints_.push_back(all[number]);
  lane_dim_ = layout_.VectorDim();
  if (lane_dim_ >= 0) lanes_ = static_cast<int>(layout_.dims[lane_dim_].vector);
  stores_vectors_ = layout_.StoresVectors();
  padding_ = plan::BankPadding(kernel, context.plan(), access);
}

std::string GroupStage::Name(const char* what) const {
  return absl::StrCat("in", access_.access, "_", what);
}

std::string GroupStage::Tensor() const {
  return absl::StrCat("in", context_.flat().accesses[access_.access].tensor);
}

std::string GroupStage::RoundName(size_t dim) const { return absl::StrCat(Name("round"), dim); }

ExprPtr GroupStage::Round(size_t dim) const {
  return layout_.dims[dim].Rounds() > 1 ? context_.Var(RoundName(dim)) : context_.Number(0);
}

StmtPtr GroupStage::DeclareTile() const {
  if (access_.is_there) return loop::MakeBlock({});
  return loop::MakeArray({type_, 1}, Name("tile"),
                         context_.plan().tile_buffer_count() * layout_.size, loop::Space::kLocal);
}

std::vector<StmtPtr> GroupStage::DeclareShare() const {
  std::vector<StmtPtr> statements;
  if (access_.is_there) return {DeclareAt()};
  ExprPtr from = context_.Number(0);
  ExprPtr to = context_.Number(0);
  int64_t below = 1;
  for (size_t d = 0; d < layout_.dims.size(); ++d) {
    const plan::TileDim& dim = layout_.dims[d];
    if (dim.threads == 1) continue;
    const std::string name = absl::StrCat(Name("item"), d);
    const ExprPtr digit =
        context_.Digit(context_.Var("item"), below, dim.threads, context_.plan().threads());
    statements.push_back(loop::MakeDeclare(context_.IndexType(), name, digit));
    const ExprPtr item = context_.Var(name);
    from = loop::Add(from, loop::Mul(item, context_.Number(dim.vector * dim.global_stride)));
    to = loop::Add(to, loop::Mul(item, context_.Number(VectorStride(d))));
    below *= dim.threads;
  }
  statements.push_back(loop::MakeDeclare(context_.IndexType(), Name("from"), from));
  statements.push_back(loop::MakeDeclare(context_.IndexType(), Name("to"), to));
  statements.push_back(DeclareAt());
  return statements;
}

// Declares the offset in the tile at which the work-item reads.
StmtPtr GroupStage::DeclareAt() const {
  ExprPtr at = context_.Number(0);
  for (const plan::TileDim& dim : layout_.dims) {
    at = loop::Add(at, context_.Number(dim.origin * dim.local_stride));
  }
  for (int i = 0; i < context_.index_count(); ++i) {
    at = loop::Add(at, loop::Mul(context_.Thread(i), context_.Number(layout_.LocalStride(i))));
  }
  return loop::MakeDeclare(context_.IndexType(), Name("at"), at);
}

// Elements in the tile from one loaded vector along a merged index to the next.
int64_t GroupStage::VectorStride(size_t d) const {
  const plan::TileDim& dim = layout_.dims[d];
  return dim.vector * dim.local_stride + (static_cast<int>(d) == lane_dim_ ? padding_ : 0);
}

// The current round's position along a merged index.
ExprPtr GroupStage::Position(size_t d) const {
  const plan::TileDim& dim = layout_.dims[d];
  const ExprPtr item =
      dim.threads == 1 ? context_.Number(0) : context_.Var(absl::StrCat(Name("item"), d));
  return loop::Mul(loop::Add(loop::Mul(Round(d), context_.Number(dim.threads)), item),
                   context_.Number(dim.vector));
}

ExprPtr GroupStage::From(const std::string& suffix) const {
  int64_t constant = flat_.offset;
  for (const plan::TileDim& dim : layout_.dims) constant -= dim.origin * dim.global_stride;
  ExprPtr from = context_.Number(constant);
  for (int i = 0; i < context_.index_count(); ++i) {
    from = loop::Add(from, loop::Mul(context_.Base(i, suffix), context_.Number(flat_.strides[i])));
  }
  return loop::Add(from, context_.Var(Name("from")));
}

// Keeps addresses of edge tiles inside the tensor; the elements loaded there are not used.
ExprPtr GroupStage::Clamped(ExprPtr index) const {
  int64_t least = flat_.offset;
  int64_t greatest = flat_.offset;
  for (int i = 0; i < context_.index_count(); ++i) {
    const int64_t reach =
        flat_.strides[i] * (context_.padded().indices[i].range - context_.split(i).tile());
    (reach < 0 ? least : greatest) += reach;
  }
  for (const plan::TileDim& dim : layout_.dims) {
    const int64_t last = (dim.range - 1) / dim.vector * dim.vector;
    least -= dim.origin * dim.global_stride;
    greatest += (last - dim.origin) * dim.global_stride;
  }
  if (least < 0) index = loop::Max(std::move(index), context_.Number(0));
  if (greatest > count_ - lanes_)
    index = loop::Min(std::move(index), context_.Number(count_ - lanes_));
  return index;
}

// The condition for loading an element rather than filling it; null if it always holds. It is the
// same for all lanes.
ExprPtr GroupStage::Valid(const math::RangeConstraint& constraint,
                          const std::string& suffix) const {
  int64_t constant = constraint.poly.constant.numerator();
  int64_t least = 0;
  int64_t greatest = 0;
  ExprPtr value = context_.Number(0);
  for (int i = 0; i < context_.index_count(); ++i) {
    const int64_t coefficient = constraint.poly.coefficient(i).numerator();
    value = loop::Add(value, loop::Mul(context_.Base(i, suffix), context_.Number(coefficient)));
    const int64_t reach =
        coefficient * (context_.padded().indices[i].range - context_.split(i).tile());
    (reach < 0 ? least : greatest) += reach;
  }
  for (size_t d = 0; d < layout_.dims.size(); ++d) {
    const plan::TileDim& dim = layout_.dims[d];
    const plan::TileDim::Member& member = dim.members.front();  // with scale 1 or -1
    const int64_t coefficient =
        constraint.poly.coefficient(member.index).numerator() * member.scale;
    if (coefficient == 0) continue;
    value = loop::Add(value, loop::Mul(Position(d), context_.Number(coefficient)));
    constant -= dim.origin * coefficient;
    const int64_t reach = coefficient * (dim.range - 1);
    (reach < 0 ? least : greatest) += reach;
  }
  value = loop::Add(value, context_.Number(constant));
  ExprPtr condition;
  if (least + constant < 0) {
    condition = loop::ApplyOp(ScalarOp::kGreaterEqual, {value, context_.Number(0)});
  }
  if (greatest + constant >= constraint.range) {
    const ExprPtr below = loop::Less(value, context_.Number(constraint.range));
    condition = condition == nullptr ? below : loop::And(condition, below);
  }
  return condition;
}

template <class Body>
StmtPtr GroupStage::ForEachElement(const std::string& suffix, bool fills_tile, Body body) const {
  Element element;
  element.from = suffix == "put" ? nullptr : From(suffix);
  element.to = fills_tile ? context_.Var(Name("to")) : nullptr;
  element.slot = context_.Number(0);
  auto both = [](const ExprPtr& a, const ExprPtr& b) { return a == nullptr ? b : loop::And(a, b); };
  int64_t used = 1;
  for (size_t d = 0; d < layout_.dims.size(); ++d) {
    const plan::TileDim& dim = layout_.dims[d];
    const int64_t step = dim.threads * dim.vector;
    if (element.from != nullptr) {
      element.from =
          loop::Add(element.from, loop::Mul(Round(d), context_.Number(step * dim.global_stride)));
    }
    if (element.to != nullptr) {
      element.to = loop::Add(element.to,
                             loop::Mul(Round(d), context_.Number(dim.threads * VectorStride(d))));
    }
    element.slot = loop::Add(loop::Mul(element.slot, context_.Number(dim.Rounds())), Round(d));
    const int64_t whole = (dim.range + dim.vector - 1) / dim.vector * dim.vector;
    if (dim.Rounds() * step > whole) {
      element.within = both(element.within, loop::Less(Position(d), context_.Number(dim.range)));
    }
    used *= dim.threads;
  }
  if (used < context_.plan().threads()) {
    element.within = both(element.within, loop::Less(context_.Var("item"), context_.Number(used)));
  }
  if (element.from != nullptr) {
    const ExprPtr from = element.from;
    element.from = Clamped(from);
    if (element.from != from) element.inside = loop::Equals(element.from, from);
    for (const math::RangeConstraint& constraint : constraints_) {
      const ExprPtr valid = Valid(constraint, suffix);
      if (valid != nullptr) element.valid = both(element.valid, valid);
    }
  }
  StmtPtr statement = body(element);
  for (size_t d = layout_.dims.size(); d-- > 0;) {
    if (layout_.dims[d].Rounds() == 1) continue;
    statement =
        loop::MakeFor(RoundName(d), context_.Number(0), context_.Number(layout_.dims[d].Rounds()),
                      std::move(statement), 1, true);
  }
  return statement;
}

ExprPtr GroupStage::Loaded(const Element& element, const std::string& suffix,
                           std::vector<StmtPtr>* statements) const {
  ExprPtr value = loop::LoadFrom(Tensor(), stored_, element.from, lanes_, lanes_ > 1);
  if (element.valid == nullptr) return value;
  // Loads unconditionally: a compiler would turn a conditional load into a branch, and wait in it.
  if (context_.loads_first()) {
    const std::string name = absl::StrCat(Name("read"), suffix);
    const loop::Type type = value->type;
    statements->push_back(loop::MakeDeclare(type, name, std::move(value)));
    value = loop::Var(name, type);
  }
  const double fill = access_.fill.value_or(0);
  const ExprPtr filled =
      IsFloat(type_) ? loop::Float(fill, type_) : loop::Int(static_cast<int64_t>(fill), type_);
  return loop::Select(element.valid, value, loop::Splat(filled, lanes_));
}

StmtPtr GroupStage::StoreToTile(const ExprPtr& to, const ExprPtr& value,
                                const std::string& suffix) const {
  if (lanes_ == 1) return loop::MakeStore(Name("tile"), type_, to, value);
  const int64_t stride = layout_.dims[lane_dim_].local_stride;
  if (stores_vectors_) return loop::MakeStore(Name("tile"), type_, to, value, true);
  const std::string name = absl::StrCat(Name("lanes"), suffix);
  std::vector<StmtPtr> stores = {loop::MakeDeclare({type_, lanes_}, name, value)};
  for (int lane = 0; lane < lanes_; ++lane) {
    stores.push_back(loop::MakeStore(Name("tile"), type_,
                                     loop::Add(to, context_.Number(lane * stride)),
                                     loop::LaneOf(loop::Var(name, {type_, lanes_}), lane)));
  }
  return loop::MakeBlock(std::move(stores));
}

StmtPtr GroupStage::Copy(const std::string& suffix) const {
  if (access_.is_there) return loop::MakeBlock({});
  return ForEachElement(suffix, true, [&](const Element& element) {
    std::vector<StmtPtr> body;
    const ExprPtr value = Loaded(element, suffix, &body);
    body.push_back(StoreToTile(element.to, value, suffix));
    StmtPtr copy = loop::MakeBlock(std::move(body));
    return element.within == nullptr ? copy : loop::MakeIf(element.within, std::move(copy));
  });
}

ExprPtr GroupStage::SetBegin(const ExprPtr& step) const {
  const ExprPtr set = loop::Mod(step, context_.Number(context_.plan().tile_buffer_count()));
  return loop::Mul(set, context_.Number(layout_.size));
}

StmtPtr GroupStage::StartAsyncCopy(const ExprPtr& step, const std::string& suffix) const {
  const ExprPtr begin = SetBegin(step);
  return ForEachElement(suffix, true, [&](const Element& element) {
    // Elements that are filled, or outside the tensor, are zeroed by copying 0 elements. If all
    // work-items copied one address instead, the copies would serialize, because they bypass the L1
    // cache.
    ExprPtr count;
    for (const ExprPtr& condition : {element.valid, element.inside}) {
      if (condition == nullptr) continue;
      count = loop::Select(condition, count == nullptr ? context_.Number(lanes_) : count,
                           context_.Number(0));
    }
    StmtPtr copy = loop::MakeCopyVector(
        loop::LoadFrom(Name("tile"), type_, loop::Add(begin, element.to), lanes_, true),
        loop::LoadFrom(Tensor(), stored_, element.from, lanes_, true), std::move(count));
    return element.within == nullptr ? copy : loop::MakeIf(element.within, std::move(copy));
  });
}

StmtPtr GroupStage::DeclareNow(const ExprPtr& step) const {
  return loop::MakeDeclare(context_.IndexType(), Name("now"),
                           loop::Add(SetBegin(step), context_.Var(Name("at"))));
}

StmtPtr GroupStage::DeclareNext() const {
  if (access_.is_there) return loop::MakeBlock({});
  int64_t slots = 1;
  for (const plan::TileDim& dim : layout_.dims) slots *= dim.Rounds();
  return loop::MakeArray({type_, lanes_}, Name("next"), slots);
}

StmtPtr GroupStage::Fetch(const std::string& suffix) const {
  if (access_.is_there) return loop::MakeBlock({});
  return ForEachElement(suffix, false, [&](const Element& element) {
    std::vector<StmtPtr> body;
    const ExprPtr value = Loaded(element, suffix, &body);
    body.push_back(loop::MakeStore(Name("next"), type_, element.slot, value));
    StmtPtr fetch = loop::MakeBlock(std::move(body));
    return element.within == nullptr ? fetch : loop::MakeIf(element.within, std::move(fetch));
  });
}

StmtPtr GroupStage::Put() const {
  if (access_.is_there) return loop::MakeBlock({});
  return ForEachElement("put", true, [&](const Element& element) {
    const ExprPtr value = loop::LoadFrom(Name("next"), type_, element.slot, lanes_);
    StmtPtr store = StoreToTile(element.to, value, "");
    return element.within == nullptr ? store : loop::MakeIf(element.within, std::move(store));
  });
}

ExprPtr GroupStage::At() const {
  return context_.Var(Name(context_.has_tile_sets() ? "now" : "at"));
}

ExprPtr GroupStage::Read(int lanes) const { return ReadFrom(At(), lanes); }

ExprPtr GroupStage::ReadAt(const ExprPtr& distance) const {
  return ReadFrom(loop::Add(distance, At()), 1);
}

ExprPtr GroupStage::ReadFrom(ExprPtr index, int lanes) const {
  for (int i = 0; i < context_.index_count(); ++i) {
    const int64_t stride = layout_.LocalStride(i);
    if (stride == 0) continue;
    index = loop::Add(index, loop::Mul(context_.Offset(i), context_.Number(stride)));
    if (padding_ > 0 && layout_.DimOf(i).first == lane_dim_) {
      const ExprPtr vectors = loop::Div(context_.Offset(i), context_.Number(lanes_));
      index = loop::Add(index, loop::Mul(vectors, context_.Number(padding_)));
    }
    // The operand is read in place, so that the elements of all steps are available.
    if (access_.is_there && !context_.is_output(i)) {
      index = loop::Add(index, loop::Mul(context_.Base(i), context_.Number(stride)));
    }
  }
  const std::string tile = access_.is_there ? Tensor() : Name("tile");
  return loop::LoadFrom(tile, type_, index, lanes, lanes > 1);
}

}  // namespace tartan::lower
