// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/loss.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

struct LossRow {
  LossKind kind;
  const char* name;
  const char* options;  // separated by spaces
};
constexpr LossRow kLossRows[] = {
    {LossKind::kSoftmaxCrossEntropy, "softmax_cross_entropy", "axis ignore smoothing weights"},
    {LossKind::kBinaryCrossEntropy, "binary_cross_entropy", "axis pos_weight"},
    {LossKind::kMse, "mse", ""},
    {LossKind::kMae, "mae", ""},
    {LossKind::kHuber, "huber", "delta"},
    {LossKind::kFocal, "focal", "alpha axis gamma ignore weights"},
    {LossKind::kDice, "dice", "axis epsilon ignore weights"},
    {LossKind::kCtc, "ctc", "blank ignore lengths time zero_infinity"},
    {LossKind::kKl, "kl", "axis"},
    {LossKind::kCosine, "cosine", "axis"},
    {LossKind::kTriplet, "triplet", "margin"},
    {LossKind::kOutput, "output", ""},
    {LossKind::kFunction, "function", ""},
};

// An option: its form in messages, and a function that sets it. The function returns false if the
// value is out of range.
struct LossOption {
  const char* name;
  const char* usage;
  bool (*set)(absl::string_view value, Loss* loss);
};

bool SetReal(absl::string_view text, double min, double* value) {
  return absl::SimpleAtod(text, value) && *value >= min &&
         *value < std::numeric_limits<double>::infinity();
}

bool SetInteger(absl::string_view text, std::optional<int64_t>* value) {
  return absl::SimpleAtoi(text, &value->emplace());
}

bool SetList(absl::string_view text, std::vector<double>* values) {
  values->clear();
  for (absl::string_view part : absl::StrSplit(text, '/')) {
    if (!SetReal(part, 0, &values->emplace_back())) return false;
  }
  return true;
}

constexpr LossOption kLossOptions[] = {
    {"alpha", "alpha=A, a number from 0 to 1",
     [](absl::string_view value, Loss* loss) {
       return SetReal(value, 0, &loss->alpha.emplace()) && *loss->alpha <= 1;
     }},
    {"axis", "axis=AXIS",
     [](absl::string_view value, Loss* loss) { return SetInteger(value, &loss->axis); }},
    {"blank", "blank=CLASS",
     [](absl::string_view value, Loss* loss) {
       return absl::SimpleAtoi(value, &loss->blank) && loss->blank >= 0;
     }},
    {"delta", "delta=D, a number above 0",
     [](absl::string_view value, Loss* loss) {
       return SetReal(value, 0, &loss->delta) && loss->delta > 0;
     }},
    {"epsilon", "epsilon=E, a number above 0",
     [](absl::string_view value, Loss* loss) {
       return SetReal(value, 0, &loss->epsilon) && loss->epsilon > 0;
     }},
    {"gamma", "gamma=G, a number from 0",
     [](absl::string_view value, Loss* loss) { return SetReal(value, 0, &loss->gamma); }},
    {"ignore", "ignore=CLASS",
     [](absl::string_view value, Loss* loss) { return SetInteger(value, &loss->ignore_index); }},
    {"lengths", "lengths=COLUMN",
     [](absl::string_view value, Loss* loss) {
       loss->lengths = std::string(value);
       return !value.empty();
     }},
    {"margin", "margin=M, a number from 0",
     [](absl::string_view value, Loss* loss) { return SetReal(value, 0, &loss->margin); }},
    {"pos_weight", "pos_weight=W or W0/W1/…, numbers from 0",
     [](absl::string_view value, Loss* loss) { return SetList(value, &loss->positive_weights); }},
    {"smoothing", "smoothing=S, a number from 0 and below 1",
     [](absl::string_view value, Loss* loss) {
       return SetReal(value, 0, &loss->smoothing) && loss->smoothing < 1;
     }},
    {"time", "time=0 or time=1",
     [](absl::string_view value, Loss* loss) {
       return absl::SimpleAtoi(value, &loss->time_axis) && (loss->time_axis | 1) == 1;
     }},
    {"weights", "weights=W0/W1/…, numbers from 0",
     [](absl::string_view value, Loss* loss) { return SetList(value, &loss->class_weights); }},
    {"zero_infinity", "zero_infinity=0 or zero_infinity=1",
     [](absl::string_view value, Loss* loss) {
       return absl::SimpleAtob(value, &loss->zero_infinity);
     }},
};

absl::Status SetLossOption(const LossRow& row, absl::string_view name, absl::string_view value,
                           Loss* loss) {
  const std::vector<absl::string_view> taken = absl::StrSplit(row.options, ' ', absl::SkipEmpty());
  for (const LossOption& option : kLossOptions) {
    if (option.name != name || std::find(taken.begin(), taken.end(), name) == taken.end()) continue;
    if (option.set(value, loss)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(row.name, ": '", name, "=", value, "' is not of the form ", option.usage));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "=", value, "' is not an option of ", row.name, ", which has ",
      taken.empty() ? "none" : absl::StrCat("the options ", absl::StrJoin(taken, ", "))));
}

