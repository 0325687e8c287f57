#include "tile/lower/lower_special.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/sem/build.h"

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

// A kernel in the making, with one work-item per line, slice or element of the result.
class SpecialLowerer {
 public:
  SpecialLowerer(const ir::Special& special, absl::Span<const TensorShape> operands,
                 const TensorShape& result, const HardwareSettings& settings,
                 const std::string& name, const LowerOptions& options)
      : special_(special),
        operands_(operands),
        result_(result),
        threads_(settings.threads),
        name_(name),
        index_type_(IsWide() || options.force_64bit_indices ? DataType::kInt64
                                                            : DataType::kInt32) {}

  absl::StatusOr<SpecialKernels> Lower() {
    SpecialKernels special;
    switch (special_.kind) {
      case ir::SpecialKind::kCumSum:
      case ir::SpecialKind::kCumProd:
        special.kernels = {RunningAggregate()};
        return special;
      case ir::SpecialKind::kSort:
      case ir::SpecialKind::kArgSort:
        special.kernels = {Sort()};
        return special;
      case ir::SpecialKind::kScatter:
        special.zero_filled = true;
        special.kernels = {ScatterRows()};
        return special;
      case ir::SpecialKind::kScatterElements:
        special.copied_operand = 0;
        if (operands_[2].element_count() > 0) special.kernels = {ScatterElements()};
        return special;
      case ir::SpecialKind::kScatterNd:
        special.copied_operand = 0;
        if (operands_[2].element_count() > 0) special.kernels = {ScatterNd()};
        return special;
      case ir::SpecialKind::kPrng:
        special.kernels = {RandomNumbers()};
        return special;
      default:
        return absl::InternalError(
            absl::StrCat("the operation ", Name(special_.kind), " has no kernel of its own"));
    }
  }

 private:
  bool IsWide() const {
    int64_t largest = result_.element_count();
    for (const TensorShape& operand : operands_) {
      largest = std::max(largest, operand.element_count());
    }
    return largest >= int64_t{1} << 31;
  }

  ExprPtr Number(int64_t value) const { return sem::Int(value, index_type_); }
  ExprPtr Index(const std::string& name) const { return sem::Var(name, {index_type_, 1}); }
  StmtPtr DeclareIndex(const std::string& name, ExprPtr value) const {
    return sem::MakeDeclare({index_type_, 1}, name, std::move(value));
  }
  ExprPtr Load(int operand, ExprPtr index) const {
    return sem::LoadFrom(absl::StrCat("in", operand), operands_[operand].type, std::move(index));
  }
  ExprPtr LoadResult(ExprPtr index) const {
    return sem::LoadFrom("out0", result_.type, std::move(index));
  }
  StmtPtr StoreResult(ExprPtr index, ExprPtr value) const {
    return sem::MakeStore("out0", result_.type, std::move(index), std::move(value));
  }

  // The kernel that runs `body`, which may use the variable "item", for items 0 … items - 1.
  sem::Kernel Kernel(int64_t items, std::vector<StmtPtr> body) const {
    sem::Kernel kernel;
    kernel.name = name_;
    kernel.comments = {absl::StrCat(ir::Name(special_.kind), " ", result_.ToString())};
    kernel.index_type = index_type_;
    kernel.parameters.push_back({"out0", result_.type, true});
    for (size_t i = 0; i < operands_.size(); ++i) {
      kernel.parameters.push_back({absl::StrCat("in", i), operands_[i].type, false});
    }
    const int64_t threads = items >= threads_ ? threads_ : std::min<int64_t>(threads_, 32);
    kernel.local_size[0] = threads;
    kernel.global_size[0] = (items + threads - 1) / threads * threads;
    StmtPtr work = sem::MakeBlock(std::move(body));
    if (items % threads != 0) work = sem::MakeIf(sem::Less(Index("item"), Number(items)), work);
    kernel.body = sem::MakeBlock(
        {DeclareIndex("item", sem::Work(sem::WorkId::kGlobal, 0, index_type_)), work});
    return kernel;
  }

  // An index from a tensor as an index of a dimension: negative ones count from the end.
  ExprPtr FromEnd(const ExprPtr& raw, int64_t size) const {
    const ExprPtr index = sem::Cast(raw, index_type_);
    return sem::Select(sem::Less(index, Number(0)), sem::Add(index, Number(size)), index);
  }

  ExprPtr IsWithin(const ExprPtr& index, int64_t size) const {
    return sem::And(sem::LessEqual(Number(0), index), sem::Less(index, Number(size)));
  }

