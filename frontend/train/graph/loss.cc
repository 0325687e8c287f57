// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/loss.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

struct Row {
  LossKind kind;
  const char* name;
};
constexpr Row kRows[] = {
    {LossKind::kSoftmaxCrossEntropy, "softmax_cross_entropy"},
    {LossKind::kBinaryCrossEntropy, "binary_cross_entropy"},
    {LossKind::kMse, "mse"},
    {LossKind::kMae, "mae"},
    {LossKind::kHuber, "huber"},
    {LossKind::kKl, "kl"},
    {LossKind::kCosine, "cosine"},
    {LossKind::kTriplet, "triplet"},
    {LossKind::kOutput, "output"},
    {LossKind::kFunction, "function"},
};

std::string Sizes(const std::vector<int64_t>& dims, int64_t count) {
  return absl::StrJoin(dims.begin(), dims.begin() + count, ", ");
}

// `target`[first dimension] = sum of `value` over the other indices of `dims`.
std::string SumByExample(absl::string_view target, const std::vector<int64_t>& dims,
                         absl::string_view value) {
  return absl::StrCat(target, "[i0 : ", dims[0], "] = +(", value, "[",
                      Indices(static_cast<int64_t>(dims.size())), "])");
}

// `name`[count] = value.
void AppendRepeated(absl::string_view name, int64_t count, double value,
                    std::vector<std::string>* statements) {
  statements->push_back(absl::StrCat(name, "1 = ", Number(value)));
  statements->push_back(absl::StrCat(name, "[i0 : ", count, "] = +(", name, "1[])"));
}

int64_t ElementsPerExample(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (size_t d = 1; d < dims.size(); ++d) count *= dims[d];
  return count;
}

absl::StatusOr<LossTerms> Apply(const std::vector<std::string>& names,
                                const std::vector<std::string>& statements,
                                const std::vector<api::Tensor>& inputs, absl::string_view what) {
  TARTAN_ASSIGN_OR_RETURN(
      const api::Function function,
      api::Function::FromTile(
          absl::StrCat("function (", absl::StrJoin(names, ", "), ") -> (NUM, DEN) {\n",
                       absl::StrJoin(statements, ";\n"), ";\n}"),
          what));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> results, function.Apply(inputs, "loss"));
  return LossTerms{results[0], results[1]};
}

absl::Status DoNotFit(const Loss& loss, const api::Tensor& output, const api::Tensor& target,
                      absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      Name(loss.kind), ": the output ", output.shape().ToString(),
      target.defined() ? absl::StrCat(" and the target ", target.shape().ToString()) : "", ": ",
      why));
}

bool HasClassNumbers(const TensorShape& output, const TensorShape& target) {
  return IsInteger(target.type) && target.rank() + 1 == output.rank();
}

// Statements that compute LOGP, the log-softmax over the last dimension of Y.
std::vector<std::string> LogSoftmax(const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const std::string all = Indices(rank);
  const std::string outer = Indices(rank - 1);
  const std::string sizes = Sizes(dims, rank - 1);
  return {absl::StrCat("MAX[", outer, ", j : ", sizes, ", 1] = >(Y[", all, "])"),
          "SHIFTED = Y - stop_gradient(MAX)", "E = exp(SHIFTED)",
          absl::StrCat("SUM[", outer, ", j : ", sizes, ", 1] = +(E[", all, "])"),
          "LOGP = SHIFTED - log(SUM)"};
}

