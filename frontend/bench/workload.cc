// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "tile/autodiff/gradient.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::bench {
namespace {

using Sizes = std::vector<int64_t>;

struct ElementwiseFunction {
  absl::string_view name;
  absl::string_view expression;  // expression of A, and of B if there are two operands
  int operands;
  int operations;  // operations per element; each function counts as one
};

constexpr ElementwiseFunction kElementwiseFunctions[] = {
    {"relu", "max(A, 0)", 1, 1},
    {"sigmoid", "1 / (1 + exp(-A))", 1, 4},
    {"tanh", "tanh(A)", 1, 1},
    {"exp", "exp(A)", 1, 1},
    {"gelu", "0.5 * A * (1 + erf(A * 0.70710678118654752))", 1, 5},
    {"swish", "A / (1 + exp(-A))", 1, 4},
    {"add", "A + B", 2, 1},
    {"mul", "A * B", 2, 1},
    {"add_relu", "max(A + B, 0)", 2, 2},
    {"chain", "tanh(A * B + 0.5) * max(A - B, 0) / (1 + B * B)", 2, 9},
};

const ElementwiseFunction& FindFunction(absl::string_view name) {
  return *std::find_if(std::begin(kElementwiseFunctions), std::end(kElementwiseFunctions),
                       [name](const ElementwiseFunction& f) { return f.name == name; });
}

TensorShape Floats(Sizes dims) { return {DataType::kFloat32, std::move(dims)}; }

WorkloadInput Data(std::string name, Sizes dims) {
  return {std::move(name), Floats(std::move(dims))};
}

WorkloadInput Weight(std::string name, Sizes dims) {
  return {std::move(name), Floats(std::move(dims)), true};
}

WorkloadInput Positions(std::string name, Sizes dims, int64_t limit) {
  return {std::move(name), {DataType::kInt64, std::move(dims)}, false, limit};
}

double Count(const Sizes& dims) {
  double count = 1;
  for (const int64_t size : dims) count *= static_cast<double>(size);
  return count;
}

// "i0, i1, i2".
std::string Indices(size_t rank) {
  std::vector<std::string> names;
  for (size_t d = 0; d < rank; ++d) names.push_back(absl::StrCat("i", d));
  return absl::StrJoin(names, ", ");
}

// Writes a reduction along the last axis, which keeps size 1: "M[i0, 0 : 8, 1] = >(X[i0, i1]);".
std::string ReduceRow(absl::string_view target, char aggregation, absl::string_view source,
                      const Sizes& dims) {
  Sizes reduced = dims;
  reduced.back() = 1;
  const std::string outer = dims.size() == 1 ? "0" : absl::StrCat(Indices(dims.size() - 1), ", 0");
  return absl::StrCat(target, "[", outer, " : ", absl::StrJoin(reduced, ", "),
                      "] = ", std::string(1, aggregation), "(", source, "[", Indices(dims.size()),
                      "]);");
}

Workload Describe(const MatmulProblem& p) {
  Workload work;
  if (p.batch > 1) {
    work.inputs = {Data("A", {p.batch, p.m, p.k}), Data("B", {p.batch, p.k, p.n})};
    work.output = Floats({p.batch, p.m, p.n});
    work.tile = absl::Substitute(
        "function (A, B) -> (O) { O[b, i, j : $0, $1, $2] = +(A[b, i, k] * B[b, k, j]); }", p.batch,
        p.m, p.n);
  } else {
    work.inputs = {Data("A", {p.m, p.k}), Weight("B", {p.k, p.n})};
    work.output = Floats({p.m, p.n});
    work.tile = absl::Substitute(
        "function (A, B) -> (O) { O[i, j : $0, $1] = +(A[i, k] * B[k, j]); }", p.m, p.n);
  }
  for (WorkloadInput& input : work.inputs) input.shape.type = p.type;
  work.output.type = p.type;
  work.flops = 2.0 * p.batch * p.m * p.n * p.k;
  return work;
}

Sizes Arrange(const ConvolutionProblem& p, int64_t channels, int64_t height, int64_t width) {
  if (p.channels_last) return {p.batch, height, width, channels};
  return {p.batch, channels, height, width};
}

// "n, co, y, x" or "n, y, x, co".
std::string ArrangeIndices(const ConvolutionProblem& p, absl::string_view channel,
                           absl::string_view y, absl::string_view x) {
  if (p.channels_last) return absl::StrCat("n, ", y, ", ", x, ", ", channel);
  return absl::StrCat("n, ", channel, ", ", y, ", ", x);
}

Workload Describe(const ConvolutionProblem& p) {
  const int64_t group_channels = p.channels / p.groups;
  const int64_t group_outputs = p.outputs / p.groups;
  const bool is_depthwise = p.groups > 1 && group_outputs == 1;
  const bool is_grouped = p.groups > 1 && !is_depthwise;
  const std::string output_channel = is_depthwise ? std::string("g")
                                     : is_grouped ? absl::StrCat(group_outputs, "*g + co")
                                                  : std::string("co");
  const std::string input_channel = p.groups == 1         ? std::string("ci")
                                    : group_channels == 1 ? std::string("g")
                                                          : absl::StrCat(group_channels, "*g + ci");
  const std::string constraint = is_grouped ? absl::StrCat(", co < ", group_outputs) : "";
  Workload work;
  const Sizes output = Arrange(p, p.outputs, p.output_height(), p.output_width());
  work.inputs = {Data("X", Arrange(p, p.channels, p.height, p.width)),
                 Weight("W", {p.outputs, group_channels, p.kernel, p.kernel})};
  work.output = Floats(output);
  const auto position = [&p](absl::string_view out, absl::string_view tap) {
    return absl::StrCat(p.stride, "*", out, " + ", p.dilation, "*", tap, " - ", p.padding);
  };
  work.tile =
      absl::StrCat("function (X, W) -> (O) { O[", ArrangeIndices(p, output_channel, "y", "x"),
                   " : ", absl::StrJoin(output, ", "), "] = +(X[",
                   ArrangeIndices(p, input_channel, position("y", "r"), position("x", "s")),
                   "] * W[", output_channel, ", ", p.groups > 1 && group_channels == 1 ? "0" : "ci",
                   ", r, s])", constraint, "; }");
  work.flops = 2.0 * Count(output) * group_channels * p.kernel * p.kernel;
  return work;
}

Workload Describe(const PoolProblem& p) {
  Workload work;
  work.inputs = {Data("X", {p.batch, p.channels, p.height, p.width})};
  work.output = Floats({p.batch, p.channels, p.output_height(), p.output_width()});
  const bool is_max = p.kind == PoolKind::kMax;
  work.tile = absl::Substitute(
      "function (X) -> (O) { $0[n, c, y, x : $1] = $2(X[n, c, $3*y + r - $4, $3*x + s - $4]), "
      "r < $5, s < $5;$6 }",
      is_max ? "O" : "S", absl::StrJoin(work.output.dims, ", "), is_max ? ">" : "+", p.stride,
      p.padding, p.kernel, is_max ? "" : absl::StrCat(" O = S / ", p.kernel * p.kernel, ";"));
  work.flops = Count(work.output.dims) * p.kernel * p.kernel;
  return work;
}

Workload Describe(const ReduceProblem& p) {
  constexpr char kAggregations[] = {'+', '+', '>', '<'};
  Workload work;
  work.inputs = {Data("X", p.dims)};
  Sizes kept;
  std::vector<std::string> kept_indices;
  for (size_t d = 0; d < p.dims.size(); ++d) {
    if (p.axis < 0 || static_cast<int>(d) == p.axis) continue;
    kept.push_back(p.dims[d]);
    kept_indices.push_back(absl::StrCat("i", d));
  }
  const bool is_mean = p.kind == ReduceKind::kMean;
  const std::string sizes = kept.empty() ? "" : absl::StrCat(" : ", absl::StrJoin(kept, ", "));
  work.tile = absl::StrCat("function (X) -> (O) { ", is_mean ? "S" : "O", "[",
                           absl::StrJoin(kept_indices, ", "), sizes,
                           "] = ", std::string(1, kAggregations[static_cast<int>(p.kind)]), "(X[",
                           Indices(p.dims.size()), "]);");
  work.flops = Count(p.dims);
  if (is_mean) {
    // Clamped, because CheckSizes rejects too large sizes only later.
    const double elements = std::min(Count(p.dims) / Count(kept), 0x1p53);
    absl::StrAppend(&work.tile, " O = S / ", static_cast<int64_t>(elements), ";");
  }
  absl::StrAppend(&work.tile, " }");
  work.output = Floats(std::move(kept));
  return work;
}

Workload Describe(const SoftmaxProblem& p) {
  Workload work;
  work.inputs = {Data("X", p.dims)};
  work.output = Floats(p.dims);
  work.tile = absl::StrCat(
      "function (X) -> (O) { ", ReduceRow("M", '>', "X", p.dims), " E = exp(X - M); ",
      ReduceRow("S", '+', "E", p.dims),
      " O = custom_gradient(E / S, rule, X); } function rule (X, O, G) -> (D) { P = O * G; ",
      ReduceRow("T", '+', "P", p.dims), " D = O * (G - T); }");
  work.flops = 5 * Count(p.dims);
  return work;
}

Workload Describe(const LayerNormProblem& p) {
  Workload work;
  const int64_t row = p.dims.back();
  work.inputs = {Data("X", p.dims), Weight("A", {row}), Weight("B", {row})};
  work.output = Floats(p.dims);
  work.tile =
      absl::StrCat("function (X, A, B) -> (O) { ", ReduceRow("S", '+', "X", p.dims), " MEAN = S / ",
                   row, "; C = X - MEAN; Q = C * C; ", ReduceRow("V", '+', "Q", p.dims),
                   " VAR = V / ", row, "; INV = 1 / sqrt(VAR + 0.00001); O = C * INV * A + B; }");
  work.flops = 8 * Count(p.dims);
  return work;
}

Workload Describe(const TransposeProblem& p) {
  Workload work;
  work.inputs = {Data("X", p.dims)};
  Sizes output;
  std::vector<std::string> indices;
  for (const int axis : p.order) {
    output.push_back(p.dims[static_cast<size_t>(axis)]);
    indices.push_back(absl::StrCat("i", axis));
  }
  work.tile =
      absl::StrCat("function (X) -> (O) { O[", absl::StrJoin(indices, ", "), " : ",
                   absl::StrJoin(output, ", "), "] = =(X[", Indices(p.dims.size()), "]); }");
  work.output = Floats(std::move(output));
  return work;
}

Workload Describe(const ElementwiseProblem& p) {
  const ElementwiseFunction& function = FindFunction(p.function);
  Workload work;
  work.inputs = {Data("A", p.dims)};
  if (function.operands == 2) work.inputs.push_back(Data("B", p.dims));
  work.output = Floats(p.dims);
  work.tile = absl::StrCat("function (", function.operands == 2 ? "A, B" : "A",
                           ") -> (O) { O = ", function.expression, "; }");
  work.flops = function.operations * Count(p.dims);
  return work;
}

Workload Describe(const GatherProblem& p) {
  Workload work;
  work.inputs = {Data("X", p.dims), Positions("I", {p.count}, p.dims[static_cast<size_t>(p.axis)])};
  work.output = Floats(p.dims);
  work.output.dims[static_cast<size_t>(p.axis)] = p.count;
  work.tile = absl::StrCat("function (X, I) -> (O) { O = gather(X, I, ", p.axis, "); }");
  return work;
}

Workload Describe(const ScatterProblem& p) {
  Workload work;
  Sizes updates = p.dims;
  updates[0] = p.count;
  work.inputs = {Data("X", p.dims), Positions("I", {p.count, 1}, p.dims[0]), Data("U", updates)};
  work.output = Floats(p.dims);
  work.tile =
      absl::StrCat("function (X, I, U) -> (O) { O = scatter_nd(X, I, U, ", p.add ? 1 : 0, "); }");
  work.flops = p.add ? Count(updates) : 0;
  return work;
}

Workload Describe(const SortProblem& p) {
  Workload work;
  work.inputs = {Data("X", p.dims)};
  work.output = Floats(p.dims);
  work.tile = absl::StrCat("function (X) -> (O) { O = sort(X, ", p.axis, "); }");
  work.flops =
      Count(p.dims) * std::log2(static_cast<double>(p.dims[static_cast<size_t>(p.axis)]) + 1);
  return work;
}

// True if the gradient by an input does not read that input.
bool IsLinear(const Operator& op) {
  if (const auto* pool = std::get_if<PoolProblem>(&op)) return pool->kind == PoolKind::kAverage;
  if (const auto* reduce = std::get_if<ReduceProblem>(&op)) {
    return reduce->kind == ReduceKind::kSum || reduce->kind == ReduceKind::kMean;
  }
  return std::holds_alternative<MatmulProblem>(op) ||
         std::holds_alternative<ConvolutionProblem>(op) ||
         std::holds_alternative<TransposeProblem>(op) || std::holds_alternative<GatherProblem>(op);
}

double Bytes(const TensorShape& shape) { return Count(shape.dims) * ByteWidth(shape.type); }

// Bytes read and written if every tensor is touched once.
double MinimumBytes(const Problem& problem, const Workload& work) {
  if (const auto* gather = std::get_if<GatherProblem>(&problem.op)) {
    // The forward direction reads only the gathered elements; the gradient writes all of the data.
    const double data = work.gradient_of < 0 ? Bytes(work.output) : Bytes(work.inputs[0].shape);
    return data + Bytes(work.output) + 8.0 * gather->count;
  }
  double bytes = Bytes(work.output);
  for (size_t i = 0; i < work.inputs.size(); ++i) {
    const bool is_differentiated = static_cast<int>(i) == work.gradient_of;
    const double size = Bytes(work.inputs[i].shape);
    if (is_differentiated) bytes += size;  // its gradient
    if (!is_differentiated || !IsLinear(problem.op)) bytes += size;
  }
  return bytes;
}

uint64_t NextRandom(uint64_t* state) {  // splitmix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

HostTensor RandomValue(const WorkloadInput& input, uint64_t* state) {
  const auto count = static_cast<size_t>(input.shape.element_count());
  if (input.positions > 0) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) {
      value = static_cast<int64_t>(NextRandom(state) % static_cast<uint64_t>(input.positions));
    }
    return HostTensor::FromVector(input.shape, values);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(input.shape.byte_size()));
  for (size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(NextRandom(state) >> 40) * 0x1p-23f - 1;
    StoreElement(input.shape.type, double{value}, static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor(input.shape, bytes);
}

}  // namespace

Workload MakeWorkload(const Problem& problem) {
  Workload work = std::visit([](const auto& op) { return Describe(op); }, problem.op);
  if (problem.direction == Direction::kBackwardData) work.gradient_of = 0;
  if (problem.direction == Direction::kBackwardWeights) work.gradient_of = 1;
  work.bytes = MinimumBytes(problem, work);
  return work;
}

absl::StatusOr<WorkloadProgram> MakeProgram(const Workload& workload, absl::string_view name) {
  WorkloadProgram result;
  result.inputs = workload.inputs;
  std::vector<TensorShape> shapes;
  for (const WorkloadInput& input : workload.inputs) shapes.push_back(input.shape);
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(workload.tile, name));
  lang::BindOptions options;
  options.text = workload.tile;
  TARTAN_ASSIGN_OR_RETURN(ir::Program program, lang::Bind(function, shapes, options));
  if (workload.gradient_of >= 0) {
    autodiff::GradientOptions gradient;
    gradient.seeded = true;
    TARTAN_ASSIGN_OR_RETURN(program, autodiff::Gradient(program, {workload.gradient_of}, gradient));
    program.outputs = {program.outputs.back()};
    program.output_names = {program.output_names.back()};
    result.inputs.push_back({"seed", workload.output});
  }
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (result.inputs[i].is_constant) continue;
    program.outputs.push_back(program.inputs[i]);
    program.output_names.push_back(absl::StrCat("KEPT", i));
  }
  result.program.set_name(std::string(name));
  result.program.set_code(ir::ToTile(program));
  for (const WorkloadInput& input : result.inputs) {
    proto::Program::Input* declared = result.program.add_inputs();
    declared->set_name(input.name);
    declared->mutable_shape()->set_type(static_cast<proto::DataType>(input.shape.type));
    for (const int64_t size : input.shape.dims) declared->mutable_shape()->add_dims(size);
    declared->set_is_constant(input.is_constant);
  }
  return result;
}

std::vector<HostTensor> RandomValues(absl::Span<const WorkloadInput> inputs) {
  uint64_t state = 1;
  std::vector<HostTensor> values;
  for (const WorkloadInput& input : inputs) values.push_back(RandomValue(input, &state));
  return values;
}

std::vector<std::string> ElementwiseFunctions() {
  std::vector<std::string> names;
  for (const ElementwiseFunction& f : kElementwiseFunctions) names.emplace_back(f.name);
  return names;
}

absl::Status CheckSizes(const Problem& problem) {
  const Workload work = MakeWorkload(problem);
  TARTAN_RETURN_IF_ERROR(CheckShape(work.output));
  for (const WorkloadInput& input : work.inputs) {
    TARTAN_RETURN_IF_ERROR(CheckShape(input.shape));
  }
  return absl::OkStatus();
}

}  // namespace tartan::bench
