// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/run_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/digest.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr int64_t kDigestedBytes = int64_t{128} << 20;  // per dataset
constexpr int64_t kChunkBytes = int64_t{4} << 20;
constexpr size_t kNamedDifferences = 4;
constexpr char kParameter[] = "parameter ";

std::string ShortDigest(absl::string_view text) { return Digest(text).substr(0, 12); }

absl::string_view TextOf(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Up to `most` rows, evenly spaced, with the first and the last one.
std::vector<int64_t> SpacedRows(int64_t size, int64_t most) {
  const int64_t count = std::clamp<int64_t>(most, 1, size);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(count == 1 ? 0 : static_cast<int64_t>(i * (size - 1) / (count - 1)));
  return rows;
}

absl::StatusOr<std::string> DigestOfColumn(const data::Dataset& dataset, int column,
                                           int64_t most_bytes) {
  const TensorShape& example = dataset.columns()[static_cast<size_t>(column)].example;
  const int64_t width = example.byte_size();
  if (width == 0) return std::string();
  const std::vector<int64_t> all = SpacedRows(dataset.size(), most_bytes / width);
  const auto chunk = static_cast<size_t>(std::max<int64_t>(1, kChunkBytes / width));
  std::vector<uint8_t> bytes;
  std::string digests;
  for (size_t first = 0; first < all.size(); first += chunk) {
    const auto rows = absl::MakeConstSpan(all).subspan(first, chunk);
    bytes.resize(rows.size() * static_cast<size_t>(width));
    TARTAN_RETURN_IF_ERROR(dataset.Read(column, rows, absl::MakeSpan(bytes)));
    digests += Digest(TextOf(bytes));
  }
  return digests;
}

// "60 examples of x float32[4], y int64[], digest 0123456789ab".
absl::StatusOr<std::string> DataText(const data::Dataset& dataset,
                                     const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  std::string digests;
  const int64_t most_bytes = kDigestedBytes / std::max<int64_t>(1, std::ssize(columns));
  for (const std::string& name : columns) {
    TARTAN_ASSIGN_OR_RETURN(const int column, dataset.Find(name));
    const data::Column& found = dataset.columns()[static_cast<size_t>(column)];
    names.push_back(absl::StrCat(name, " ", found.example.ToString()));
    TARTAN_ASSIGN_OR_RETURN(const std::string digest, DigestOfColumn(dataset, column, most_bytes));
    absl::StrAppend(&digests, digest, "\n");
  }
  return absl::StrCat(dataset.size(), " examples of ", absl::StrJoin(names, ", "), ", digest ",
                      ShortDigest(digests));
}

// The bindings name all members, so that a new option does not compile until it has its place here.
std::string LossText(const Loss& loss) {
  const auto& [kind, axis, smoothing, ignore_index, class_weights, positive_weights, gamma, alpha,
               epsilon, blank, time_axis, zero_infinity, lengths, delta, margin, function] = loss;
  const Loss usual;
  std::string text(Name(kind));
  const auto add = [&text](absl::string_view option, const auto& value, const auto& otherwise) {
    if (value != otherwise) absl::StrAppend(&text, " ", option, "=", value);
  };
  if (axis.has_value()) absl::StrAppend(&text, " axis=", *axis);
  add("smoothing", smoothing, usual.smoothing);
  if (ignore_index.has_value()) absl::StrAppend(&text, " ignore=", *ignore_index);
  add("weights", absl::StrJoin(class_weights, "/"), "");
  add("pos_weight", absl::StrJoin(positive_weights, "/"), "");
  add("gamma", gamma, usual.gamma);
  if (alpha.has_value()) absl::StrAppend(&text, " alpha=", *alpha);
  add("epsilon", epsilon, usual.epsilon);
  add("blank", blank, usual.blank);
  add("time", time_axis, usual.time_axis);
  add("zero_infinity", zero_infinity, usual.zero_infinity);
  add("lengths", lengths, usual.lengths);
  add("delta", delta, usual.delta);
  add("margin", margin, usual.margin);
  if (function.has_value()) absl::StrAppend(&text, ", digest ", ShortDigest(function->text()));
  return text;
}

std::string OptimizerText(const Optimizer& optimizer) {
  const auto& [kind, decay, momentum, beta1, beta2, smoothing, epsilon] = optimizer;
  return absl::StrCat("decay ", decay, ", momentum ", momentum, ", beta1 ", beta1, ", beta2 ",
                      beta2, ", smoothing ", smoothing, ", epsilon ", epsilon);
}

std::string DropoutText(const onnx::TrainingMode& mode) {
  std::string text = mode.dropout ? "on" : "off";
  if (mode.dropout_ratio.has_value()) absl::StrAppend(&text, " ", *mode.dropout_ratio);
  for (const auto& [value, ratio] : mode.dropout_of)
    absl::StrAppend(&text, ", ", value, "=", ratio);
  return text;
}

std::string ScheduleText(const FitOptions& fit) {
  std::string text = ToString(fit.schedule);
  if (!DependsOnLength(fit.schedule)) return text;
  return fit.steps > 0 ? absl::StrCat(text, " over ", fit.steps, " steps")
                       : absl::StrCat(text, " over ", fit.epochs, " epochs");
}

// Identifies the values with which training begins.
std::string WeightsText(const RunParts& parts) {
  if (parts.trainer.initialize) return "new";
  std::string digests;
  for (const Parameter& parameter : parts.parameters) {
    const HostTensor* first = parts.model.Initializer(parameter.name);
    if (first != nullptr) absl::StrAppend(&digests, Digest(TextOf(first->bytes())), "\n");
  }
  return absl::StrCat("digest ", ShortDigest(digests));
}

RunFact ParameterFact(const onnx::OnnxModel& model, const Parameter& parameter) {
  std::string value =
      absl::StrCat(parameter.shape.ToString(), parameter.is_trained ? " trained" : " frozen");
  if (parameter.lora_rank > 0)
    absl::StrAppend(&value, ", low-rank factors of scale ", parameter.lora_scale);
  const HostTensor* frozen = parameter.is_trained ? nullptr : model.Initializer(parameter.name);
  if (frozen != nullptr) absl::StrAppend(&value, ", digest ", ShortDigest(TextOf(frozen->bytes())));
  return {absl::StrCat(kParameter, parameter.name), std::move(value)};
}

std::string Difference(const RunFact& now, const std::string& stored) {
  return absl::StrCat(now.name, " is '", now.value, "', in the checkpoint it is '", stored, "'");
}

}  // namespace

