// SPDX-License-Identifier: Apache-2.0
// Pools over windows, global pools and MaxUnpool.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::StatusOr<SlidingWindow> ReadPool(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes input, SpatialDims(context.input(0)));
  TARTAN_ASSIGN_OR_RETURN(Sizes kernel, context.Ints("kernel_shape"));
  return ReadSlidingWindow(context, input, std::move(kernel), SamePadding::kMayCrop);
}

Sizes PooledDims(const Tensor& x, const SlidingWindow& window) {
  Sizes dims = {x.dims()[0], x.dims()[1]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return dims;
}

// "target[n, c, y0 : …] = +(source[n, c, 2*y0 + k0]), k0 < 3".
std::string PoolStatement(absl::string_view target, char aggregation, absl::string_view source,
                          const Tensor& x, const SlidingWindow& window) {
  return absl::StrCat(Write(target, OutputIndices(window, "c"), PooledDims(x, window)), " = ",
                      absl::string_view(&aggregation, 1), "(",
                      Read(source, WindowIndices(window, "c")), ")", WindowConstraints(window));
}

// "as_int(index(X, 0), 64) * 3136 + …": the position of an element in the flattened tensor.
std::string FlatPosition(const Tensor& x) {
  const std::vector<int64_t> strides = RowMajorStrides(x.dims());
  std::vector<std::string> terms;
  for (size_t d = 0; d < strides.size(); ++d) {
    terms.push_back(absl::StrCat("as_int(index(X, ", d, "), 64) * ", strides[d]));
  }
  return absl::StrJoin(terms, " + ");
}

// Converts the row-major flat position `name` to the position with column-major spatial dimensions.
std::string ColumnMajorPosition(const Tensor& x, absl::string_view name) {
  const std::vector<int64_t> strides = RowMajorStrides(x.dims());
  std::vector<std::string> terms;
  int64_t stride = Product(absl::MakeSpan(x.dims()).subspan(2));
  terms.push_back(absl::StrCat(name, " / ", stride, " * ", stride));
  stride = 1;
  for (size_t d = 2; d < strides.size(); ++d) {
    terms.push_back(absl::StrCat(name, " / ", strides[d], " % ", x.dims()[d], " * ", stride));
    stride *= x.dims()[d];
  }
  return absl::StrJoin(terms, " + ");
}

// The second output is the position of each maximum in the operand. Among equal ones, and for NaN,
// it is the first in row-major order. MARK is maximal there, and always greater than 0, the mark of
// other elements.
Outputs MaxPool(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const SlidingWindow window, ReadPool(context));
  TARTAN_ASSIGN_OR_RETURN(const int64_t storage_order, context.Int("storage_order", 0));
  const std::string maximum = PoolStatement("Y", '>', "X", x, window);
  if (!context.WantsOutput(1)) return context.Apply(TileFunction("X", "Y", {maximum}));
  const int64_t count = x.shape().element_count();
  const std::vector<std::string> inside = WindowIndices(window, "c");
  const std::vector<std::string> outside = OutputIndices(window, "c");
  const Sizes dims = PooledDims(x, window);
  const auto first_of = [&](absl::string_view name, const std::string& marks) {
    return absl::StrCat(Write(name, outside, dims), " = >(", marks, ")", WindowConstraints(window));
  };
  std::vector<std::string> statements = {
      maximum, absl::StrCat("MARK = ", count, " - (", FlatPosition(x), ")"),
      first_of("FIRST", absl::StrCat(Read("X", inside), " == ", Read("Y", outside), " ? ",
                                     Read("MARK", inside)))};
  std::string first = "FIRST";
  if (IsFloat(x.type())) {
    statements.push_back("NAN_MARK = isnan(X) ? MARK : 0");
    statements.push_back(first_of("FIRST_NAN", Read("NAN_MARK", inside)));
    first = "(isnan(Y) ? FIRST_NAN : FIRST)";
  }
  // The minimum never takes effect, because a maximum has a mark of 1 or more. It lets the compiler
  // prove that the indices are in range.
  statements.push_back(absl::StrCat("ROW_MAJOR = min(", count, " - ", first, ", ", count - 1, ")"));
  statements.push_back(absl::StrCat("INDICES = ", storage_order != 0
                                                      ? ColumnMajorPosition(x, "ROW_MAJOR")
                                                      : std::string("ROW_MAJOR")));
  return context.Apply(TileFunction("X", "Y, INDICES", statements));
}

