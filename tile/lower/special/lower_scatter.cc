// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/special/lower_scatter.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/special/lower_sort.h"
#include "tile/plan/machine.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Common form of all scatters: `count` updates of `slice` consecutive elements each. Update u
// changes slice target(u) of the result. A line is a sequence of updates that shares no target with
// others.
struct Updates {
  int operand = 0;  // operand with the updates, slice after slice unless they are elements of lines
  ir::ScatterMode mode = ir::ScatterMode::kAdd;
  int64_t count = 1;
  int64_t slice = 1;
  int64_t targets = 1;
  int64_t lines = 1;
  int64_t line_stride = 1;  // between updates of a line
};

// The target slice of an update.
struct Target {
  std::vector<StmtPtr> statements;  // must precede `number`
  ExprPtr number;
  ExprPtr is_within;  // whether the target exists; null: always
};

class Scatterer : IndexBuilder {
 public:
  explicit Scatterer(SpecialContext* context)
      : IndexBuilder(context->index_type()),
        context_(*context),
        special_(context->special()),
        updates_(FindUpdates()) {}

  void Scatter() {
    constexpr int64_t kFewUpdates = 16;
    const int64_t line = updates_.count / updates_.lines;
    const int64_t wide = context_.is_cpu() ? 4 * context_.settings().compute_units : 4096;
    if (updates_.lines > 1 && (updates_.lines >= wide || line <= kFewUpdates)) {
      ByLine();
    } else if (context_.is_cpu()) {
      ByPart();
    } else if (updates_.count <= kFewUpdates || updates_.slice >= 4 * wide) {
      ByColumn();
    } else {
      ByTarget();
    }
  }

 private:
  ExprPtr Size(const std::string& role, int64_t value) const { return context_.Size(role, value); }
  // The stride of dimension `d`. Elements along the last dimension are adjacent at every size.
  ExprPtr Stride(const std::string& role, const std::vector<int64_t>& dims, size_t d) const {
    if (d + 1 == dims.size()) return Number(1);
    return Size(absl::StrCat(role, d), RowMajorStrides(dims)[d]);
  }

  Updates FindUpdates() const {
    Updates updates;
    const std::vector<int64_t>& dims = context_.operand(1).dims;
    switch (special_.kind) {
      case ir::SpecialKind::kScatter:
        updates.operand = 0;
        updates.count = context_.operand(1).element_count();
        updates.targets = context_.result().dims[0];
        break;
      case ir::SpecialKind::kScatterElements: {
        updates.operand = 2;
        updates.mode = static_cast<ir::ScatterMode>(special_.params[1]);
        updates.count = context_.operand(2).element_count();
        updates.targets = context_.result().element_count();
        updates.lines = updates.count / dims[special_.params[0]];
        updates.line_stride = RowMajorStrides(dims)[special_.params[0]];
        break;
      }
      default: {
        updates.operand = 2;
        updates.mode = static_cast<ir::ScatterMode>(special_.params[0]);
        updates.count = 1;
        for (size_t d = 0; d + 1 < dims.size(); ++d) updates.count *= dims[d];
        break;
      }
    }
    updates.slice = context_.operand(updates.operand).element_count() / updates.count;
    if (special_.kind == ir::SpecialKind::kScatterNd) {
      updates.targets = context_.result().element_count() / updates.slice;
    }
    return updates;
  }

  // Declares `name` as the index `raw`, in 0 … size - 1; negative ones count from the end, -1 means
  // out of range. The check uses the tensor's type: truncation to 32 bits could make it valid.
  void DeclarePosition(const std::string& name, const ExprPtr& raw, int64_t size,
                       std::vector<StmtPtr>* statements) const {
    const DataType index_type = index_type_;
    const DataType type = raw->type.element;
    const bool is_wide = ByteWidth(type) > ByteWidth(index_type) ||
                         (IsUnsignedInteger(type) && ByteWidth(type) == ByteWidth(index_type));
    const DataType compared = is_wide ? DataType::kInt64 : index_type;
    const ExprPtr limit = loop::Cast(Size(absl::StrCat("size of ", name), size), compared);
    const ExprPtr zero = loop::Int(0, compared);
    const std::string given = absl::StrCat(name, "_given");
    statements->push_back(
        loop::MakeDeclare({compared, 1}, given, loop::Cast(raw, compared), /*is_mutable=*/false));
    const ExprPtr index = loop::Var(given, {compared, 1});
    const ExprPtr within =
        loop::And(loop::LessEqual(loop::Sub(zero, limit), index), loop::Less(index, limit));
    const ExprPtr position = loop::Select(loop::Less(index, zero), loop::Add(index, limit), index);
    statements->push_back(Declare(
        name, loop::Cast(loop::Select(within, position, loop::Int(-1, compared)), index_type)));
  }