  // result[index] = mode(result[index], value).
  StmtPtr Update(const ExprPtr& index, const ExprPtr& value, ir::ScatterMode mode) const {
    switch (mode) {
      case ir::ScatterMode::kAssign:
        return StoreResult(index, value);
      case ir::ScatterMode::kAdd:
        return StoreResult(index, sem::ApplyOp(ScalarOp::kAdd, {LoadResult(index), value}));
      case ir::ScatterMode::kMul:
        return StoreResult(index, sem::ApplyOp(ScalarOp::kMul, {LoadResult(index), value}));
      case ir::ScatterMode::kMin:
        return StoreResult(index, sem::ApplyOp(ScalarOp::kMin, {LoadResult(index), value}));
      case ir::ScatterMode::kMax:
        return StoreResult(index, sem::ApplyOp(ScalarOp::kMax, {LoadResult(index), value}));
    }
    return nullptr;
  }

  // One work-item per line along the axis.
  sem::Kernel RunningAggregate() const {
    const TensorShape& shape = operands_[0];
    const int64_t size = shape.dims[special_.params[0]];
    const bool exclusive = special_.params[1] != 0;
    const bool reverse = special_.params[2] != 0;
    const bool sums = special_.kind == ir::SpecialKind::kCumSum;
    const int64_t inner = RowMajorStrides(shape.dims)[special_.params[0]];
    const sem::Type type = {ComputeType(result_.type), 1};
    const ExprPtr total = sem::Var("total", type);
    const ExprPtr start = IsFloat(type.element) ? sem::Float(sums ? 0 : 1, type.element)
                                                : sem::Int(sums ? 0 : 1, type.element);
    const ExprPtr position =
        reverse ? sem::Sub(Number(size - 1), Index("step")) : Index("step");
    std::vector<StmtPtr> body = {
        DeclareIndex("at", sem::Add(Index("base"), sem::Mul(position, Number(inner))))};
    const StmtPtr add = sem::MakeAssign(
        "total", sem::ApplyOp(sums ? ScalarOp::kAdd : ScalarOp::kMul,
                              {total, sem::Cast(Load(0, Index("at")), type.element)}));
    const StmtPtr store = StoreResult(Index("at"), total);
    if (exclusive) {
      body.insert(body.end(), {store, add});
    } else {
      body.insert(body.end(), {add, store});
    }
    return Kernel(result_.element_count() / size,
                  {DeclareIndex("base", LineBase(inner, size)),
                   sem::MakeDeclare(type, "total", start, true),
                   sem::MakeFor("step", Number(0), Number(size), sem::MakeBlock(body))});
  }

  // Where the line numbered `item` begins, lines of `size` elements `inner` apart.
  ExprPtr LineBase(int64_t inner, int64_t size) const {
    return sem::Add(sem::Mul(sem::Div(Index("item"), Number(inner)), Number(inner * size)),
                    sem::Mod(Index("item"), Number(inner)));
  }

  // One work-item per element: its place is the number of elements that come before it. NaN comes
  // last; equal elements keep their order.
  sem::Kernel Sort() const {
    const TensorShape& shape = operands_[0];
    const int64_t size = shape.dims[special_.params[0]];
    const int64_t inner = RowMajorStrides(shape.dims)[special_.params[0]];
    const bool descending = special_.params[1] != 0;
    DataType compared = ComputeType(shape.type);
    if (compared == DataType::kBool) compared = DataType::kInt32;
    const sem::Type type = {compared, 1};
    const ExprPtr mine = sem::Var("mine", type);
    const ExprPtr other = sem::Var("other", type);
    auto before = [&](const ExprPtr& a, const ExprPtr& b) {
      ExprPtr less = descending ? sem::Less(b, a) : sem::Less(a, b);
      if (!IsFloat(compared)) return less;
      const ExprPtr only_b_is_nan = sem::And(sem::ApplyOp(ScalarOp::kIsNan, {b}),
                                             sem::Not(sem::ApplyOp(ScalarOp::kIsNan, {a})));
      return sem::Or(less, only_b_is_nan);
    };
    const ExprPtr first = sem::Or(
        before(other, mine),
        sem::And(sem::Less(Index("step"), Index("position")), sem::Not(before(mine, other))));
    const ExprPtr rank = Index("rank");
    const StmtPtr count = sem::MakeBlock(
        {sem::MakeDeclare(type, "other",
                          sem::Cast(Load(0, sem::Add(Index("base"),
                                                     sem::Mul(Index("step"), Number(inner)))),
                                    compared)),
         sem::MakeIf(first, sem::MakeAssign("rank", sem::Add(rank, Number(1))))});
    const ExprPtr line = sem::Mul(sem::Div(Index("item"), Number(inner * size)),
                                  Number(inner * size));
    const ExprPtr place = sem::Add(Index("base"), sem::Mul(rank, Number(inner)));
    const ExprPtr value = special_.kind == ir::SpecialKind::kArgSort
                              ? sem::Cast(Index("position"), ComputeType(result_.type))
                              : Load(0, Index("item"));
    return Kernel(
        result_.element_count(),
        {DeclareIndex("base", sem::Add(line, sem::Mod(Index("item"), Number(inner)))),
         DeclareIndex("position",
                      sem::Mod(sem::Div(Index("item"), Number(inner)), Number(size))),
         sem::MakeDeclare(type, "mine", sem::Cast(Load(0, Index("item")), compared)),
         sem::MakeDeclare({index_type_, 1}, "rank", Number(0), true),
         sem::MakeFor("step", Number(0), Number(size), count), StoreResult(place, value)});
  }