// The number of elements of dimension `d` that the window at each output position covers. With
// `with_padding` the padding counts too.
std::vector<double> WindowCounts(const SlidingWindow& window, size_t d, int64_t input,
                                 bool with_padding) {
  const int64_t low = with_padding ? 0 : window.before[d];
  const int64_t high = window.before[d] + input + (with_padding ? window.after[d] : 0);
  std::vector<double> counts;
  for (int64_t y = 0; y < window.output[d]; ++y) {
    int64_t count = 0;
    for (int64_t k = 0; k < window.kernel[d]; ++k) {
      const int64_t position = y * window.strides[d] + k * window.dilations[d];
      count += position >= low && position < high ? 1 : 0;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

// Integers are refused: their sums would overflow, and the standard defines these pools for floats
// only.
absl::Status CheckFloats(const NodeContext& context) {
  const TensorShape& shape = context.input(0).shape();
  if (IsFloat(shape.type)) return absl::OkStatus();
  return Unsupported("operand 0 is ", shape.ToString(), ", but the operator takes floats only");
}

// Divides by the number of elements: one constant if it is equal for all windows, else one table
// per dimension.
Outputs AveragePool(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckFloats(context));
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const SlidingWindow window, ReadPool(context));
  TARTAN_ASSIGN_OR_RETURN(const int64_t include_pad, context.Int("count_include_pad", 0));
  const DataType type = ComputeType(x.type());
  std::vector<Tensor> operands = {x};
  std::string names = "X";
  std::vector<std::string> factors;
  double count = 1;
  for (size_t d = 0; d < window.rank(); ++d) {
    TARTAN_RETURN_IF_ERROR(CheckTable({window.output[d], window.kernel[d]}));
    const std::vector<double> counts = WindowCounts(window, d, x.dims()[d + 2], include_pad != 0);
    if (std::all_of(counts.begin(), counts.end(), [&](double c) { return c == counts[0]; })) {
      count *= counts.empty() ? 1 : counts[0];
      continue;
    }
    Sizes dims(window.rank() - d, 1);
    dims[0] = window.output[d];
    operands.push_back(ConstantOf(type, counts, dims));
    factors.push_back(absl::StrCat("COUNT", d));
    absl::StrAppend(&names, ", COUNT", d);
  }
  factors.push_back(Literal(count));
  std::string mean = absl::StrCat("S / (", absl::StrJoin(factors, " * "), ")");
  if (x.type() != type) mean = Cast(mean, x.type());  // counts have the compute type
  return context.Apply(
      TileFunction(names, "Y",
                   {PoolStatement("S", '+', "X", x, window), absl::StrCat("Y = ", mean)}),
      operands);
}

// The attribute p: a float in opset 1, an integer later.
absl::StatusOr<double> ReadNorm(const NodeContext& context) {
  if (context.opset() < 2) {
    TARTAN_ASSIGN_OR_RETURN(const float p, context.Float("p", 2.0f));
    return static_cast<double>(p);
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t p, context.Int("p", 2));
  if (p < 1) return Invalid("attribute 'p' is ", p);
  return static_cast<double>(p);
}

// The norm is (sum of |x|^p)^(1/p): NormTerm is the summand, NormRoot the root.
std::string NormTerm(double p) {
  if (p == 1) return "abs(X)";
  return p == 2 ? "X * X" : absl::StrCat("pow(abs(X), ", Literal(p), ")");
}

std::string NormRoot(double p) {
  if (p == 1) return "S";
  return p == 2 ? "sqrt(S)" : absl::StrCat("pow(S, ", Literal(1 / p), ")");
}

Outputs LpPool(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckFloats(context));
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const SlidingWindow window, ReadPool(context));
  TARTAN_ASSIGN_OR_RETURN(const double p, ReadNorm(context));
  return context.Apply(TileFunction(
      "X", "Y",
      {absl::StrCat("TERM = ", NormTerm(p)), PoolStatement("S", '+', "TERM", x, window),
       absl::StrCat("Y = ", NormRoot(p))}));
}

