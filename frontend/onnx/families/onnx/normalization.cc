// SPDX-License-Identifier: Apache-2.0
// Normalizations by given statistics, and by statistics of the operand.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/batch_norm_text.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Axes = std::vector<int64_t>;

absl::Status CheckRank(const Tensor& x, int64_t least) {
  if (x.rank() >= least) return absl::OkStatus();
  return Invalid("operand 0: expected rank ", least, " or more, got ", x.shape().ToString());
}

// Checks that operands `first` to `last` are vectors of `count` elements.
absl::Status CheckVectors(const NodeContext& context, int first, int last, int64_t count) {
  for (int i = first; i <= last; ++i) {
    if (context.HasInput(i)) TARTAN_RETURN_IF_ERROR(context.CheckCount(i, count));
  }
  return absl::OkStatus();
}

size_t SpatialRank(const Tensor& x) { return static_cast<size_t>(x.rank() - 2); }

// The gradient of NORM.
std::string StandardizeRule(const Tensor& x, const Axes& axes, bool is_centered) {
  std::vector<std::string> statements =
      GradientSums(x.dims(), axes, is_centered ? "(X - MEAN)" : "X");
  statements.push_back(is_centered ? "DX = (DY - SHIFT - (X - MEAN) * SLOPE) * INV"
                                   : "DX = (DY - X * SLOPE) * INV");
  return GradientRule(is_centered ? "X, MEAN, INV" : "X, INV", "DX", statements);
}

// Applies batch normalization by the examples of several ranks (TrainingMode), and adds the
// exchanges of both passes to the updates.
Outputs JoinBatchNormalization(NodeContext& context, const std::vector<std::string>& statements,
                               int64_t ranks) {
  const Tensor& x = context.input(0);
  if (x.type() != DataType::kFloat32) {
    return Unsupported("batch statistics of several ranks need float32 values, not ",
                       Name(x.type()));
  }
  const int64_t channels = x.dims()[1];
  const auto place = [&](const char* name, std::vector<int64_t> dims) {
    return Tensor::Placeholder(name, {DataType::kFloat32, std::move(dims)});
  };
  const Tensor all = place("statistics", {ranks, 3, channels});
  const Tensor own_sums = place("own_sums", {2, channels});
  const Tensor sums = place("sums", {ranks, 2, channels});
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> made,
      context.Apply(
          absl::StrCat(TileFunction("X, A, B, M, V, ALL, OWNSUMS, SUMS",
                                    "Y, NEWMEAN, NEWVAR, MEAN, INV, COUNT, OWN", statements),
                       JointBatchNormalizationRule(x.dims())),
          {x, context.input(1), context.input(2), context.input(3), context.input(4), all, own_sums,
           sums}));
  context.services().Update(all, made.back());
  context.services().Update(own_sums, sums);
  return made;
}

// Uses the operand's statistics over all dimensions but the channels, and updates the running
// statistics. Results: Y, both running statistics, and statistics that the gradient reads.
Outputs BatchNormalizationTraining(NodeContext& context, float epsilon) {
  const Tensor& x = context.input(0);
  const TrainingMode* mode = context.services().training();
  const int64_t ranks = mode == nullptr ? 0 : mode->joint_ranks;
  TARTAN_ASSIGN_OR_RETURN(const float momentum, context.Float("momentum", 0.9f));
  const int64_t channels = x.dims()[1];
  std::vector<std::string> statements = ranks > 0 ? JointBatchStatistics(x.dims(), epsilon, ranks)
                                                  : BatchStatistics(x.dims(), epsilon);
  statements.push_back(absl::StrCat("Z = NORM * ", PerChannel("A", channels, SpatialRank(x)), " + ",
                                    PerChannel("B", channels, SpatialRank(x))));
  statements.push_back(absl::StrCat("Y = custom_gradient(Z, rule, X, A, B, ",
                                    ranks > 0 ? "OWNSUMS, SUMS, MEAN, INV, COUNT)" : "MEAN, INV)"));
  const auto running = [&](int operand, const char* name, const char* current) {
    return Cast(absl::StrCat(name, " * ", Literal(momentum), " + ",
                             ReshapeCall(current, {channels}), " * ", Literal(1.0 - momentum)),
                context.input(operand).type());
  };
  statements.push_back(absl::StrCat("NEWMEAN = ", running(3, "M", "MEAN")));
  statements.push_back(absl::StrCat("NEWVAR = ", running(4, "V", "VAR")));
  if (ranks > 0) return JoinBatchNormalization(context, statements, ranks);
  return context.Apply(
      absl::StrCat(TileFunction("X, A, B, M, V", "Y, NEWMEAN, NEWVAR, MEAN, INV", statements),
                   BatchNormalizationRule(x.dims())));
}

