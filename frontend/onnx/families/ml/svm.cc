// SPDX-License-Identifier: Apache-2.0
// Support vector machines of ai.onnx.ml.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::HostValue;

// Statements for P [N, M], the kernel values of the rows X [N, F] and the vectors V [M, F].
absl::StatusOr<std::vector<std::string>> KernelLines(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string kind, context.String("kernel_type", "LINEAR"));
  TARTAN_ASSIGN_OR_RETURN(std::vector<double> numbers, Reals(context, "kernel_params"));
  numbers.resize(3);  // gamma, coef0, degree
  const std::string gamma = Literal(numbers[0]);
  const std::string shifted = absl::StrCat(gamma, " * D + ", Literal(numbers[1]));
  const std::string products = "D[n, m : N, M] = +(X[n, f] * V[m, f])";
  if (kind == "LINEAR") return std::vector<std::string>{products, "P = D"};
  if (kind == "SIGMOID") return std::vector<std::string>{products, "P = tanh(" + shifted + ")"};
  if (kind == "POLY") {
    return std::vector<std::string>{
        products, absl::StrCat("P = pow(", shifted, ", ", Literal(numbers[2]), ")")};
  }
  if (kind != "RBF") return Invalid("attribute 'kernel_type': unknown kernel ", kind);
  return std::vector<std::string>{"E = reshape(X, N, 1, F) - reshape(V, 1, M, F)", "Q = E * E",
                                  "D[n, m : N, M] = +(Q[n, m, f])",
                                  absl::StrCat("P = exp(-(", gamma, " * D))")};
}

