// SPDX-License-Identifier: Apache-2.0
// Random number operators.
// - A node with a seed gives the numbers of NumPy's legacy generator (numpy.random.RandomState), as
//   ONNX's reference evaluator does. They are computed on the host.
// - A node without a seed has its own stream, computed on the device. It is the same on every
//   device and in every run.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/onnx/tile_text/dropout.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum elements computed on the host (empirical). Larger results of a seed come from the
// device's own generator.
constexpr int64_t kMaxHostElements = int64_t{1} << 24;
// The second key word of nodes without a seed. Nodes with a seed have 0.
constexpr uint32_t kOwnStream = 0x7a7a2a01;

// --- NumPy's legacy generator

// A multiple of 2^-53 in [0, 1) from two words.
double NextUniform(std::mt19937& words) {
  const uint64_t high = words() >> 5;
  const uint64_t low = words() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

// Marsaglia's polar method, two numbers at a time, the second coordinate first.
std::vector<double> NormalNumbers(uint32_t seed, int64_t count) {
  std::mt19937 words(seed);
  std::vector<double> numbers;
  while (static_cast<int64_t>(numbers.size()) < count) {
    const double x = 2 * NextUniform(words) - 1;
    const double y = 2 * NextUniform(words) - 1;
    const double square = x * x + y * y;
    if (square >= 1 || square == 0) continue;
    const double scale = std::sqrt(-2 * std::log(square) / square);
    numbers.push_back(scale * y);
    numbers.push_back(scale * x);
  }
  numbers.resize(static_cast<size_t>(count));
  return numbers;
}

// Uniform numbers in [0, 1). float32 numbers are rounded down, so that they stay below 1 and
// compare with any float32 number as the exact numbers do.
HostTensor UniformNumbers(uint32_t seed, const TensorShape& shape) {
  std::mt19937 words(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    double number = NextUniform(words);
    if (shape.type == DataType::kFloat32) number = std::floor(number * 0x1p53 * 0x1p-29) * 0x1p-24;
    StoreElement(shape.type, number, i, bytes.data());
  }
  return HostTensor(shape, bytes);
}

// --- Numbers for a node

// Non-negative whole numbers seed as in NumPy; others by their bit pattern.
absl::StatusOr<std::optional<uint32_t>> FloatSeed(const NodeContext& context) {
  if (!context.HasAttribute("seed")) return std::optional<uint32_t>();
  TARTAN_ASSIGN_OR_RETURN(const float seed, context.Float("seed"));
  if (std::isnan(seed)) return std::optional<uint32_t>();
  const bool is_word = seed >= 0 && seed < 0x1p32f && seed == std::floor(seed);
  return std::optional<uint32_t>(is_word ? static_cast<uint32_t>(seed)
                                         : std::bit_cast<uint32_t>(seed));
}

absl::StatusOr<Tensor> DeviceUniform(NodeContext& context, std::optional<uint32_t> seed,
                                     const TensorShape& shape) {
  std::vector<uint32_t> key = {seed.value_or(0), 0};
  if (!seed.has_value()) {
    TARTAN_ASSIGN_OR_RETURN(const uint32_t stream, context.services().NextStream());
    key = {stream, kOwnStream};
  }
  const int64_t count = shape.element_count();
  std::vector<std::string> statements = {absl::StrCat("R = prng(S, 2, ", count, ")")};
  // float64 needs two words.
  const std::string row = absl::StrCat("[i : ", count, "] = =(R[");
  statements.push_back(absl::StrCat("A", row, "0, i])"));
  if (shape.type == DataType::kFloat64) {
    statements.push_back(absl::StrCat("B", row, "1, i])"));
    statements.push_back("U = as_float(A, 64) + as_float(B, 64) * " + Literal(0x1p-24));
  } else {
    statements.push_back("U = " + Cast("A", shape.type));
  }
  statements.push_back(absl::StrCat("Y = ", ReshapeCall("U", shape.dims)));
  return context.ApplyOne(
      TileFunction("S", "Y", statements),
      {Tensor::Constant(HostTensor::FromVector(TensorShape{DataType::kUInt32, {2}}, key))});
}

// Independent uniform numbers in [0, 1). `shape` is of float32 or float64.
absl::StatusOr<Tensor> Uniform(NodeContext& context, std::optional<uint32_t> seed,
                               const TensorShape& shape) {
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  if (!seed.has_value() || shape.element_count() > kMaxHostElements) {
    return DeviceUniform(context, seed, shape);
  }
  return Tensor::Constant(UniformNumbers(*seed, shape));
}

// Independent normal numbers of mean 0 and variance 1. `shape` is of float32 or float64.
absl::StatusOr<Tensor> Normal(NodeContext& context, std::optional<uint32_t> seed,
                              const TensorShape& shape) {
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  const int64_t count = shape.element_count();
  if (seed.has_value() && count <= kMaxHostElements) {
    return ConstantOf(shape.type, NormalNumbers(*seed, count), shape.dims);
  }
  const TensorShape pairs{shape.type, {2, count}};
  TARTAN_RETURN_IF_ERROR(CheckShape(pairs));
  TARTAN_ASSIGN_OR_RETURN(const Tensor uniform, DeviceUniform(context, seed, pairs));
  // Box-Muller transform: the radius from one number, the angle from the other.
  const std::string row = absl::StrCat("[i : ", count, "] = =(U[");
  return context.ApplyOne(
      TileFunction("U", "Y",
                   {absl::StrCat("A", row, "0, i])"), absl::StrCat("B", row, "1, i])"),
                    "N = sqrt(-2 * log(1 - A)) * cos(6.283185307179586 * B)",  // 2 pi
                    absl::StrCat("Y = ", ReshapeCall("N", shape.dims))}),
      {uniform});
}

// The type in which numbers are computed before they are rounded to `type`.
DataType WorkingType(DataType type) {
  return type == DataType::kFloat64 ? type : DataType::kFloat32;
}

// --- Operators

// The result shape of a distribution's node: the operand's shape, or else an attribute.
absl::StatusOr<TensorShape> ShapeToMake(const NodeContext& context) {
  TensorShape shape{DataType::kFloat32, {}};
  if (context.input_count() > 0) {
    shape = context.input(0).shape();
  } else {
    TARTAN_ASSIGN_OR_RETURN(shape.dims, context.Ints("shape"));
  }
  TARTAN_ASSIGN_OR_RETURN(shape.type, context.Type("dtype", shape.type));
  if (!IsFloat(shape.type)) return Invalid("random numbers of type ", Name(shape.type));
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

// numbers * scale + offset
Outputs Scaled(const NodeContext& context, const Tensor& numbers, double scale, double offset,
               DataType type) {
  const std::string value = absl::StrCat("X * ", Literal(scale), " + ", Literal(offset));
  return context.Apply(TileFunction("X", "Y", {"Y = " + Cast(value, type)}), {numbers});
}

Outputs RandomUniform(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ShapeToMake(context));
  TARTAN_ASSIGN_OR_RETURN(const std::optional<uint32_t> seed, FloatSeed(context));
  TARTAN_ASSIGN_OR_RETURN(const float low, context.Float("low", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const float high, context.Float("high", 1.0f));
  const DataType type = std::exchange(shape.type, WorkingType(shape.type));
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers, Uniform(context, seed, shape));
  return Scaled(context, numbers, double{high} - double{low}, low, type);
}

Outputs RandomNormal(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ShapeToMake(context));
  TARTAN_ASSIGN_OR_RETURN(const std::optional<uint32_t> seed, FloatSeed(context));
  TARTAN_ASSIGN_OR_RETURN(const float mean, context.Float("mean", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("scale", 1.0f));
  const DataType type = std::exchange(shape.type, WorkingType(shape.type));
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers, Normal(context, seed, shape));
  return Scaled(context, numbers, scale, mean, type);
}