// Combines the statistics into one factor and one summand per channel, which depend on weights
// alone.
Outputs BatchNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckRank(x, 1));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t training, context.Int("training_mode", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t spatial, context.Int("spatial", 1));
  if (spatial == 0 && context.input(1).rank() > 1) {
    // Statistics per element broadcast over the batch unchanged.
    return context.Apply(
        TileFunction("X, A, B, M, V", "Y",
                     {absl::StrCat("Y = (X - M) / sqrt(V + ", Literal(epsilon), ") * A + B")}));
  }
  const int64_t channels = x.rank() > 1 ? x.dims()[1] : 1;
  TARTAN_RETURN_IF_ERROR(CheckVectors(context, 1, 4, channels));
  if (training != 0) {
    TARTAN_RETURN_IF_ERROR(CheckRank(x, 2));
    TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made, BatchNormalizationTraining(context, epsilon));
    made.resize(3);
    return made;
  }
  const TrainingMode* mode = context.services().training();
  if (mode != nullptr && mode->batch_norm && x.rank() >= 2) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                            BatchNormalizationTraining(context, epsilon));
    context.services().Update(context.input(3), made[1]);
    context.services().Update(context.input(4), made[2]);
    return std::vector<Tensor>{made[0]};
  }
  const size_t spatial_rank = static_cast<size_t>(std::max<int64_t>(0, x.rank() - 2));
  return context.Apply(TileFunction(
      "X, A, B, M, V", "Y",
      {absl::StrCat("FACTOR = A / sqrt(V + ", Literal(epsilon), ")"), "SUMMAND = B - M * FACTOR",
       absl::StrCat("Z = X * ", PerChannel("FACTOR", channels, spatial_rank), " + ",
                    PerChannel("SUMMAND", channels, spatial_rank)),
       absl::StrCat("Y = ", x.type() == context.input(3).type() ? "Z" : Cast("Z", x.type()))}));
}

Outputs InstanceNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(SpatialDims(x).status());
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  const int64_t channels = x.dims()[1];
  TARTAN_RETURN_IF_ERROR(CheckVectors(context, 1, 2, channels));
  std::vector<std::string> statements =
      StandardizeStatements("X", x.dims(), AxesFrom(2, x.rank()), epsilon);
  statements.push_back(absl::StrCat("Y = NORM * ", PerChannel("A", channels, SpatialRank(x)), " + ",
                                    PerChannel("B", channels, SpatialRank(x))));
  return context.Apply(TileFunction("X, A, B", "Y", statements));
}