absl::StatusOr<LossTerms> CrossEntropyOfClasses(const Loss& loss, const api::Tensor& output,
                                                const api::Tensor& target) {
  const std::vector<int64_t>& dims = output.dims();
  const int64_t rank = output.rank();
  const int64_t classes = dims.back();
  const std::string all = Indices(rank);
  const std::string outer = Indices(rank - 1);
  const std::string sizes = Sizes(dims, rank - 1);
  const auto pick = [&](absl::string_view name, absl::string_view value) {
    return absl::StrCat(name, "[", outer, " : ", sizes, "] = +(T[", outer, "] == CLASSES[i",
                        rank - 1, "] ? ", value, ")");
  };
  std::vector<std::string> names = {"Y", "T", "CLASSES"};
  std::vector<int64_t> numbers(static_cast<size_t>(classes));
  for (int64_t c = 0; c < classes; ++c) numbers[static_cast<size_t>(c)] = c;
  std::vector<uint8_t> bytes(static_cast<size_t>(classes * ByteWidth(target.type())));
  for (int64_t c = 0; c < classes; ++c) StoreElement(target.type(), c, c, bytes.data());
  std::vector<api::Tensor> inputs = {
      output, target, api::Tensor::Constant(HostTensor({target.type(), {classes}}, bytes))};
  std::vector<std::string> statements = LogSoftmax(dims);
  const bool has_weights = !loss.class_weights.empty();
  if (has_weights) {
    if (static_cast<int64_t>(loss.class_weights.size()) != classes) {
      return DoNotFit(loss, output, target,
                      absl::StrCat("the loss has ", loss.class_weights.size(), " class weights"));
    }
    const std::vector<float> weights(loss.class_weights.begin(), loss.class_weights.end());
    names.push_back("W");
    inputs.push_back(api::Tensor::Constant(
        HostTensor::FromVector(TensorShape{DataType::kFloat32, {classes}}, weights)));
  }
  if (has_weights) statements.push_back("WEIGHTED = LOGP * W");
  const std::string term = absl::StrCat(has_weights ? "WEIGHTED[" : "LOGP[", all, "]");
  statements.push_back(pick("PICKED", term));
  std::string element = "-PICKED";
  if (loss.smoothing > 0) {
    statements.push_back(absl::StrCat("ALL[", outer, " : ", sizes, "] = +(", term, ")"));
    element = absl::StrCat("-(", Number(1 - loss.smoothing), " * PICKED + ",
                           Number(loss.smoothing / static_cast<double>(classes)), " * ALL)");
  }
  statements.push_back(has_weights ? pick("COUNT", absl::StrCat("W[i", rank - 1, "]"))
                                   : "COUNT = T == T ? as_float(1, 32) : as_float(0, 32)");
  if (loss.ignore_index.has_value()) {
    statements.push_back(absl::StrCat("USED = T != ", *loss.ignore_index));
    statements.push_back(absl::StrCat("ELEMENT = USED ? ", element, " : 0"));
    statements.push_back("WEIGHT = USED ? COUNT : 0");
  } else {
    statements.push_back(absl::StrCat("ELEMENT = ", element));
    statements.push_back("WEIGHT = COUNT");
  }
  const std::vector<int64_t> rows(dims.begin(), dims.end() - 1);
  statements.push_back(SumByExample("NUM", rows, "ELEMENT"));
  statements.push_back(SumByExample("DEN", rows, "WEIGHT"));
  return Apply(names, statements, inputs, "softmax_cross_entropy");
}

// The loss of two elements, for elementwise losses; empty for other losses.
std::string ElementFormula(const Loss& loss) {
  switch (loss.kind) {
    case LossKind::kBinaryCrossEntropy:
      return "max(Y, 0) - Y * T + log1p(exp(-abs(Y)))";
    case LossKind::kMse:
      return "(Y - T) * (Y - T)";
    case LossKind::kMae:
      return "abs(Y - T)";
    case LossKind::kHuber: {
      const std::string delta = Number(loss.delta);
      return absl::StrCat("abs(Y - T) <= ", delta, " ? 0.5 * (Y - T) * (Y - T) : ", delta,
                          " * (abs(Y - T) - 0.5 * ", delta, ")");
    }
    default:
      return "";
  }
}

// Elementwise losses: one term per element, and the mean is over all elements.
absl::StatusOr<LossTerms> ByElement(const api::Tensor& output, const api::Tensor& target,
                                    std::vector<std::string> statements) {
  const std::vector<int64_t>& dims = output.dims();
  statements.push_back(SumByExample("NUM", dims, "ELEMENT"));
  AppendRepeated("DEN", dims[0], static_cast<double>(ElementsPerExample(dims)), &statements);
  return Apply({"Y", "T"}, statements, {output, target}, "loss");
}

// One term per row of the last dimension.
absl::StatusOr<LossTerms> ByRow(const api::Tensor& output, const api::Tensor& target,
                                std::vector<std::string> statements) {
  const std::vector<int64_t>& dims = output.dims();
  const std::vector<int64_t> rows(dims.begin(), dims.end() - 1);
  statements.push_back(SumByExample("NUM", rows, "ELEMENT"));
  AppendRepeated("DEN", dims[0], static_cast<double>(ElementsPerExample(rows)), &statements);
  return Apply({"Y", "T"}, statements, {output, target}, "loss");
}

