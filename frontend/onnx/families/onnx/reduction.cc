// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, ArgMax and ArgMin, CumSum and CumProd.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Axes = std::vector<int64_t>;

struct ReducedAxes {
  Axes axes;
  bool keep = true;
};

// The axes are operand 1. Without any, all axes are reduced, or none if noop_with_empty_axes is
// set.
absl::StatusOr<ReducedAxes> ReadAxes(NodeContext& context) {
  const int64_t rank = context.input(0).rank();
  TARTAN_ASSIGN_OR_RETURN(const int64_t keep, context.Int("keepdims", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t noop, context.Int("noop_with_empty_axes", 0));
  ReducedAxes result{{}, keep != 0};
  if (context.HasInput(1)) {
    TARTAN_ASSIGN_OR_RETURN(const Axes given, context.HostInts(1));
    TARTAN_ASSIGN_OR_RETURN(result.axes, NormalAxes(given, rank));
  }
  if (result.axes.empty() && noop == 0) result.axes = AxesFrom(0, rank);
  return result;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A scalar. For integers, infinity is their maximum or minimum, and NaN is 0.
Tensor NearestOf(double value, DataType type) {
  if (IsFloat(type) || !std::isinf(value)) return ConstantOf(type, {value}, {});
  std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(type)));
  StoreElement(type, value < 0 ? MinInteger(type) : MaxInteger(type), 0, bytes.data());
  return Tensor::Constant(HostTensor(TensorShape{type, {}}, bytes));
}

struct Reduction {
  const char* term;  // in terms of X, or of D = X - M, where M is the maximum
  char aggregation;
  const char* result;     // in terms of S; "$" is replaced by the number of elements reduced
  double of_nothing;      // the result over no elements
  bool in_float = false;  // integers are converted
  bool subtracts_maximum = false;
};

constexpr Reduction kSum = {"X", '+', "S", 0};
constexpr Reduction kMean = {"X", '+', "S / $", kNan};
constexpr Reduction kMax = {"X", '>', "S", -kInfinity};
constexpr Reduction kMin = {"X", '<', "S", kInfinity};
constexpr Reduction kProd = {"X", '*', "S", 1};
constexpr Reduction kL1 = {"abs(X)", '+', "S", 0};
constexpr Reduction kL2 = {"X * X", '+', "sqrt(S)", 0, true};
constexpr Reduction kSumSquare = {"X * X", '+', "S", 0};
constexpr Reduction kLogSum = {"X", '+', "log(S)", -kInfinity, true};
constexpr Reduction kLogSumExp = {"exp(D)", '+', "log(S) + M", -kInfinity, true, true};

// The operand in the type of the aggregation, which is numeric.
std::string Operand(const Reduction& reduction, DataType type) {
  if (type == DataType::kBool) return Cast("IN", DataType::kUInt8);
  if (!reduction.in_float || IsFloat(type)) return "IN";
  // float32 cannot represent every 32-bit integer.
  return Cast("IN", ByteWidth(type) < 4 ? DataType::kFloat32 : DataType::kFloat64);
}

std::vector<std::string> ReductionStatements(const Reduction& reduction, const Tensor& x,
                                             const ReducedAxes& reduced) {
  const std::string operand = Operand(reduction, x.type());
  std::vector<std::string> statements = {absl::StrCat("X = ", operand)};
  if (reduction.subtracts_maximum) {
    statements.push_back(ReduceStatement("TOP", '>', "X", x.dims(), reduced.axes));
    // Infinity minus itself would be NaN.
    statements.push_back("M = stop_gradient(isinf(TOP) ? 0 : TOP)");
    statements.push_back("D = X - M");
  }
  statements.push_back(absl::StrCat("TERM = ", reduction.term));
  // D broadcasts against sizes of 1, so these dimensions are dropped last.
  const bool drops_late = !reduced.keep && reduction.subtracts_maximum;
  const auto reduce = reduced.keep || drops_late ? &ReduceStatement : &DropStatement;
  statements.push_back(reduce("S", reduction.aggregation, "TERM", x.dims(), reduced.axes));
  std::string result = reduction.result;
  if (const size_t count = result.find('$'); count != std::string::npos) {
    result.replace(count, 1, absl::StrCat(ReducedCount(x.dims(), reduced.axes)));
  }
  const bool changes_type = operand != "IN";
  statements.push_back(absl::StrCat("Z = ", changes_type ? Cast(result, x.type()) : result));
  statements.push_back(absl::StrCat(
      "Y = ", drops_late ? ReshapeCall("Z", DroppedDims(x.dims(), reduced.axes)) : "Z"));
  return statements;
}

