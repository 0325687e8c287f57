// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/special/lower_special.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/special/lower_scatter.h"
#include "tile/lower/special/lower_sort.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Cumulative sums (kCumSum) and cumulative multiplication along an axis.
class RunningAggregate : IndexBuilder {
 public:
  explicit RunningAggregate(SpecialContext* context)
      : IndexBuilder(context->index_type()),
        context_(*context),
        axis_(context->special().params[0]),
        exclusive_(context->special().params[1] != 0),
        reverse_(context->special().params[2] != 0),
        sums_(context->special().kind == ir::SpecialKind::kCumSum),
        size_(context->result().dims[axis_]),
        inner_(RowMajorStrides(context->result().dims)[axis_]),
        lines_(context->result().element_count() / size_),
        type_{ComputeType(context->result().type), 1} {}

  void Add() {
    constexpr int64_t kManyLines = 2048;
    constexpr int64_t kLongLine = 256;
    if (context_.is_cpu() || lines_ >= kManyLines || size_ < kLongLine) {
      WholeLines();
    } else {
      LinesInParts();
    }
  }

 private:
  ExprPtr Start() const {
    const int64_t start = sums_ ? 0 : 1;
    return IsFloat(type_.element) ? loop::Float(static_cast<double>(start), type_.element)
                                  : loop::Int(start, type_.element);
  }

  // Adds a value to "total", or multiplies "total" by it.
  StmtPtr Accumulate(const ExprPtr& value) const {
    return loop::MakeAssign("total", loop::ApplyOp(sums_ ? ScalarOp::kAdd : ScalarOp::kMul,
                                                   {loop::Var("total", type_), value}));
  }

  // Adds steps begin … end - 1 of line "line" to "total", and stores each result if wanted.
  StmtPtr Steps(const ExprPtr& begin, const ExprPtr& end, bool is_stored) const {
    const ExprPtr inner = context_.Size("inner", inner_);
    const ExprPtr position =
        reverse_ ? loop::Sub(context_.Size("last", size_ - 1), Var("step")) : Var("step");
    const ExprPtr base =
        loop::Add(loop::Mul(loop::Div(Var("line"), inner), context_.Size("plane", inner_ * size_)),
                  loop::Mod(Var("line"), inner));
    std::vector<StmtPtr> body = {Declare("at", loop::Add(Var("base"), loop::Mul(position, inner)))};
    const StmtPtr add = Accumulate(loop::Cast(context_.Load(0, Var("at")), type_.element));
    const StmtPtr store = context_.StoreResult(Var("at"), loop::Var("total", type_));
    if (is_stored && exclusive_) body.push_back(store);
    body.push_back(add);
    if (is_stored && !exclusive_) body.push_back(store);
    return loop::MakeBlock({Declare("base", base),
                            loop::MakeFor("step", begin, end, loop::MakeBlock(std::move(body)))});
  }

  // One item per line.
  void WholeLines() {
    context_.Launch(lines_, context_.ResultAndOperands(),
                    {Declare("line", Var("item")), loop::MakeDeclare(type_, "total", Start(), true),
                     Steps(Number(0), context_.Size("size", size_), true)});
  }

  // Three launches with one item per part of a line: totals of the parts, prefix sums of the
  // totals, and the parts again with every step stored.
  void LinesInParts() {
    int64_t part = 16;
    while (part * part < size_) part *= 2;
    const int64_t parts = (size_ + part - 1) / part;
    const int totals = context_.AddScratch({type_.element, {lines_ * parts}});
    // Each launch has its own arguments.
    const auto part_count = [&] { return context_.Size("parts", parts); };
    const auto where = [&] {
      const ExprPtr number = loop::Mod(Var("item"), part_count());
      return std::vector<StmtPtr>{Declare("line", loop::Div(Var("item"), part_count())),
                                  Declare("begin", loop::Mul(number, context_.Size("part", part)))};
    };
    const auto end = [&] {
      return loop::Min(loop::Add(Var("begin"), context_.Size("part", part)),
                       context_.Size("size", size_));
    };
    const auto total = [&](ExprPtr at) {
      return loop::LoadFrom("totals", type_.element, std::move(at));
    };

    std::vector<StmtPtr> body = where();
    body.insert(
        body.end(),
        {loop::MakeDeclare(type_, "total", Start(), true), Steps(Var("begin"), end(), false),
         loop::MakeStore("totals", type_.element, Var("item"), loop::Var("total", type_))});
    context_.Launch(lines_ * parts, {{"totals", totals, true}, {"in0", 1}}, std::move(body));

    const int before = context_.AddScratch({type_.element, {lines_ * parts}});
    const StmtPtr step = loop::MakeBlock(
        {Declare("at", loop::Add(loop::Mul(Var("item"), part_count()), Var("part"))),
         loop::MakeStore("before", type_.element, Var("at"), loop::Var("total", type_)),
         Accumulate(total(Var("at")))});
    context_.Launch(lines_, {{"before", before, true}, {"totals", totals}},
                    {loop::MakeDeclare(type_, "total", Start(), true),
                     loop::MakeFor("part", Number(0), part_count(), step)});

    body = where();
    body.insert(body.end(), {loop::MakeDeclare(type_, "total", total(Var("item")), true),
                             Steps(Var("begin"), end(), true)});
    context_.Launch(lines_ * parts, {{"out0", 0, true}, {"in0", 1}, {"totals", before}},
                    std::move(body));
  }

  SpecialContext& context_;
  const int64_t axis_;
  const bool exclusive_;
  const bool reverse_;
  const bool sums_;
  const int64_t size_;
  const int64_t inner_;
  const int64_t lines_;
  const loop::Type type_;
};