  // scatter(E, I, V): one work-item per position within a row, over all indices in order.
  sem::Kernel ScatterRows() const {
    const int64_t rows = operands_[1].element_count();
    const int64_t row = rows == 0 ? 1 : operands_[0].element_count() / rows;
    const StmtPtr body = sem::MakeBlock(
        {DeclareIndex("target", FromEnd(Load(1, Index("step")), result_.dims[0])),
         DeclareIndex("at", sem::Add(sem::Mul(Index("target"), Number(row)), Index("item"))),
         sem::MakeIf(
             IsWithin(Index("target"), result_.dims[0]),
             Update(Index("at"),
                    Load(0, sem::Add(sem::Mul(Index("step"), Number(row)), Index("item"))),
                    ir::ScatterMode::kAdd))});
    return Kernel(row, {sem::MakeFor("step", Number(0), Number(rows), body)});
  }

  // One work-item per line of updates along the axis: lines never meet in the result.
  sem::Kernel ScatterElements() const {
    const int64_t axis = special_.params[0];
    const auto mode = static_cast<ir::ScatterMode>(special_.params[1]);
    const std::vector<int64_t>& dims = operands_[2].dims;
    const std::vector<int64_t> update_strides = RowMajorStrides(dims);
    const std::vector<int64_t> result_strides = RowMajorStrides(result_.dims);
    ExprPtr update_base = Number(0);
    ExprPtr result_base = Number(0);
    int64_t items = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      if (static_cast<int64_t>(d) == axis) continue;
      const ExprPtr coord = sem::Mod(sem::Div(Index("item"), Number(items)), Number(dims[d]));
      update_base = sem::Add(update_base, sem::Mul(coord, Number(update_strides[d])));
      result_base = sem::Add(result_base, sem::Mul(coord, Number(result_strides[d])));
      items *= dims[d];
    }
    const StmtPtr body = sem::MakeBlock(
        {DeclareIndex("from", sem::Add(Index("update_base"),
                                       sem::Mul(Index("step"), Number(update_strides[axis])))),
         DeclareIndex("target", FromEnd(Load(1, Index("from")), result_.dims[axis])),
         DeclareIndex("at", sem::Add(Index("result_base"),
                                     sem::Mul(Index("target"), Number(result_strides[axis])))),
         sem::MakeIf(IsWithin(Index("target"), result_.dims[axis]),
                     Update(Index("at"), Load(2, Index("from")), mode))});
    return Kernel(items, {DeclareIndex("update_base", update_base),
                          DeclareIndex("result_base", result_base),
                          sem::MakeFor("step", Number(0), Number(dims[axis]), body)});
  }

  // One work-item per position within an updated slice, over all updates in order.
  sem::Kernel ScatterNd() const {
    const auto mode = static_cast<ir::ScatterMode>(special_.params[0]);
    const int64_t depth = operands_[1].dims.back();
    const int64_t updates = depth == 0 ? 1 : operands_[1].element_count() / depth;
    const int64_t slice = operands_[2].element_count() / std::max<int64_t>(updates, 1);
    const std::vector<int64_t> strides = RowMajorStrides(result_.dims);
    std::vector<StmtPtr> body;
    ExprPtr base = Index("item");
    ExprPtr within;
    for (int64_t k = 0; k < depth; ++k) {
      const std::string target = absl::StrCat("target", k);
      const ExprPtr entry =
          Load(1, sem::Add(sem::Mul(Index("step"), Number(depth)), Number(k)));
      body.push_back(DeclareIndex(target, FromEnd(entry, result_.dims[k])));
      base = sem::Add(base, sem::Mul(Index(target), Number(strides[k])));
      const ExprPtr condition = IsWithin(Index(target), result_.dims[k]);
      within = within == nullptr ? condition : sem::And(within, condition);
    }
    StmtPtr update =
        Update(base, Load(2, sem::Add(sem::Mul(Index("step"), Number(slice)), Index("item"))), mode);
    body.push_back(within == nullptr ? update : sem::MakeIf(within, std::move(update)));
    return Kernel(slice, {sem::MakeFor("step", Number(0), Number(updates),
                                       sem::MakeBlock(std::move(body)))});
  }

  // One work-item per block of four numbers: ir/random.h in kernel code.
  sem::Kernel RandomNumbers() const {
    const sem::Type word = {DataType::kUInt32, 1};
    const sem::Type wide = {DataType::kUInt64, 1};
    std::vector<StmtPtr> body;
    int declared = 0;
    auto name = [&](const sem::Type& type, ExprPtr value) {
      const std::string variable = absl::StrCat("w", declared++);
      body.push_back(sem::MakeDeclare(type, variable, std::move(value)));
      return sem::Var(variable, type);
    };
    auto low = [&](const ExprPtr& x) { return sem::Cast(x, DataType::kUInt32); };
    auto high = [&](const ExprPtr& x) {
      return low(sem::ApplyOp(ScalarOp::kShiftRight, {x, sem::Int(32, DataType::kUInt64)}));
    };
    auto multiply = [&](int64_t factor, const ExprPtr& x) {
      return name(wide, sem::Mul(sem::Int(factor, DataType::kUInt64),
                                 sem::Cast(x, DataType::kUInt64)));
    };
    auto mix = [](const ExprPtr& a, const ExprPtr& b, const ExprPtr& c) {
      return sem::ApplyOp(ScalarOp::kBitXor, {sem::ApplyOp(ScalarOp::kBitXor, {a, b}), c});
    };
    const ExprPtr counter = name(wide, sem::Cast(Index("item"), DataType::kUInt64));
    const bool is_pair = operands_[0].element_count() == 2;
    const ExprPtr seed =
        name(wide, sem::Cast(Load(0, Number(0)), DataType::kUInt64));
    ExprPtr key[2] = {name(word, low(seed)),
                      name(word, is_pair ? low(Load(0, Number(1))) : high(seed))};
    ExprPtr x[4] = {name(word, low(counter)), name(word, high(counter)),
                    sem::Int(0, DataType::kUInt32), sem::Int(0, DataType::kUInt32)};
    for (int round = 0; round < 10; ++round) {
      const ExprPtr a = multiply(0xD2511F53, x[0]);
      const ExprPtr b = multiply(0xCD9E8D57, x[2]);
      const ExprPtr mixed[2] = {name(word, mix(high(b), x[1], key[0])),
                                name(word, mix(high(a), x[3], key[1]))};
      x[0] = mixed[0];
      x[1] = name(word, low(b));
      x[2] = mixed[1];
      x[3] = name(word, low(a));
      key[0] = name(word, sem::Add(key[0], sem::Int(0x9E3779B9, DataType::kUInt32)));
      key[1] = name(word, sem::Add(key[1], sem::Int(0xBB67AE85, DataType::kUInt32)));
    }
    const int64_t count = result_.element_count();
    for (int64_t w = 0; w < 4; ++w) {
      const ExprPtr at = sem::Add(sem::Mul(Index("item"), Number(4)), Number(w));
      const ExprPtr bits =
          sem::ApplyOp(ScalarOp::kShiftRight, {x[w], sem::Int(8, DataType::kUInt32)});
      const StmtPtr store = StoreResult(at, sem::Mul(sem::Cast(bits, DataType::kFloat32),
                                                     sem::Float(0x1p-24, DataType::kFloat32)));
      body.push_back(count % 4 == 0 ? store
                                    : sem::MakeIf(sem::Less(at, Number(count)), store));
    }
    return Kernel((count + 3) / 4, std::move(body));
  }

  const ir::Special& special_;
  const absl::Span<const TensorShape> operands_;
  const TensorShape& result_;
  const int64_t threads_;
  const std::string& name_;
  const DataType index_type_;
};

}  // namespace

absl::StatusOr<SpecialKernels> LowerSpecial(const ir::Special& special,
                                            absl::Span<const TensorShape> operands,
                                            const TensorShape& result,
                                            const HardwareSettings& settings,
                                            const std::string& name, const LowerOptions& options) {
  return SpecialLowerer(special, operands, result, settings, name, options).Lower();
}

}  // namespace tartan::lower