// The mean of integers from an exact sum, rounded towards zero. 64-bit integers are split into
// quotients and remainders by the count, whose sums do not overflow.
Outputs MeanOfIntegers(const NodeContext& context, const Tensor& x, const ReducedAxes& reduced) {
  const int64_t count = ReducedCount(x.dims(), reduced.axes);
  constexpr int64_t kMaxCount = int64_t{1} << 30;  // its square fits 64 bits
  if (count > kMaxCount) return Unsupported("the mean of ", count, " integers");
  const auto sum = [&](absl::string_view target, absl::string_view source) {
    const auto reduce = reduced.keep ? &ReduceStatement : &DropStatement;
    return reduce(target, '+', source, x.dims(), reduced.axes);
  };
  if (ByteWidth(x.type()) < 8) {
    return context.Apply(
        TileFunction("IN", "Y",
                     {absl::StrCat("X = ", Cast("IN", DataType::kInt64)), sum("S", "X"),
                      absl::StrCat("Y = ", Cast(absl::StrCat("S / ", count), x.type()))}),
        {x});
  }
  std::vector<std::string> statements = {absl::StrCat("Q = IN / ", count),
                                         absl::StrCat("R = IN - Q * ", count),
                                         sum("SQ", "Q"),
                                         sum("SR", "R"),
                                         absl::StrCat("T = SR / ", count),
                                         "M = SQ + T"};
  if (IsSignedInteger(x.type())) {
    // M and the remainder may differ in sign; then M is one too far from zero.
    statements.push_back(absl::StrCat("LEFT = SR - T * ", count));
    statements.emplace_back("UP = M < 0 && LEFT > 0 ? M + 1 : M");
    statements.emplace_back("Y = M > 0 && LEFT < 0 ? M - 1 : UP");
  } else {
    statements.emplace_back("Y = M");
  }
  return context.Apply(TileFunction("IN", "Y", statements), {x});
}

Outputs Reduce(NodeContext& context, const Reduction& reduction) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const ReducedAxes reduced, ReadAxes(context));
  if (ReducedCount(x.dims(), reduced.axes) == 0) {
    const std::vector<int64_t> dims =
        reduced.keep ? KeptDims(x.dims(), reduced.axes) : DroppedDims(x.dims(), reduced.axes);
    return OneTensor(Fill(context, NearestOf(reduction.of_nothing, x.type()), dims));
  }
  if (&reduction == &kMean && !IsFloat(x.type())) return MeanOfIntegers(context, x, reduced);
  return context.Apply(TileFunction("IN", "Y", ReductionStatements(reduction, x, reduced)), {x});
}

template <const Reduction& kReduction>
Outputs ReduceBy(NodeContext& context) {
  return Reduce(context, kReduction);
}