absl::StatusOr<RunFacts> FactsOf(const RunParts& parts) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RunFacts> {
    const auto& [model, parameters, trainer, fit, dataset, columns, batch, incomplete, drops_last] =
        parts;
    const char* batch_norm = trainer.sync_batch_norm   ? "by the batch of all ranks"
                             : trainer.mode.batch_norm ? "by the batch"
                                                       : "by running statistics";
    const std::string augment = trainer.augment.ToString();
    RunFacts facts = {
        {"the model's graph", absl::StrCat("digest ", model.Digest().substr(0, 12))},
        {"the value of the loss", trainer.output.empty() ? "the first output" : trainer.output},
        {"the loss", LossText(trainer.loss)},
        {"the optimizer", std::string(Name(trainer.optimizer.kind))},
        {"the schedule", ScheduleText(fit)},
        {"the precision", std::string(Name(trainer.precision))},
        {"the number of accumulated batches", absl::StrCat(trainer.accumulate)},
        {"the update of embeddings", trainer.sparse_embeddings ? "by rows" : "dense"},
        {"the seed", absl::StrCat(fit.seed)},
        {"the order of examples", fit.shuffle ? "shuffled" : "kept"},
        {"the augmentation", augment.empty() ? "none" : augment},
        {"batch normalization", batch_norm},
        {"the batch", absl::StrCat(batch), true},
        {"the rate", absl::StrCat(fit.rate), true},
        {"the optimizer's option list", OptimizerText(trainer.optimizer), true},
        {"clipping", absl::StrCat("norm ", trainer.clip_norm, ", value ", trainer.clip_value),
         true},
        {"dropout", DropoutText(trainer.mode), true}};
    if (incomplete > 0) {
      facts.push_back({absl::StrCat("the rule for the last ", incomplete, " examples of an epoch"),
                       drops_last ? "left out (--drop-last)" : "a smaller batch"});
    }
    TARTAN_ASSIGN_OR_RETURN(std::string data, DataText(dataset, columns));
    facts.push_back({"the data", std::move(data)});
    std::string validation = absl::StrCat(fit.validation);
    if (fit.validation_data != nullptr) {
      TARTAN_ASSIGN_OR_RETURN(validation, DataText(*fit.validation_data, columns));
    }
    facts.push_back({"validation", std::move(validation)});
    for (const Parameter& parameter : parameters) facts.push_back(ParameterFact(model, parameter));
    return facts;
  });
}

absl::Status CompareFacts(const std::string& path, const RunFacts& stored, const RunFacts& now,
                          std::vector<std::string>* notes) {
  std::map<std::string, std::string> values;
  for (const RunFact& fact : stored) values[fact.name] = fact.value;
  std::vector<std::string> differences;
  for (const RunFact& fact : now) {
    const bool is_parameter = absl::StartsWith(fact.name, kParameter);
    const auto found = values.find(fact.name);
    if (found == values.end()) {
      if (is_parameter) differences.push_back(Difference(fact, "missing"));
      continue;
    }
    const std::string value = std::move(found->second);
    values.erase(found);
    if (value == fact.value) continue;
    (fact.may_change ? *notes : differences).push_back(Difference(fact, value));
  }
  for (const auto& [name, value] : values) {
    if (absl::StartsWith(name, kParameter))
      differences.push_back(Difference({name, "missing"}, value));
  }
  if (differences.empty()) return absl::OkStatus();
  std::string more;
  if (differences.size() > kNamedDifferences) {
    more = absl::StrCat("; ", differences.size() - kNamedDifferences, " more differences");
    differences.resize(kNamedDifferences);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " belongs to another run: ", absl::StrJoin(differences, "; "), more));
}

std::map<std::string, std::string> FactsToAgreeOn(const RunParts& parts, const RunFacts& facts) {
  std::map<std::string, std::string> agreed;
  for (const RunFact& fact : facts) agreed[fact.name] = fact.value;
  const FitOptions& fit = parts.fit;
  agreed["the batch size"] = absl::StrCat(parts.batch);
  agreed["the learning rate"] = absl::StrCat(fit.rate);
  agreed["the length"] = absl::StrCat(fit.epochs, " epochs, ", fit.steps, " steps, patience ",
                                      fit.patience, ", a line every ", fit.log_every);
  agreed["checkpoints"] = absl::StrCat(fit.checkpoint.empty() ? "none" : "every ",
                                       fit.checkpoint_every, fit.resume ? ", resumed" : "");
  agreed["the model's weights"] = WeightsText(parts);
  agreed["--shard"] = std::string(Name(parts.trainer.shard));
  agreed["the shuffling"] = absl::StrCat(fit.shuffle ? "on" : "off", ", seed ", fit.seed);
  agreed["the validation"] =
      absl::StrCat(fit.validation, fit.validation_data == nullptr ? "" : ", own data");
  return agreed;
}

}  // namespace tartan::train