// 1 with the probability in the operand's element, else 0.
Outputs Bernoulli(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (!IsFloat(x.type())) return Invalid("probabilities of type ", Name(x.type()));
  TARTAN_ASSIGN_OR_RETURN(const DataType type, context.Type("dtype", x.type()));
  TARTAN_ASSIGN_OR_RETURN(const std::optional<uint32_t> seed, FloatSeed(context));
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers,
                          Uniform(context, seed, {WorkingType(x.type()), x.dims()}));
  return context.Apply(TileFunction("X, U", "Y", {"Y = " + Cast("U < X", type)}), {x, numbers});
}

// Operand: log weights of the classes, one row per sample of the batch. Result: sampled classes in
// the same rows.
Outputs Multinomial(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const DataType type, context.Type("dtype", DataType::kInt32));
  TARTAN_ASSIGN_OR_RETURN(const int64_t samples, context.Int("sample_size", 1));
  TARTAN_ASSIGN_OR_RETURN(const std::optional<uint32_t> seed, FloatSeed(context));
  if (x.rank() != 2 || x.dims()[1] == 0 || !IsFloat(x.type())) {
    return Invalid("expected weights of rows of classes, got ", x.shape().ToString());
  }
  if (type != DataType::kInt32 && type != DataType::kInt64) {
    return Invalid("classes of type ", Name(type));
  }
  if (samples < 1) return Invalid("sample_size is ", samples);
  const int64_t rows = x.dims()[0];
  const int64_t classes = x.dims()[1];
  const DataType working = WorkingType(x.type());
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers, Uniform(context, seed, {working, {rows, samples}}));
  // The class is the number of running sums up to a random part of the total. Sums equal to the
  // total are not counted, so that trailing classes of weight 0 are never chosen.
  return context.Apply(
      TileFunction(
          "X, U", "Y",
          {absl::StrCat("M[b, z : ", rows, ", 1] = >(X[b, c])"), "P = cumsum(exp(X - M), 1)",
           absl::StrCat("T[b, z : ", rows, ", 1] = =(P[b, z + ", classes - 1, "])"),
           absl::StrCat("P3 = reshape(P, ", rows, ", 1, ", classes, ")"),
           absl::StrCat("T3 = reshape(T, ", rows, ", 1, 1)"),
           absl::StrCat("V3 = reshape(U * T, ", rows, ", ", samples, ", 1)"),
           "H = " + Cast("P3 <= V3 && P3 < T3", type),
           absl::StrCat("Y[b, s : ", rows, ", ", samples, "] = +(H[b, s, c])")}),
      {x, numbers});
}