// The position of the maximum or minimum along an axis: the first one, or the last one with
// select_last_index. NaN counts as an extreme. MARKS increases towards the selected one among equal
// elements.
Outputs ArgExtreme(NodeContext& context, char aggregation) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t keep, context.Int("keepdims", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t last, context.Int("select_last_index", 0));
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
  const Axes axes = {axis};
  const int64_t size = x.dims()[static_cast<size_t>(axis)];
  if (size == 0) return Invalid("axis ", axis, " of ", x.shape().ToString(), " is empty");
  std::vector<int64_t> mark_dims(x.dims().size(), 1);
  mark_dims[static_cast<size_t>(axis)] = size;
  TARTAN_RETURN_IF_ERROR(CheckTable(mark_dims));
  const Tensor marks = last != 0 ? CountUp(mark_dims) : Countdown(mark_dims);
  const char* is_extreme = IsFloat(x.type()) ? "X == M || isnan(X)" : "X == M";
  const auto reduce = keep != 0 ? &ReduceStatement : &DropStatement;
  return context.Apply(
      TileFunction("X, MARKS", "Y",
                   {ReduceStatement("M", aggregation, "X", x.dims(), axes),
                    absl::StrCat("HIT = (", is_extreme, ") ? MARKS : 0"),
                    reduce("BEST", '>', "HIT", x.dims(), axes),
                    // BEST is 1 or more, so the minimum never takes effect. It lets the compiler
                    // prove that the position is in range.
                    absl::StrCat("Y = ", Cast(last != 0 ? "BEST - 1"
                                                        : absl::StrCat("min(", size, " - BEST, ",
                                                                       size - 1, ")"),
                                              DataType::kInt64))}),
      {x, marks});
}

Outputs ArgMax(NodeContext& context) { return ArgExtreme(context, '>'); }

Outputs ArgMin(NodeContext& context) { return ArgExtreme(context, '<'); }

// CumSum or CumProd along the axis in operand 1.
Outputs Running(NodeContext& context, absl::string_view function) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.HostInt(1));
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t exclusive, context.Int("exclusive", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t reverse, context.Int("reverse", 0));
  return context.Apply(TileFunction("X", "Y",
                                    {absl::StrCat("Y = ", function, "(X, ", axis, ", ",
                                                  exclusive != 0, ", ", reverse != 0, ")")}),
                       {x});
}

Outputs CumSum(NodeContext& context) { return Running(context, "cumsum"); }

Outputs CumProd(NodeContext& context) { return Running(context, "cumprod"); }

// Older forms have the axes as an attribute.
constexpr OperatorRow ByAttribute(absl::string_view name, Handler handler) {
  return {name, 1, {1, 1}, handler, 0, AxesToOperand};
}
constexpr OperatorRow ByOperand(absl::string_view name, int since_version, Handler handler) {
  return {name, since_version, {1, 2}, handler, HostOperands(1)};
}

constexpr OperatorRow kOperators[] = {
    {"ArgMax", 1, {1, 1}, ArgMax},
    {"ArgMin", 1, {1, 1}, ArgMin},
    {"CumProd", 26, {2, 2}, CumProd, HostOperands(1)},
    {"CumSum", 11, {2, 2}, CumSum, HostOperands(1)},
    ByAttribute("ReduceL1", ReduceBy<kL1>),
    ByOperand("ReduceL1", 18, ReduceBy<kL1>),
    ByAttribute("ReduceL2", ReduceBy<kL2>),
    ByOperand("ReduceL2", 18, ReduceBy<kL2>),
    ByAttribute("ReduceLogSum", ReduceBy<kLogSum>),
    ByOperand("ReduceLogSum", 18, ReduceBy<kLogSum>),
    ByAttribute("ReduceLogSumExp", ReduceBy<kLogSumExp>),
    ByOperand("ReduceLogSumExp", 18, ReduceBy<kLogSumExp>),
    ByAttribute("ReduceMax", ReduceBy<kMax>),
    ByOperand("ReduceMax", 18, ReduceBy<kMax>),
    ByAttribute("ReduceMean", ReduceBy<kMean>),
    ByOperand("ReduceMean", 18, ReduceBy<kMean>),
    ByAttribute("ReduceMin", ReduceBy<kMin>),
    ByOperand("ReduceMin", 18, ReduceBy<kMin>),
    ByAttribute("ReduceProd", ReduceBy<kProd>),
    ByOperand("ReduceProd", 18, ReduceBy<kProd>),
    ByAttribute("ReduceSum", ReduceBy<kSum>),
    ByOperand("ReduceSum", 13, ReduceBy<kSum>),
    ByAttribute("ReduceSumSquare", ReduceBy<kSumSquare>),
    ByOperand("ReduceSumSquare", 18, ReduceBy<kSumSquare>),
};

}  // namespace

absl::Span<const OperatorRow> ReductionOperators() { return kOperators; }

}  // namespace tartan::onnx