// Scale and bias are per group before opset 21, and per channel from then on.
Outputs GroupNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckRank(x, 2));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t groups, context.Int("num_groups"));
  const int64_t channels = x.dims()[1];
  if (groups < 1 || channels % groups != 0) {
    return Invalid("num_groups ", groups, " does not divide channels ", channels);
  }
  const bool is_per_group = context.opset() < 21;
  TARTAN_RETURN_IF_ERROR(CheckVectors(context, 1, 2, is_per_group ? groups : channels));
  const int64_t per_group = ReducedCount(x.dims(), AxesFrom(1, x.rank())) / groups;
  const std::vector<int64_t> apart = {x.dims()[0], groups, per_group};
  std::vector<std::string> statements = {absl::StrCat("G = ", ReshapeCall("X", apart))};
  for (std::string& statement : StandardizeStatements("G", apart, {2}, epsilon)) {
    statements.push_back(std::move(statement));
  }
  statements.push_back("N = NORM");
  if (is_per_group) {
    statements.push_back(
        absl::StrCat("S = N * ", PerChannel("A", groups, 1), " + ", PerChannel("B", groups, 1)));
    statements.push_back(absl::StrCat("Y = ", ReshapeCall("S", x.dims())));
  } else {
    statements.push_back(absl::StrCat("Y = ", ReshapeCall("N", x.dims()), " * ",
                                      PerChannel("A", channels, SpatialRank(x)), " + ",
                                      PerChannel("B", channels, SpatialRank(x))));
  }
  return context.Apply(TileFunction("X, A, B", "Y", statements));
}

// Normalizes operand 0 from `axis` on; operand 1 is the scale, the optional operand 2 the bias. In
// training the statistics are results, because the gradient reads them.
Outputs NormalizeLayer(NodeContext& context, bool is_centered) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -1, x.rank()));
  const Axes axes = AxesFrom(axis, x.rank());
  std::vector<std::string> statements =
      StandardizeStatements("X", x.dims(), axes, epsilon, is_centered);
  const bool has_bias = context.HasInput(2);
  const DataType scale_type = context.input(1).type();
  statements.push_back(is_centered ? "N = custom_gradient(NORM, rule, X, MEAN, INV)"
                                   : "N = custom_gradient(NORM, rule, X, INV)");
  statements.push_back(
      absl::StrCat("Y = ", Cast(absl::StrCat("N * A", has_bias ? " + B" : ""), scale_type)));
  // The statistics are float32 for every operand type.
  const bool trains = context.services().training() != nullptr;
  std::string outputs = "Y";
  if (is_centered && (trains || context.WantsOutput(1) || context.WantsOutput(2))) {
    statements.push_back(absl::StrCat("MEANOUT = ", Cast("MEAN", DataType::kFloat32)));
    outputs += ", MEANOUT";
  }
  if (trains || context.WantsOutput(is_centered ? 2 : 1)) {
    statements.push_back(absl::StrCat("INVOUT = ", Cast("INV", DataType::kFloat32)));
    outputs += ", INVOUT";
  }
  return context.Apply(
      absl::StrCat(TileFunction(has_bias ? "X, A, B" : "X, A", outputs, statements),
                   StandardizeRule(x, axes, is_centered)));
}

Outputs LayerNormalization(NodeContext& context) { return NormalizeLayer(context, true); }

Outputs RmsNormalization(NodeContext& context) { return NormalizeLayer(context, false); }

// Microsoft's LayerNormalization of input + skip + bias, over the last axis. The operands after
// skip are gamma, beta (centered form only) and bias.
Outputs NormalizeSkipLayer(NodeContext& context, bool is_centered) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckRank(x, 1));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-12f));
  const int bias = is_centered ? 4 : 3;
  std::vector<Tensor> operands = {x, context.input(1), context.input(2)};
  std::string names = "IN, SKIP, A";
  std::string value = "Z * A";
  std::string sum = "IN + SKIP";
  if (is_centered && context.HasInput(3)) {
    operands.push_back(context.input(3));
    names += ", B";
    value += " + B";
  }
  if (context.HasInput(bias)) {
    operands.push_back(context.input(bias));
    names += ", BIAS";
    sum += " + BIAS";
  }
  std::vector<std::string> statements = {absl::StrCat("X = ", sum)};
  for (std::string& statement :
       StandardizeStatements("X", x.dims(), {x.rank() - 1}, epsilon, is_centered)) {
    statements.push_back(std::move(statement));
  }
  statements.push_back("Z = NORM");
  statements.push_back(absl::StrCat("Y = ", value));
  if (!is_centered) statements.push_back("MEAN = VAR * 0");
  return context.Apply(TileFunction(names, "Y, MEAN, INV, X", statements), operands);
}