// Dropout without dropping: the operand, and a mask of ones.
Outputs KeepAll(const NodeContext& context) {
  const Tensor& x = context.input(0);
  std::vector<Tensor> outputs = {x};
  if (context.WantsOutput(1)) {
    // Before opset 10 the mask has the type of the operand.
    const DataType type = context.opset() < 10 ? x.type() : DataType::kBool;
    TARTAN_ASSIGN_OR_RETURN(Tensor mask, Fill(context, ConstantScalar(type, 1), x.dims()));
    outputs.push_back(std::move(mask));
  }
  return outputs;
}

// The seed of Dropout: an integer, of which NumPy takes 32 bits.
absl::StatusOr<std::optional<uint32_t>> IntSeed(const NodeContext& context) {
  if (!context.HasAttribute("seed")) return std::optional<uint32_t>();
  TARTAN_ASSIGN_OR_RETURN(const int64_t seed, context.Int("seed"));
  return std::optional<uint32_t>(static_cast<uint32_t>(seed));
}

// The ratio of a node: an attribute before operator set 12.
absl::StatusOr<double> RatioOf(NodeContext& context) {
  if (context.HasInput(1)) return context.HostFloat(1);
  TARTAN_ASSIGN_OR_RETURN(const float ratio, context.Float("ratio", 0.5f));
  return static_cast<double>(ratio);
}

// Dropout when the caller trains the model, which is usually exported for inference.
Outputs DropoutInTraining(NodeContext& context, const TrainingMode& training) {
  double ratio = training.dropout_ratio.value_or(0);
  if (!training.dropout_ratio.has_value()) {
    TARTAN_ASSIGN_OR_RETURN(ratio, RatioOf(context));
  }
  const Tensor& x = context.input(0);
  if (ratio == 0 || x.shape().element_count() == 0) return KeepAll(context);
  TARTAN_ASSIGN_OR_RETURN(const uint32_t stream, context.services().NextStream());
  const Tensor& seed = context.services().RandomSeed();
  const std::string label = LabelOf(context.node());
  if (!context.WantsOutput(1)) return OneTensor(Dropped(x, ratio, seed, stream, label));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made, DroppedWithMask(x, ratio, seed, stream, label));
  if (context.opset() < 10) {
    TARTAN_ASSIGN_OR_RETURN(
        made[1], api::Apply(TileFunction("M", "N", {"N = " + Cast("M", x.type())}), {made[1]}));
  }
  return made;
}

// Drops each element with probability `ratio` and scales the others up, in training mode.
Outputs Dropout(NodeContext& context) {
  const Tensor& x = context.input(0);
  int64_t is_training = 0;
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(is_training, context.HostInt(2));
  }
  if (const TrainingMode* training = context.services().training(); training != nullptr) {
    return training->dropout ? DropoutInTraining(context, *training) : KeepAll(context);
  }
  if (is_training == 0) return KeepAll(context);
  const Tensor ratio = context.HasInput(1) ? context.input(1) : ConstantScalar(x.type(), 0.5);
  if (ratio.shape().element_count() != 1 || !IsFloat(ratio.type()) || !IsFloat(x.type())) {
    return Invalid("ratio ", ratio.shape().ToString(), " for ", x.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor scalar, Reshape(context, ratio, {}));
  if (const HostTensor* value = scalar.constant()) {
    const double known = value->GetDouble(0);
    if (known == 0) return KeepAll(context);
    if (!(known > 0 && known < 1)) return Invalid("ratio ", known, " is not in [0, 1)");
  }
  TARTAN_ASSIGN_OR_RETURN(const std::optional<uint32_t> seed, IntSeed(context));
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers,
                          Uniform(context, seed, {WorkingType(ratio.type()), x.dims()}));
  const std::string kept = Cast("M", WorkingType(x.type()));
  const std::string value =
      absl::StrCat("X * ", kept, " * ", Cast("1 / (1 - R)", WorkingType(x.type())));
  return context.Apply(
      TileFunction("X, R, U", "Y, M", {"M = U >= R", "Y = " + Cast(value, x.type())}),
      {x, scalar, numbers});
}

constexpr OperatorRow kOperators[] = {
    {"Bernoulli", 15, {1, 1}, Bernoulli},
    {"Dropout", 1, {1, 3}, Dropout, HostOperands(2)},
    {"Multinomial", 7, {1, 1}, Multinomial},
    {"RandomNormal", 1, {0, 0}, RandomNormal},
    {"RandomNormalLike", 1, {1, 1}, RandomNormal},
    {"RandomUniform", 1, {0, 0}, RandomUniform},
    {"RandomUniformLike", 1, {1, 1}, RandomUniform},
};

}  // namespace

absl::Span<const OperatorRow> RandomOperators() { return kOperators; }

}  // namespace tartan::onnx