std::vector<int64_t> WithoutAxis(std::vector<int64_t> dims, int64_t axis) {
  dims.erase(dims.begin() + axis);
  return dims;
}

}  // namespace

absl::string_view Name(LossKind kind) {
  for (const LossRow& row : kLossRows) {
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
  const LossRow* row = nullptr;
  for (const LossRow& known : kLossRows) {
    if (known.kind == LossKind::kFunction) continue;
    names.push_back(known.name);
    if (parts.first == known.name) row = &known;
  }
  if (row == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no loss '", parts.first,
                                                   "'; the losses are ", absl::StrJoin(names, ", "),
                                                   ", and @FILE.tile"));
  }
  loss.kind = row->kind;
  if (loss.kind == LossKind::kCtc) loss.ignore_index = -1;
  for (absl::string_view option : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    TARTAN_RETURN_IF_ERROR(SetLossOption(*row, pair.first, pair.second, &loss));
  }
  return loss;
}

bool NeedsTarget(const Loss& loss) {
  if (loss.kind == LossKind::kFunction) return loss.function->input_names().size() > 1;
  return loss.kind != LossKind::kTriplet && loss.kind != LossKind::kOutput;
}

bool TakesClassIndices(LossKind kind) {
  return kind == LossKind::kSoftmaxCrossEntropy || kind == LossKind::kFocal ||
         kind == LossKind::kDice || kind == LossKind::kCtc;
}

bool TakesLogits(LossKind kind) {
  return kind == LossKind::kBinaryCrossEntropy || kind == LossKind::kFocal ||
         kind == LossKind::kDice;
}

std::optional<int64_t> ClassAxis(std::optional<int64_t> axis, const std::vector<int64_t>& output,
                                 const std::vector<int64_t>& target) {
  const auto rank = static_cast<int64_t>(output.size());
  if (rank < 2) return std::nullopt;
  if (axis.has_value()) {
    const int64_t wanted = *axis < 0 ? *axis + rank : *axis;
    if (wanted < 1 || wanted >= rank) return std::nullopt;
    const bool fits = target == output || target == WithoutAxis(output, wanted);
    return fits ? std::make_optional(wanted) : std::nullopt;
  }
  if (target == output || target == WithoutAxis(output, rank - 1)) return rank - 1;
  return target == WithoutAxis(output, 1) ? std::make_optional(int64_t{1}) : std::nullopt;
}

bool FitsElements(const std::vector<int64_t>& output, const std::vector<int64_t>& target) {
  if (target == output) return true;
  const size_t rank = output.size();
  if (rank < 2 || target.size() + 1 != rank) return false;
  return (output.back() == 1 && target == WithoutAxis(output, static_cast<int64_t>(rank) - 1)) ||
         (output[1] == 1 && target == WithoutAxis(output, 1));
}

std::optional<int64_t> ClassIndexAxis(const Loss& loss, const TensorShape& output,
                                      const TensorShape& target) {
  if (!TakesClassIndices(loss.kind) || loss.kind == LossKind::kCtc || !IsInteger(target.type) ||
      target.rank() + 1 != output.rank()) {
    return std::nullopt;
  }
  // One score is a logit: a mask [N, H, W] has labels for an output [N, 1, H, W].
  if (TakesLogits(loss.kind) && FitsElements(output.dims, target.dims)) return std::nullopt;
  return ClassAxis(loss.axis, output.dims, target.dims);
}

std::optional<int64_t> ClassCount(const Loss& loss, const TensorShape& output,
                                  const TensorShape& target) {
  if (loss.kind == LossKind::kCtc) {
    return output.rank() == 3 && IsInteger(target.type) ? std::make_optional(output.dims.back())
                                                        : std::nullopt;
  }
  const std::optional<int64_t> axis = ClassIndexAxis(loss, output, target);
  return axis.has_value() ? std::make_optional(output.dims[static_cast<size_t>(*axis)])
                          : std::nullopt;
}

absl::Status CheckClasses(const Loss& loss, int64_t classes, const HostTensor& target) {
  if (loss.kind == LossKind::kCtc) return absl::OkStatus();
  const int64_t count = target.shape().element_count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = target.GetInt(i);
    if ((index >= 0 && index < classes) || index == loss.ignore_index) continue;
    const int64_t per_example = std::max<int64_t>(count / target.shape().dims[0], 1);
    return absl::InvalidArgumentError(
        absl::StrCat(Name(loss.kind), ": the target ", index, " of example ", i / per_example,
                     " of its batch is none of the ", classes, " classes, 0 to ", classes - 1,
                     "; the option ignore=", index, " leaves out such rows"));
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