Outputs SkipLayerNormalization(NodeContext& context) { return NormalizeSkipLayer(context, true); }

Outputs SkipRmsNormalization(NodeContext& context) { return NormalizeSkipLayer(context, false); }

Outputs MeanVarianceNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Axes given, context.Ints("axes", {0, 2, 3}));
  TARTAN_ASSIGN_OR_RETURN(const Axes axes, NormalAxes(given, x.rank()));
  std::vector<std::string> statements = StandardizeStatements("X", x.dims(), axes, 0);
  // A constant operand gives zeros.
  statements.push_back("DEVIATION = sqrt(VAR)");
  statements.push_back("Y = CENTERED / (DEVIATION + 1e-9)");
  return context.Apply(TileFunction("X", "Y", statements));
}

Outputs LpNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -1, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t p, context.Int("p", 2));
  if (p != 1 && p != 2) return Invalid("attribute 'p': expected 1 or 2, got ", p);
  return context.Apply(TileFunction("X", "Y",
                                    {p == 1 ? "TERM = abs(X)" : "TERM = X * X",
                                     ReduceStatement("S", '+', "TERM", x.dims(), {axis}),
                                     p == 1 ? "L = S" : "L = sqrt(S)", "Y = L == 0 ? 0 : X / L"}));
}

// Divides each element by a power of the sum of squares of the adjacent channels.
Outputs Lrn(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckRank(x, 2));
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.Int("size"));
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1e-4f));
  TARTAN_ASSIGN_OR_RETURN(const float beta, context.Float("beta", 0.75f));
  TARTAN_ASSIGN_OR_RETURN(const float bias, context.Float("bias", 1.0f));
  if (size < 1) return Invalid("attribute 'size' is ", size);
  const std::vector<std::string> names = IndexNames(x.rank());
  std::vector<std::string> neighbours = names;
  neighbours[1] = absl::StrCat("i1 + k - ", (size - 1) / 2);
  return context.Apply(TileFunction(
      "X", "Y",
      {"SQUARES = X * X",
       absl::StrCat(Write("S", names, x.dims()), " = +(", Read("SQUARES", neighbours), "), k < ",
                    size),
       absl::StrCat("BASE = ", Literal(bias), " + ",
                    Literal(static_cast<double>(alpha) / static_cast<double>(size)), " * S"),
       absl::StrCat("Y = X / pow(BASE, ", Literal(beta), ")")}));
}

constexpr char kMicrosoft[] = "com.microsoft";

constexpr OperatorRow kOperators[] = {
    {"BatchNormalization", 1, {5, 5}, BatchNormalization},
    {"GroupNormalization", 18, {3, 3}, GroupNormalization},
    {"InstanceNormalization", 1, {3, 3}, InstanceNormalization},
    {"LRN", 1, {1, 1}, Lrn},
    {"LayerNormalization", 17, {2, 3}, LayerNormalization},
    In(kMicrosoft, {"LayerNormalization", 1, {2, 3}, LayerNormalization}),
    {"LpNormalization", 1, {1, 1}, LpNormalization},
    {"MeanVarianceNormalization", 9, {1, 1}, MeanVarianceNormalization},
    {"RMSNormalization", 23, {2, 2}, RmsNormalization},
    {"SimplifiedLayerNormalization", 1, {2, 2}, RmsNormalization},
    In(kMicrosoft, {"SimplifiedLayerNormalization", 1, {2, 2}, RmsNormalization}),
    In(kMicrosoft, {"SkipLayerNormalization", 1, {3, 5}, SkipLayerNormalization}),
    In(kMicrosoft, {"SkipSimplifiedLayerNormalization", 1, {3, 4}, SkipRmsNormalization}),
};

}  // namespace

absl::Span<const OperatorRow> NormalizationOperators() { return kOperators; }

}  // namespace tartan::onnx