// `name`[rows] = sum over the last dimension.
std::string RowSum(absl::string_view name, const std::vector<int64_t>& dims,
                   absl::string_view value) {
  const auto rank = static_cast<int64_t>(dims.size());
  return absl::StrCat(name, "[", Indices(rank - 1), " : ", Sizes(dims, rank - 1), "] = +(", value,
                      "[", Indices(rank), "])");
}

absl::StatusOr<LossTerms> Triplet(const Loss& loss, const api::Tensor& output) {
  if (output.rank() != 2 || output.dims()[0] % 3 != 0) {
    return DoNotFit(loss, output, {}, "expected [3 N, D]: anchors, positives, negatives");
  }
  const int64_t count = output.dims()[0] / 3;
  const auto part = [&](absl::string_view name, int64_t number) {
    return absl::StrCat(name, "[n, d : ", count, ", ", output.dims()[1], "] = =(Y[n + ",
                        number * count, ", d])");
  };
  const auto distance = [&](absl::string_view name, absl::string_view other) {
    return absl::StrCat(name, "D = A - ", other, "; ", name, "S = ", name, "D * ", name, "D; ",
                        name, "Q[n : ", count, "] = +(", name, "S[n, d]); ", name, " = sqrt(", name,
                        "Q + ", Number(1e-12), ")");
  };
  std::vector<std::string> statements = {
      part("A", 0),         part("B", 1),
      part("C", 2),         distance("NEAR", "B"),
      distance("FAR", "C"), absl::StrCat("NUM = max(NEAR - FAR + ", Number(loss.margin), ", 0)")};
  AppendRepeated("DEN", count, 1, &statements);
  return Apply({"Y"}, statements, {output}, "triplet");
}

// The output, or the result of the user's function of output and target: one number, or one per
// example.
absl::StatusOr<LossTerms> Given(const Loss& loss, const api::Tensor& output,
                                const api::Tensor& target) {
  api::Tensor value = output;
  if (loss.kind == LossKind::kFunction) {
    const size_t wanted = loss.function->input_names().size();
    if (wanted < 1 || wanted > 2 || (wanted == 2 && !target.defined()) ||
        loss.function->output_names().size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(loss.function->file(), ": a loss is a function (Y, T) -> (L)"));
    }
    std::vector<api::Tensor> inputs = {output};
    if (wanted == 2) inputs.push_back(target);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> results,
                            loss.function->Apply(inputs, "loss"));
    value = results[0];
  }
  if (!IsFloat(value.type()) || (value.shape().element_count() != 1 && value.rank() != 1)) {
    return DoNotFit(loss, value, {}, "the loss must be a single number, or one number per example");
  }
  const bool is_one = value.shape().element_count() == 1;
  const std::string indices = Indices(value.rank());
  return Apply(
      {"L"},
      {is_one ? absl::StrCat("V[o : 1] = +(L[", indices, "])") : std::string("V = L"),
       "NUM = as_float(V, 32)", "DEN = V == V || V != V ? as_float(1, 32) : as_float(1, 32)"},
      {value}, "loss");
}

