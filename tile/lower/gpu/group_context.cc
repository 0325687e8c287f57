// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/group_context.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

GroupContext::GroupContext(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                           DataType index_type, const GroupOrigins* origins, bool loads_first)
    : IndexBuilder(index_type),
      flat_(flat),
      plan_(plan),
      origins_(origins),
      loads_first_(loads_first),
      padded_(flat) {
  std::set<std::string> taken;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    const int64_t tile = plan.splits[i].tile();
    poly::Index& index = padded_.indices[i];
    index.range = (index.range + tile - 1) / tile * tile;
    std::string name = index.name;
    for (int n = 1; !taken.insert(name).second; ++n) name = absl::StrCat(index.name, n);
    names_.push_back(std::move(name));
    own_.push_back(Number(0));
  }
}

std::vector<math::RangeConstraint> GroupContext::OutputRanges() const {
  std::vector<math::RangeConstraint> ranges;
  for (int i = 0; i < output_count(); ++i) {
    if (IsRagged(i)) ranges.push_back({math::Affine::Variable(i), flat_.indices[i].range});
  }
  return ranges;
}

int GroupContext::lanes() const {
  return plan_.lane_index < 0 ? 1 : static_cast<int>(split(plan_.lane_index).vector);
}

ExprPtr GroupContext::Digit(const ExprPtr& number, int64_t below, int64_t count,
                            int64_t total) const {
  if (count == 1) return Number(0);
  const ExprPtr digit = loop::Div(number, Number(below));
  return below * count < total ? loop::Mod(digit, Number(count)) : digit;
}

std::vector<StmtPtr> GroupContext::DeclareGroup() const {
  std::vector<StmtPtr> statements;
  statements.push_back(
      loop::MakeDeclare(IndexType(), "item", loop::Work(loop::WorkId::kLocal, 0, index_type_)));
  std::vector<ExprPtr> threads(flat_.indices.size(), Number(0));
  std::vector<int64_t> scale(flat_.indices.size(), 1);
  int64_t below = 1;
  for (const plan::ThreadPart& part : plan_.thread_parts) {
    const ExprPtr digit = Digit(Var("item"), below, part.count, plan_.threads());
    threads[part.index] =
        loop::Add(threads[part.index], loop::Mul(digit, Number(scale[part.index])));
    scale[part.index] *= part.count;
    below *= part.count;
  }
  for (int i = 0; i < index_count(); ++i) {
    if (split(i).threads == 1) continue;
    statements.push_back(loop::MakeDeclare(IndexType(), absl::StrCat(names_[i], "_thread"),
                                           loop::Mul(threads[i], Number(split(i).vector))));
  }
  if (origins_ == nullptr) {
    for (StmtPtr& statement : DeclareBases()) statements.push_back(std::move(statement));
  }
  return statements;
}

std::vector<StmtPtr> GroupContext::DeclareBases() const {
  std::vector<StmtPtr> statements;
  const int64_t groups = plan_.GroupCount(flat_);
  if (groups > 1) {
    statements.push_back(
        loop::MakeDeclare(IndexType(), "group", loop::Work(loop::WorkId::kGroup, 0, index_type_)));
  }
  int64_t below = 1;
  for (int i : plan_.grid_order) {
    if (TileCount(i) == 1) continue;
    statements.push_back(loop::MakeDeclare(
        IndexType(), absl::StrCat(names_[i], "_base"),
        loop::Mul(Digit(Var("group"), below, TileCount(i), groups), Number(split(i).tile()))));
    below *= TileCount(i);
  }
  return statements;
}

std::vector<StmtPtr> GroupContext::DeclareStep(const ExprPtr& step,
                                               const std::string& suffix) const {
  std::vector<StmtPtr> statements;
  const int64_t steps = plan_.StepCount(flat_);
  int64_t below = 1;
  for (int i : plan_.step_order) {
    if (TileCount(i) == 1) continue;
    statements.push_back(loop::MakeDeclare(
        IndexType(), absl::StrCat(names_[i], "_base", suffix),
        loop::Mul(Digit(step, below, TileCount(i), steps), Number(split(i).tile()))));
    below *= TileCount(i);
  }
  return statements;
}

ExprPtr GroupContext::Base(int i, const std::string& suffix) const {
  if (origins_ != nullptr) {
    const auto origin = origins_->find(i);
    if (origin != origins_->end()) return origin->second;
  }
  if (TileCount(i) <= 1) return Number(0);
  return Var(absl::StrCat(names_[i], "_base", is_output(i) ? "" : suffix));
}

ExprPtr GroupContext::Thread(int i) const {
  return split(i).threads == 1 ? Number(0) : Var(absl::StrCat(names_[i], "_thread"));
}

ExprPtr GroupContext::PartialThread() const {
  ExprPtr position = Number(0);
  int64_t below = 1;
  int64_t scale = 1;
  for (const plan::ThreadPart& part : plan_.thread_parts) {
    if (!is_output(part.index)) {
      const ExprPtr digit = Digit(Var("item"), below, part.count, plan_.threads());
      position = loop::Add(position, loop::Mul(digit, Number(scale)));
      scale *= part.count;
    }
    below *= part.count;
  }
  return position;
}

ExprPtr GroupContext::Offset(int i) const {
  const plan::IndexSplit& s = split(i);
  if (i == plan_.lane_index) return loop::Mul(own_[i], Number(s.threads * s.vector));
  if (s.vector == 1) return loop::Mul(own_[i], Number(s.threads));
  if (s.threads == 1) return own_[i];
  return loop::Add(loop::Mul(loop::Div(own_[i], Number(s.vector)), Number(s.threads * s.vector)),
                   loop::Mod(own_[i], Number(s.vector)));
}

IndexEmitter GroupContext::Indices() const {
  IndexEmitter indices(padded_, index_type_);
  for (int i = 0; i < index_count(); ++i) {
    indices.Set(i, loop::Add(loop::Add(Base(i), Thread(i)), Offset(i)));
  }
  return indices;
}

StmtPtr GroupContext::ForOwn(const std::vector<int>& indices,
                             const std::function<StmtPtr()>& body) {
  for (int i : indices) {
    own_[i] = OwnCount(i) > 1 ? Var(absl::StrCat(names_[i], "_own")) : Number(0);
  }
  StmtPtr statement = body();
  for (size_t at = indices.size(); at-- > 0;) {
    const int i = indices[at];
    own_[i] = Number(0);
    if (OwnCount(i) == 1) continue;
    statement = loop::MakeFor(absl::StrCat(names_[i], "_own"), Number(0), Number(OwnCount(i)),
                              std::move(statement), 1, true);
  }
  return statement;
}

}  // namespace tartan::lower