  ExprPtr IsWithin(const ExprPtr& position) const { return loop::LessEqual(Number(0), position); }

  // The target of update number `update`. `across` is the part of an element's address that is
  // constant in its line; null: compute it.
  Target TargetOf(const ExprPtr& update, const ExprPtr& across = nullptr) const {
    switch (special_.kind) {
      case ir::SpecialKind::kScatter:
        return TargetOfRow(update);
      case ir::SpecialKind::kScatterElements:
        return TargetOfElement(update, across == nullptr ? AcrossLines(update) : across);
      default:
        return TargetOfEntries(update);
    }
  }

  Target TargetOfRow(const ExprPtr& update) const {
    Target target;
    DeclarePosition("row", context_.Load(1, update), updates_.targets, &target.statements);
    target.number = Var("row");
    target.is_within = IsWithin(Var("row"));
    return target;
  }

  // The address of an element in the result without its coordinate along the axis.
  ExprPtr AcrossLines(const ExprPtr& update) const {
    const std::vector<int64_t>& dims = context_.operand(1).dims;
    ExprPtr across = Number(0);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) == special_.params[0] || dims[d] == 1) continue;
      ExprPtr coord = loop::Div(update, Stride("stride of updates ", dims, d));
      if (d > 0) coord = loop::Mod(coord, Size(absl::StrCat("updates along ", d), dims[d]));
      across = loop::Add(across, loop::Mul(coord, Stride("stride ", context_.result().dims, d)));
    }
    return across;
  }

  Target TargetOfElement(const ExprPtr& update, const ExprPtr& across) const {
    const size_t axis = static_cast<size_t>(special_.params[0]);
    const std::vector<int64_t>& dims = context_.result().dims;
    Target target;
    DeclarePosition("along", context_.Load(1, update), dims[axis], &target.statements);
    target.number = loop::Add(loop::Mul(Var("along"), Stride("stride ", dims, axis)), across);
    target.is_within = IsWithin(Var("along"));
    return target;
  }

  Target TargetOfEntries(const ExprPtr& update) const {
    const int64_t depth = context_.operand(1).dims.back();
    const std::vector<int64_t>& dims = context_.result().dims;
    const std::vector<int64_t> strides = RowMajorStrides(dims);
    Target target;
    target.number = Number(0);
    for (int64_t k = 0; k < depth; ++k) {
      const std::string name = absl::StrCat("entry", k);
      const ExprPtr entry =
          context_.Load(1, loop::Add(loop::Mul(update, Number(depth)), Number(k)));
      DeclarePosition(name, entry, dims[k], &target.statements);
      const ExprPtr stride =
          k + 1 == depth ? Number(1)
                         : Size(absl::StrCat("stride of ", name), strides[k] / updates_.slice);
      target.number = loop::Add(target.number, loop::Mul(Var(name), stride));
      const ExprPtr condition = IsWithin(Var(name));
      target.is_within =
          target.is_within == nullptr ? condition : loop::And(target.is_within, condition);
    }
    return target;
  }

  // result[at …] = mode(result[at …], update[from …]), for `lanes` elements.
  StmtPtr Update(const ExprPtr& at, const ExprPtr& from, int lanes) const {
    ExprPtr value = context_.Load(updates_.operand, from, lanes);
    if (updates_.mode != ir::ScatterMode::kAssign) {
      value = loop::ApplyOp(Operation(), {context_.LoadResult(at, lanes), value});
    }
    return context_.StoreResult(at, value);
  }

  ScalarOp Operation() const {
    switch (updates_.mode) {
      case ir::ScatterMode::kMul:
        return ScalarOp::kMul;
      case ir::ScatterMode::kMin:
        return ScalarOp::kMin;
      case ir::ScatterMode::kMax:
        return ScalarOp::kMax;
      default:
        return ScalarOp::kAdd;
    }
  }

  // Applies update "update" if its target exists and `is_taken` holds (null: always).
  StmtPtr IfWithin(const std::function<StmtPtr(const ExprPtr& target)>& apply,
                   const ExprPtr& is_taken = nullptr, const ExprPtr& across = nullptr) const {
    Target target = TargetOf(Var("update"), across);
    std::vector<StmtPtr> statements = std::move(target.statements);
    statements.push_back(Declare("target", target.number));
    ExprPtr condition = is_taken;
    if (target.is_within != nullptr) {
      condition = condition == nullptr ? target.is_within : loop::And(target.is_within, condition);
    }
    StmtPtr update = apply(Var("target"));
    if (condition != nullptr) update = loop::MakeIf(condition, std::move(update));
    statements.push_back(std::move(update));
    return loop::MakeBlock(std::move(statements));
  }

  ExprPtr InSlice(const ExprPtr& slice, const ExprPtr& column) const {
    return loop::Add(loop::Mul(slice, SliceSize()), column);
  }

  // Slices of one element have one element at every size.
  ExprPtr SliceSize() const {
    return updates_.slice == 1 ? Number(1) : Size("slice", updates_.slice);
  }

  // One item per line of updates; lines never share elements of the result.
  void ByLine() {
    const int64_t line = updates_.count / updates_.lines;
    const ExprPtr stride = Stride("stride of updates ", context_.operand(1).dims,
                                  static_cast<size_t>(special_.params[0]));
    const ExprPtr plane = Size("plane of updates", updates_.line_stride * line);
    const ExprPtr base =
        loop::Add(loop::Mul(loop::Div(Var("item"), stride), plane), loop::Mod(Var("item"), stride));
    const StmtPtr step =
        IfWithin([&](const ExprPtr& target) { return Update(target, Var("update"), 1); },
                 /*is_taken=*/nullptr, Var("across"));
    const StmtPtr body = loop::MakeBlock(
        {Declare("update", loop::Add(Var("base"), loop::Mul(Var("step"), stride))), step});
    context_.Launch(updates_.lines, context_.ResultAndOperands(),
                    {Declare("base", base), Declare("across", AcrossLines(Var("base"))),
                     loop::MakeFor("step", Number(0), Size("line", line), body)});
  }

  // One item per column of the slices; it applies all updates.
  void ByColumn() {
    const StmtPtr step = IfWithin([&](const ExprPtr& target) {
      return Update(InSlice(target, Var("item")), InSlice(Var("update"), Var("item")), 1);
    });
    context_.Launch(updates_.slice, context_.ResultAndOperands(),
                    {loop::MakeFor("update", Number(0), Size("updates", updates_.count), step)});
  }

  // For CPUs: one item per range of columns and range of targets. Each item scans all updates and
  // applies its own.
  void ByPart() {
    constexpr int64_t kFewestColumns = 64;
    const int64_t wanted = plan::cpu::kTasksPerCore * context_.settings().compute_units;
    const int64_t slice = updates_.slice;
    int64_t width = std::max((slice + wanted - 1) / wanted, kFewestColumns);
    width = std::min((width + 15) / 16 * 16, slice);
    const int64_t columns = (slice + width - 1) / width;
    const int64_t ranges = std::min(std::max<int64_t>(wanted / columns, 1), updates_.targets);
    const int64_t targets = (updates_.targets + ranges - 1) / ranges;
    ExprPtr is_taken;
    if (ranges > 1 || context_.takes_sizes()) {
      is_taken = loop::And(loop::LessEqual(Var("least"), Var("target")),
                           loop::Less(Var("target"), Var("limit")));
    }
    const StmtPtr step =
        IfWithin([&](const ExprPtr& target) { return UpdateColumns(target, width); }, is_taken);
    const ExprPtr parts = Size("parts of a slice", columns);
    const ExprPtr share = Size("targets of an item", targets);
    context_.Launch(
        ranges * columns, context_.ResultAndOperands(),
        {Declare("least", loop::Mul(loop::Div(Var("item"), parts), share)),
         Declare("limit", loop::Add(Var("least"), share)),
         Declare("first", loop::Mul(loop::Mod(Var("item"), parts), Size("width", width))),
         loop::MakeFor("update", Number(0), Size("updates", updates_.count), step)});
  }

  // Applies an update to columns "first" … "first" + width - 1 of a slice, as far as they exist, in
  // vectors.
  StmtPtr UpdateColumns(const ExprPtr& target, int64_t width) const {
    const int64_t slice = updates_.slice;
    if (slice == 1) return Update(target, Var("update"), 1);
    const auto update = [&](int lanes) {
      return Update(InSlice(target, Var("column")), InSlice(Var("update"), Var("column")), lanes);
    };
    const bool is_bool = context_.result().type == DataType::kBool;
    const bool is_any_size = context_.takes_sizes();
    const int lanes = static_cast<int>(context_.settings().vector_width);
    ExprPtr end = loop::Add(Var("first"), Size("width", width));
    if (slice % width != 0 || is_any_size) end = loop::Min(end, SliceSize());
    if (is_bool || lanes == 1 || (width < lanes && !is_any_size)) {
      return loop::MakeFor("column", Var("first"), end, update(1));
    }
    std::vector<StmtPtr> statements = {
        Declare("end", end),
        loop::MakeFor("column", Var("first"), loop::Sub(Var("end"), Number(lanes - 1)),
                      update(lanes), lanes)};
    if (slice % lanes != 0 || is_any_size) {
      const ExprPtr rest = loop::Sub(Var("end"), Var("first"));
      statements.push_back(loop::MakeFor(
          "column", loop::Sub(Var("end"), loop::Mod(rest, Number(lanes))), Var("end"), update(1)));
    }
    return loop::MakeBlock(std::move(statements));
  }

  // For GPUs: updates are sorted by target. The item of the first update of each target, one per
  // column, applies all updates of that target.
  void ByTarget() {
    const DataType type = index_type();
    const std::vector<int64_t> dims = {updates_.count};
    SortTask sort;
    sort.keys = context_.AddScratch({type, dims});
    sort.size = updates_.count;
    sort.count = updates_.count;
    sort.sorted_keys = context_.AddScratch({type, dims});
    sort.sorted_positions = context_.AddScratch({type, dims});
    FindTargets(sort.keys);
    AddSort(sort, &context_);

    const auto key = [&](ExprPtr at) { return loop::LoadFrom("sorted", type, std::move(at)); };
    const ExprPtr place = Var("place");
    const ExprPtr target = Var("target");
    const ExprPtr previous = key(loop::Max(loop::Sub(place, Number(1)), Number(0)));
    const ExprPtr begins = loop::Or(loop::Equals(place, Number(0)),
                                    loop::ApplyOp(ScalarOp::kNotEqual, {previous, target}));
    const ExprPtr low = Var("low");
    const ExprPtr high = Var("high");
    const ExprPtr guess = Var("guess");
    const StmtPtr halve = loop::MakeBlock(
        {Declare("guess", loop::ApplyOp(ScalarOp::kShiftRight, {loop::Add(low, high), Number(1)})),
         loop::MakeIf(loop::Equals(key(guess), target),
                      loop::MakeAssign("low", loop::Add(guess, Number(1))),
                      loop::MakeAssign("high", guess))});
    const StmtPtr apply = loop::MakeBlock(
        {Declare("update", loop::LoadFrom("order", type, Var("next"))),
         Update(InSlice(target, Var("column")), InSlice(Var("update"), Var("column")), 1)});
    int steps = 1;
    while (int64_t{1} << steps <= updates_.count) ++steps;
    const StmtPtr all = loop::MakeBlock({Declare("low", loop::Add(place, Number(1)), true),
                                         Declare("high", Size("updates", updates_.count), true),
                                         loop::MakeFor("search", Number(0), Size("steps", steps),
                                                       loop::MakeIf(loop::Less(low, high), halve)),
                                         loop::MakeFor("next", place, low, apply)});
    std::vector<SpecialContext::Argument> arguments = context_.ResultAndOperands();
    arguments.push_back({"sorted", sort.sorted_keys});
    arguments.push_back({"order", sort.sorted_positions});
    context_.Launch(
        updates_.count * updates_.slice, arguments,
        {Declare("place", loop::Div(Var("item"), SliceSize())),
         Declare("column", loop::Mod(Var("item"), SliceSize())), Declare("target", key(place)),
         loop::MakeIf(loop::And(loop::Less(target, Size("targets", updates_.targets)), begins),
                      all)});
  }

  // Stores the target of each update; for updates out of range, the number of targets.
  void FindTargets(int keys) {
    Target target = TargetOf(Var("item"));
    std::vector<StmtPtr> statements = std::move(target.statements);
    ExprPtr number = target.number;
    if (target.is_within != nullptr) {
      number = loop::Select(target.is_within, number, Size("targets", updates_.targets));
    }
    statements.push_back(loop::MakeStore("targets", index_type(), Var("item"), number));
    context_.Launch(updates_.count, {{"targets", keys, true}, {"in1", 2}}, std::move(statements));
  }

  SpecialContext& context_;
  const ir::Special& special_;
  const Updates updates_;
};

}  // namespace

void AddScatter(SpecialContext* context) { Scatterer(context).Scatter(); }

}  // namespace tartan::lower