absl::Status SetOption(absl::string_view key, absl::string_view value, Loss* loss) {
  double number = 0;
  const bool is_number = absl::SimpleAtod(value, &number);
  if (key == "weights") {
    for (absl::string_view part : absl::StrSplit(value, '/')) {
      double weight = 0;
      if (!absl::SimpleAtod(part, &weight) || weight < 0) {
        return absl::InvalidArgumentError(absl::StrCat("'", part, "' is not a class weight"));
      }
      loss->class_weights.push_back(weight);
    }
    return absl::OkStatus();
  }
  if (!is_number) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value of '", key, "' is not a number: '", value, "'"));
  }
  if (key == "smoothing" && number >= 0 && number < 1) {
    loss->smoothing = number;
  } else if (key == "ignore") {
    loss->ignore_index = static_cast<int64_t>(number);
  } else if (key == "delta" && number > 0) {
    loss->delta = number;
  } else if (key == "margin" && number >= 0) {
    loss->margin = number;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("'", key, "=", value,
                     "' is not an option of a loss; the options are smoothing=0..1, ignore=CLASS, "
                     "weights=W0/W1/…, delta=D, margin=M"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(LossKind kind) {
  for (const Row& row : kRows) {
    if (row.kind == kind) return row.name;
  }
  return "loss";
}

absl::StatusOr<Loss> ParseLoss(absl::string_view text) {
  Loss loss;
  if (!text.empty() && text[0] == '@') {
    loss.kind = LossKind::kFunction;
    TARTAN_ASSIGN_OR_RETURN(loss.function, api::Function::FromFile(std::string(text.substr(1))));
    return loss;
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  std::vector<absl::string_view> names;
  bool is_known = false;
  for (const Row& row : kRows) {
    if (row.kind == LossKind::kFunction) continue;
    names.push_back(row.name);
    if (parts.first != row.name) continue;
    loss.kind = row.kind;
    is_known = true;
  }
  if (!is_known) {
    return absl::InvalidArgumentError(absl::StrCat("there is no loss '", parts.first,
                                                   "'; the losses are ", absl::StrJoin(names, ", "),
                                                   ", and @FILE.tile"));
  }
  for (absl::string_view option : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    TARTAN_RETURN_IF_ERROR(SetOption(pair.first, pair.second, &loss));
  }
  return loss;
}

bool NeedsTarget(const Loss& loss) {
  if (loss.kind == LossKind::kFunction) return loss.function->input_names().size() > 1;
  return loss.kind != LossKind::kTriplet && loss.kind != LossKind::kOutput;
}

std::optional<int64_t> ClassCount(const Loss& loss, const TensorShape& output,
                                  const TensorShape& target) {
  if (loss.kind != LossKind::kSoftmaxCrossEntropy || !HasClassNumbers(output, target))
    return std::nullopt;
  return output.dims.back();
}

absl::StatusOr<LossTerms> ApplyLoss(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target) {
  if (loss.kind == LossKind::kOutput || loss.kind == LossKind::kFunction)
    return Given(loss, output, target);
  if (loss.kind == LossKind::kTriplet) return Triplet(loss, output);
  if (!IsFloat(output.type()))
    return DoNotFit(loss, output, target, "the output is not a float tensor");
  const std::vector<int64_t>& dims = output.dims();
  const auto fits = [&](bool with_numbers) {
    return target.dims() == dims ||
           (with_numbers && HasClassNumbers(output.shape(), target.shape()) &&
            std::equal(target.dims().begin(), target.dims().end(), dims.begin()));
  };
  if (output.rank() < 1 || !fits(loss.kind == LossKind::kSoftmaxCrossEntropy))
    return DoNotFit(loss, output, target, "their shapes do not match");
  const std::string element = ElementFormula(loss);
  if (!element.empty()) return ByElement(output, target, {absl::StrCat("ELEMENT = ", element)});
  if (output.rank() < 2) return DoNotFit(loss, output, target, "expected rows, [N, …, C]");
  if (loss.kind == LossKind::kSoftmaxCrossEntropy) {
    if (dims.back() == 1) {
      return DoNotFit(loss, output, target,
                      "a single class has probability 1, so there is nothing to learn; use "
                      "binary_cross_entropy for one logit");
    }
    if (target.dims() != dims) return CrossEntropyOfClasses(loss, output, target);
    std::vector<std::string> statements = LogSoftmax(dims);
    const double share = loss.smoothing / static_cast<double>(dims.back());
    statements.insert(
        statements.end(),
        {absl::StrCat("SMOOTH = T * ", Number(1 - loss.smoothing), " + ", Number(share)),
         "PRODUCT = -LOGP * SMOOTH", RowSum("ELEMENT", dims, "PRODUCT")});
    return ByRow(output, target, std::move(statements));
  }
  if (loss.kind == LossKind::kKl) {
    return ByRow(output, target,
                 {"PRODUCT = T > 0 ? T * (log(T) - Y) : 0", RowSum("ELEMENT", dims, "PRODUCT")});
  }
  return ByRow(
      output, target,
      {"YT = Y * T", "YY = Y * Y", "TT = T * T", RowSum("SYT", dims, "YT"),
       RowSum("SYY", dims, "YY"), RowSum("STT", dims, "TT"),
       absl::StrCat("ELEMENT = 1 - SYT / max(sqrt(SYY) * sqrt(STT), ", Number(1e-8), ")")});
}

absl::StatusOr<api::Tensor> BatchLoss(const LossTerms& terms) {
  return api::Apply(
      "function (NUM, DEN) -> (L) { N[] = +(NUM[i]); D[] = +(DEN[i]); L = D > 0 ? N / D : N; }",
      {terms.numerator, terms.denominator}, "loss");
}

}  // namespace tartan::train