Outputs SvmRegressor(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t supports, context.Int("n_supports", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t one_class, context.Int("one_class", 0));
  TARTAN_ASSIGN_OR_RETURN(const std::string transform, context.String("post_transform", "NONE"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> factors, Reals(context, "coefficients"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> rho, Reals(context, "rho"));
  TARTAN_ASSIGN_OR_RETURN(std::vector<double> vectors, Reals(context, "support_vectors"));
  TARTAN_ASSIGN_OR_RETURN(std::vector<std::string> lines, KernelLines(context));
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, RowsOf(context));
  const int64_t features = x.dims()[1];
  const int64_t count = static_cast<int64_t>(factors.size());
  if (supports > 0) {
    if (count != supports || static_cast<int64_t>(vectors.size()) != supports * features) {
      return Invalid(count, " coefficients and ", vectors.size(), " elements of vectors for ",
                     supports, " vectors of ", features);
    }
    lines.push_back("S[n, z : N, 1] = +(P[n, m] * C[m, z])");
  } else {  // without vectors the coefficients belong to the features
    if (count != features) return Invalid(count, " coefficients for ", features, " features");
    vectors.assign(static_cast<size_t>(features), 0);
    lines = {"S[n, z : N, 1] = +(X[n, f] * C[f, z])"};
  }
  const std::string score = absl::StrCat("S + ", Literal(rho.empty() ? 0.0 : rho[0]));
  lines.push_back(one_class != 0 ? absl::StrCat("Y = ", score, " > 0 ? 1.0 : -1.0")
                                 : absl::StrCat("Y = ", score));
  const int64_t rows = static_cast<int64_t>(vectors.size()) / std::max<int64_t>(features, 1);
  TARTAN_ASSIGN_OR_RETURN(Tensor scores,
                          context.ApplyOne(TileFunction("X[N, F], V[M, F], C", "Y", lines),
                                           {x, ConstantOf(x.type(), vectors, {rows, features}),
                                            ConstantOf(x.type(), factors, {count, 1})}));
  return OneTensor(PostTransformed(context, scores, transform));
}

// --- SVMClassifier

struct Classifier {
  HostValue labels;
  int64_t classes = 0;
  std::vector<int64_t> vectors_per_class;
  int64_t vectors = 0;  // 0: a linear model of the features
  std::vector<double> coefficients;
  std::vector<double> support;
  std::vector<double> rho;
  std::vector<double> slopes;   // logistic slopes of the pairwise probabilities
  std::vector<double> offsets;  // logistic offsets of the pairwise probabilities
  std::string transform;

  int64_t pairs() const { return classes * (classes - 1) / 2; }
  bool has_probabilities() const { return !slopes.empty() && vectors > 0; }
  bool is_positive() const {
    return std::all_of(coefficients.begin(), coefficients.end(), [](double c) { return c >= 0; });
  }
};

absl::Status CheckClassifier(const Classifier& model, int64_t features) {
  const auto count = [](const std::vector<double>& list) {
    return static_cast<int64_t>(list.size());
  };
  if (model.classes < 1) return Invalid("the class labels are missing");
  if (model.vectors == 0) {
    if (count(model.coefficients) != model.classes * features || model.rho.empty()) {
      return Invalid(model.coefficients.size(), " coefficients and ", model.rho.size(),
                     " offsets for ", model.classes, " classes and ", features, " features");
    }
    return absl::OkStatus();
  }
  constexpr int64_t kMaxWeights = int64_t{1} << 27;
  if (model.classes > kMaxWeights || model.vectors > kMaxWeights ||
      model.vectors > kMaxWeights / std::max<int64_t>(model.pairs(), 1)) {
    return Unsupported(model.classes, " classes with ", model.vectors, " vectors");
  }
  if (static_cast<int64_t>(model.vectors_per_class.size()) != model.classes || model.classes < 2) {
    return Invalid("attribute 'vectors_per_class' has ", model.vectors_per_class.size(),
                   " elements for ", model.classes, " classes");
  }
  if (count(model.coefficients) != (model.classes - 1) * model.vectors ||
      count(model.support) != model.vectors * features || count(model.rho) != model.pairs()) {
    return Invalid(model.coefficients.size(), " coefficients, ", model.support.size(),
                   " elements of vectors and ", model.rho.size(), " offsets for ", model.classes,
                   " classes with ", model.vectors, " vectors of ", features);
  }
  if (model.has_probabilities() &&
      (count(model.slopes) != model.pairs() || count(model.offsets) != model.pairs())) {
    return Invalid("attributes 'prob_a' and 'prob_b': expected ", model.pairs(), " elements each");
  }
  return absl::OkStatus();
}

absl::StatusOr<Classifier> ReadClassifier(const NodeContext& context) {
  Classifier model;
  TARTAN_ASSIGN_OR_RETURN(model.labels,
                          ReadLabels(context, "classlabels_ints", "classlabels_strings"));
  model.classes = model.labels.tensor().element_count();
  TARTAN_ASSIGN_OR_RETURN(model.vectors_per_class, context.Ints("vectors_per_class", {}));
  constexpr int64_t kMaxVectors = int64_t{1} << 32;
  for (const int64_t vectors : model.vectors_per_class) {
    if (vectors < 0 || vectors > kMaxVectors) return Invalid(vectors, " vectors of a class");
    model.vectors += vectors;
  }
  TARTAN_ASSIGN_OR_RETURN(model.coefficients, Reals(context, "coefficients"));
  TARTAN_ASSIGN_OR_RETURN(model.support, Reals(context, "support_vectors"));
  TARTAN_ASSIGN_OR_RETURN(model.rho, Reals(context, "rho"));
  TARTAN_ASSIGN_OR_RETURN(model.slopes, Reals(context, "prob_a"));
  TARTAN_ASSIGN_OR_RETURN(model.offsets, Reals(context, "prob_b"));
  TARTAN_ASSIGN_OR_RETURN(model.transform, context.String("post_transform", "NONE"));
  return model;
}

// Calls fn(index of the pair, i, j) for each pair of classes i < j, in order.
template <class Fn>
void ForEachPair(int64_t classes, const Fn& fn) {
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) fn(pair++, i, j);
  }
}

// The weight of each vector in each pair's decision, [vectors, pairs]. A vector has one coefficient
// for each class other than its own.
std::vector<double> PairWeights(const Classifier& model) {
  std::vector<int64_t> first(1, 0);
  for (const int64_t vectors : model.vectors_per_class) first.push_back(first.back() + vectors);
  std::vector<double> weights(static_cast<size_t>(model.vectors * model.pairs()));
  const auto fill = [&](int64_t pair, int64_t of, int64_t row) {
    for (int64_t v = first[static_cast<size_t>(of)]; v < first[static_cast<size_t>(of) + 1]; ++v) {
      weights[static_cast<size_t>(v * model.pairs() + pair)] =
          model.coefficients[static_cast<size_t>(row * model.vectors + v)];
    }
  };
  ForEachPair(model.classes, [&](int64_t pair, int64_t i, int64_t j) {
    fill(pair, i, j - 1);
    fill(pair, j, i);
  });
  return weights;
}