// A reduction over all spatial dimensions. `term` is an expression of X, `result` one of S.
Outputs GlobalPool(NodeContext& context, const std::string& term, char aggregation,
                   const std::string& result) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(SpatialDims(x).status());
  return context.Apply(
      TileFunction("X", "Y",
                   {absl::StrCat("TERM = ", term),
                    ReduceStatement("S", aggregation, "TERM", x.dims(), AxesFrom(2, x.rank())),
                    absl::StrCat("Y = ", result)}),
      {x});
}

Outputs GlobalAveragePool(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckFloats(context));
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes spatial, SpatialDims(x));
  return GlobalPool(context, "X", '+', absl::StrCat("S / ", Product(spatial)));
}

Outputs GlobalMaxPool(NodeContext& context) { return GlobalPool(context, "X", '>', "S"); }

Outputs GlobalLpPool(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckFloats(context));
  TARTAN_ASSIGN_OR_RETURN(const double p, ReadNorm(context));
  return GlobalPool(context, NormTerm(p), '+', NormRoot(p));
}

// Writes each element to its position in `indices`. Positions count in the flattened result of the
// window's size; a larger output_shape appends zeros.
Outputs MaxUnpool(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes input, SpatialDims(x));
  TARTAN_ASSIGN_OR_RETURN(Sizes kernel, context.Ints("kernel_shape"));
  if (kernel.size() != input.size()) {
    return Invalid("a kernel of ", DimsToString(kernel), " for ", x.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const SlidingWindow window,
                          ReadWindowAttributes(context, std::move(kernel)));
  Sizes dims = {x.dims()[0], x.dims()[1]};
  for (size_t d = 0; d < input.size(); ++d) {
    dims.push_back((input[d] - 1) * window.strides[d] + window.kernel[d] - window.before[d] -
                   window.after[d]);
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), dims}));
  const int64_t count = x.shape().element_count();
  TARTAN_RETURN_IF_ERROR(context.CheckInput(
      1, {{0, Product(dims) - 1, absl::StrCat("the result ", DimsToString(dims))}}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor zeros, Zeros(context, x.type(), {Product(dims)}));
  std::vector<std::string> statements = {
      absl::StrCat("FLAT = scatter_elements(Z, ", ReshapeCall("I", {count}), ", ",
                   ReshapeCall("X", {count}), ", 0, 0)"),
      absl::StrCat("P = ", ReshapeCall("FLAT", dims))};
  if (!context.HasInput(2))
    return context.Apply(TileFunction("X, I, Z", "P", statements), {x, context.input(1), zeros});
  TARTAN_ASSIGN_OR_RETURN(const Sizes wanted, context.HostInts(2));
  if (wanted.size() != dims.size()) {
    return Invalid("output_shape ", DimsToString(wanted), " for ", x.shape().ToString());
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), wanted}));
  const std::vector<std::string> names = IndexNames(x.rank());
  statements.push_back(absl::StrCat(Write("Y", names, wanted), " = =(", Read("P", names), ")"));
  return context.Apply(TileFunction("X, I, Z", "Y", statements), {x, context.input(1), zeros});
}

constexpr OperatorRow kOperators[] = {
    {"AveragePool", 1, {1, 1}, AveragePool},
    {"GlobalAveragePool", 1, {1, 1}, GlobalAveragePool},
    {"GlobalLpPool", 1, {1, 1}, GlobalLpPool},
    {"GlobalMaxPool", 1, {1, 1}, GlobalMaxPool},
    {"LpPool", 1, {1, 1}, LpPool},
    {"MaxPool", 1, {1, 1}, MaxPool},
    {"MaxUnpool", 9, {2, 3}, MaxUnpool, HostOperands(2)},
};

}  // namespace

absl::Span<const OperatorRow> PoolingOperators() { return kOperators; }

}  // namespace tartan::onnx