void Sort(SpecialContext& context) {
  const std::vector<int64_t>& params = context.special().params;
  SortTask task;
  task.keys = 1;
  task.size = context.operand(0).dims[params[0]];
  task.inner = RowMajorStrides(context.operand(0).dims)[params[0]];
  task.descending = params[1] != 0;
  task.count = context.result().dims[params[0]];
  const bool is_values = context.special().kind == ir::SpecialKind::kSort;
  (is_values ? task.sorted_keys : task.sorted_positions) = 0;
  AddSort(task, &context);
}

// One work-item per block of four numbers; implements ir/random.h in kernel code.
void RandomNumbers(SpecialContext& context) {
  const loop::Type word = {DataType::kUInt32, 1};
  const loop::Type wide = {DataType::kUInt64, 1};
  std::vector<StmtPtr> body;
  int declared = 0;
  auto name = [&](const loop::Type& type, ExprPtr value) {
    const std::string variable = absl::StrCat("w", declared++);
    body.push_back(loop::MakeDeclare(type, variable, std::move(value)));
    return loop::Var(variable, type);
  };
  auto low = [&](const ExprPtr& x) { return loop::Cast(x, DataType::kUInt32); };
  auto high = [&](const ExprPtr& x) {
    return low(loop::ApplyOp(ScalarOp::kShiftRight, {x, loop::Int(32, DataType::kUInt64)}));
  };
  auto multiply = [&](int64_t factor, const ExprPtr& x) {
    return name(wide,
                loop::Mul(loop::Int(factor, DataType::kUInt64), loop::Cast(x, DataType::kUInt64)));
  };
  auto mix = [](const ExprPtr& a, const ExprPtr& b, const ExprPtr& c) {
    return loop::ApplyOp(ScalarOp::kBitXor, {loop::ApplyOp(ScalarOp::kBitXor, {a, b}), c});
  };
  const ExprPtr counter = name(wide, loop::Cast(context.Var("item"), DataType::kUInt64));
  const bool is_pair = context.operand(0).element_count() == 2;
  const ExprPtr seed =
      name(wide, loop::Cast(context.Load(0, context.Number(0)), DataType::kUInt64));
  ExprPtr key[2] = {name(word, low(seed)),
                    name(word, is_pair ? low(context.Load(0, context.Number(1))) : high(seed))};
  ExprPtr x[4] = {name(word, low(counter)), name(word, high(counter)),
                  loop::Int(0, DataType::kUInt32), loop::Int(0, DataType::kUInt32)};
  for (int round = 0; round < 10; ++round) {
    const ExprPtr a = multiply(0xD2511F53, x[0]);
    const ExprPtr b = multiply(0xCD9E8D57, x[2]);
    const ExprPtr mixed[2] = {name(word, mix(high(b), x[1], key[0])),
                              name(word, mix(high(a), x[3], key[1]))};
    x[0] = mixed[0];
    x[1] = name(word, low(b));
    x[2] = mixed[1];
    x[3] = name(word, low(a));
    key[0] = name(word, loop::Add(key[0], loop::Int(0x9E3779B9, DataType::kUInt32)));
    key[1] = name(word, loop::Add(key[1], loop::Int(0xBB67AE85, DataType::kUInt32)));
  }
  const int64_t count = context.result().element_count();
  const bool is_whole = count % 4 == 0 && !context.takes_sizes();
  for (int64_t w = 0; w < 4; ++w) {
    const ExprPtr at =
        loop::Add(loop::Mul(context.Var("item"), context.Number(4)), context.Number(w));
    const ExprPtr bits =
        loop::ApplyOp(ScalarOp::kShiftRight, {x[w], loop::Int(8, DataType::kUInt32)});
    const StmtPtr store = context.StoreResult(
        at,
        loop::Mul(loop::Cast(bits, DataType::kFloat32), loop::Float(0x1p-24, DataType::kFloat32)));
    body.push_back(is_whole ? store
                            : loop::MakeIf(loop::Less(at, context.Size("count", count)), store));
  }
  context.Launch((count + 3) / 4, context.ResultAndOperands(), std::move(body));
}

}  // namespace

int CopiedOperand(ir::SpecialKind kind) {
  const bool is_update =
      kind == ir::SpecialKind::kScatterElements || kind == ir::SpecialKind::kScatterNd;
  return is_update ? 0 : -1;
}

bool StartsAsZeros(ir::SpecialKind kind) { return kind == ir::SpecialKind::kScatter; }

absl::StatusOr<SpecialKernels> LowerSpecial(const ir::Special& special,
                                            absl::Span<const TensorShape> operands,
                                            const TensorShape& result,
                                            const HardwareSettings& settings,
                                            const std::string& name, const LowerOptions& options) {
  SpecialContext context(special, operands, result, settings, name, options);
  SpecialKernels kernels;
  switch (special.kind) {
    case ir::SpecialKind::kCumSum:
    case ir::SpecialKind::kCumProd:
      RunningAggregate(&context).Add();
      break;
    case ir::SpecialKind::kSort:
    case ir::SpecialKind::kArgSort:
      Sort(context);
      break;
    case ir::SpecialKind::kScatter:
      if (operands[0].element_count() > 0) AddScatter(&context);
      break;
    case ir::SpecialKind::kScatterElements:
    case ir::SpecialKind::kScatterNd:
      if (operands[2].element_count() > 0) AddScatter(&context);
      break;
    case ir::SpecialKind::kPrng:
      RandomNumbers(context);
      break;
    default:
      return absl::InternalError(
          absl::StrCat("the operation ", Name(special.kind), " has no kernel of its own"));
  }
  kernels.launches = context.TakeLaunches();
  kernels.scratch = context.TakeScratch();
  return kernels;
}

}  // namespace tartan::lower