// The decisions of the pairs, [N, pairs]: positive if the first class wins.
absl::StatusOr<Tensor> PairScores(const NodeContext& context, const Classifier& model,
                                  const Tensor& x) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<std::string> lines, KernelLines(context));
  lines.push_back("S[n, g : N, G] = +(P[n, m] * W[m, g])");
  lines.push_back("Y = S + B");
  return context.ApplyOne(TileFunction("X[N, F], V[M, F], W[M, G], B", "Y", lines),
                          {x, ConstantOf(x.type(), model.support, {model.vectors, x.dims()[1]}),
                           ConstantOf(x.type(), PairWeights(model), {model.vectors, model.pairs()}),
                           ConstantOf(x.type(), model.rho, {model.pairs()})});
}

// The number of pairs that each class wins, [N, K].
absl::StatusOr<Tensor> Votes(const NodeContext& context, const Classifier& model,
                             const Tensor& scores) {
  std::vector<double> first(static_cast<size_t>(model.pairs() * model.classes));
  std::vector<double> second(first.size());
  ForEachPair(model.classes, [&](int64_t pair, int64_t i, int64_t j) {
    first[static_cast<size_t>(pair * model.classes + i)] = 1;
    second[static_cast<size_t>(pair * model.classes + j)] = 1;
  });
  const std::vector<int64_t> dims = {model.pairs(), model.classes};
  return context.ApplyOne(
      R"(
function (S[N, E], A[E, K], B[E, K]) -> (Y) {
  W = S > 0 ? 1.0 : 0.0;
  L = 1.0 - W;
  I[n, k : N, K] = +(W[n, e] * A[e, k]);
  J[n, k : N, K] = +(L[n, e] * B[e, k]);
  Y = I + J;
})",
      {scores, ConstantOf(scores.type(), first, dims), ConstantOf(scores.type(), second, dims)});
}

// Probabilities of classes from probabilities of pairs, by the second method of T.-F. Wu, C.-J. Lin
// and R. C. Weng, "Probability estimates for multi-class classification by pairwise coupling"
// (2004). `r` is [K, K]: r(i, j) is the probability of class i given class i or j.
std::vector<double> CouplePairs(int64_t classes, const std::vector<double>& r) {
  const size_t k = static_cast<size_t>(classes);
  std::vector<double> q(k * k);
  for (size_t t = 0; t < k; ++t) {
    for (size_t j = 0; j < k; ++j) {
      if (j == t) continue;
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = -r[j * k + t] * r[t * k + j];
    }
  }
  std::vector<double> p(k, 1.0 / static_cast<double>(k));
  std::vector<double> qp(k);
  const double tolerance = 0.005 / static_cast<double>(k);
  for (size_t turn = 0; turn < std::max<size_t>(100, k); ++turn) {
    double pqp = 0;
    for (size_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    double error = 0;
    for (size_t t = 0; t < k; ++t) error = std::max(error, std::abs(qp[t] - pqp));
    if (error < tolerance) break;
    for (size_t t = 0; t < k; ++t) {
      const double change = (pqp - qp[t]) / q[t * k + t];
      p[t] += change;
      pqp = (pqp + change * (change * q[t * k + t] + 2 * qp[t])) / ((1 + change) * (1 + change));
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + change * q[t * k + j]) / (1 + change);
        p[j] /= 1 + change;
      }
    }
  }
  return p;
}

// Applies CouplePairs to each row of decisions, [N, K].
HostTensor CoupleRows(int64_t classes, const std::vector<double>& slopes,
                      const std::vector<double>& offsets, const HostTensor& scores) {
  const int64_t rows = scores.shape().dims[0];
  const int64_t pairs = scores.shape().dims[1];
  std::vector<float> all;
  std::vector<double> r(static_cast<size_t>(classes * classes));
  for (int64_t n = 0; n < rows; ++n) {
    ForEachPair(classes, [&](int64_t pair, int64_t i, int64_t j) {
      constexpr double kLeast = 1e-7;
      const size_t at = static_cast<size_t>(pair);
      const double score = scores.GetDouble(n * pairs + pair);
      const double first = 1 / (1 + std::exp(slopes[at] * score + offsets[at]));
      r[static_cast<size_t>(i * classes + j)] = std::clamp(first, kLeast, 1 - kLeast);
      r[static_cast<size_t>(j * classes + i)] = 1 - r[static_cast<size_t>(i * classes + j)];
    });
    for (const double p : CouplePairs(classes, r)) all.push_back(static_cast<float>(p));
  }
  return HostTensor::FromVector({DataType::kFloat32, {rows, classes}}, all);
}

// Runs on the host, because it iterates until convergence.
absl::StatusOr<Tensor> Probabilities(NodeContext& context, const Classifier& model,
                                     const Tensor& scores) {
  const auto couple =
      [classes = model.classes, slopes = model.slopes, offsets = model.offsets](
          absl::Span<const HostTensor> operands) -> absl::StatusOr<std::vector<HostTensor>> {
    return std::vector<HostTensor>{CoupleRows(classes, slopes, offsets, operands[0])};
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, context.RunOnHost({scores}, couple));
  return made[0];
}

// Chooses labels by the largest element of `won`. For a linear model of two classes without
// negative coefficients, the second class is chosen if the maximum is 0.5 or more.
absl::StatusOr<Value> ChooseLabels(const NodeContext& context, const Classifier& model,
                                   const Tensor& won) {
  TARTAN_ASSIGN_OR_RETURN(Tensor best, ArgMaxOfRows(context, won));
  if (model.rho.size() == 1 && model.classes == 2 && model.vectors == 0 && model.is_positive()) {
    TARTAN_ASSIGN_OR_RETURN(best, context.ApplyOne(R"(
function (W[N, K], B) -> (Y) { M[n : N] = >(W[n, k]); Y = M >= 0.5 ? 1 : B; })",
                                                   {won, best}));
  }
  if (model.rho.size() == 1 && model.classes != 2) {  // one-class decision
    TARTAN_ASSIGN_OR_RETURN(Tensor in, context.ApplyOne(R"(
function (W[N, K]) -> (Y) { M[n : N] = >(W[n, k]); Y = as_int(M > 0 ? 1 : 0, 64); })",
                                                        {won}));
    if (model.labels.is_strings()) return Unsupported("string labels for a single decision");
    return Value(std::move(in));
  }
  return LabelsAt(context, model.labels, best);
}

OutputValues SvmClassifier(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(Tensor numbers, DecodeLowPrecision(context, context.value(0)));
  context.SetInput(0, Value(std::move(numbers)));
  TARTAN_ASSIGN_OR_RETURN(const Classifier model, ReadClassifier(context));
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, RowsOf(context));
  TARTAN_RETURN_IF_ERROR(CheckClassifier(model, x.dims()[1]));
  Tensor scores;
  Tensor won;
  if (model.vectors == 0) {
    TARTAN_ASSIGN_OR_RETURN(
        scores, context.ApplyOne(
                    absl::StrCat("function (X[N, F], C[K, F]) -> (Y) { "
                                 "S[n, k : N, K] = +(X[n, f] * C[k, f]); Y = S + ",
                                 Literal(model.rho[0]), "; }"),
                    {x, ConstantOf(x.type(), model.coefficients, {model.classes, x.dims()[1]})}));
    won = scores;
  } else {
    TARTAN_ASSIGN_OR_RETURN(scores, PairScores(context, model, x));
    TARTAN_ASSIGN_OR_RETURN(won, Votes(context, model, scores));
    if (model.has_probabilities()) {
      TARTAN_ASSIGN_OR_RETURN(scores, Probabilities(context, model, scores));
    }
  }
  if (scores.dims()[1] == 1 && model.classes == 2 && model.transform != "PROBIT") {
    TARTAN_ASSIGN_OR_RETURN(
        scores, context.ApplyOne("function (S[N, K]) -> (Y) { T[n, z : N, 2] = +(S[n, k]), k < 1; "
                                 "Y = index(T, 1) == 1 ? T : -T; }",
                                 {scores}));
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor z, PostTransformed(context, scores, model.transform));
  TARTAN_ASSIGN_OR_RETURN(Value label, ChooseLabels(context, model, won));
  return std::vector<Value>{std::move(label), Value(std::move(z))};
}

constexpr OperatorRow kOperators[] = {
    In(kMlDomain, ValueRow("SVMClassifier", 1, {1, 1}, SvmClassifier)),
    In(kMlDomain, {"SVMRegressor", 1, {1, 1}, SvmRegressor}),
};

}  // namespace

absl::Span<const OperatorRow> MlSvmOperators() { return kOperators; }

}  // namespace tartan::onnx
