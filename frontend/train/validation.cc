// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/validation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

std::vector<std::string> DefaultMetrics(LossKind loss) {
  switch (loss) {
    case LossKind::kSoftmaxCrossEntropy:
      return {"accuracy"};
    case LossKind::kMse:
    case LossKind::kMae:
    case LossKind::kHuber:
      return {"mae"};
    default:
      return {};
  }
}

}  // namespace

absl::StatusOr<NamedMetrics> ValidationMetrics(const Loss& loss,
                                               const std::vector<std::string>& names,
                                               std::optional<double> threshold) {
  return MakeMetrics(names.empty() ? DefaultMetrics(loss.kind) : names,
                     DecisionRuleOf(loss, threshold));
}

absl::StatusOr<Validation> Validate(Trainer& trainer, const Feeds& feeds,
                                    std::shared_ptr<const data::Dataset> dataset,
                                    data::BatchOptions batches, const NamedMetrics& metrics) {
  batches.drop_last = feeds.batch != 0;
  batches.epochs = 1;
  TARTAN_ASSIGN_OR_RETURN(const auto loader,
                          data::BatchLoader::Start(std::move(dataset), std::move(batches)));
  Validation validation;
  double numerator = 0;
  double denominator = 0;
  while (true) {
    TARTAN_ASSIGN_OR_RETURN(const std::optional<data::Batch> batch, loader->Next());
    if (!batch.has_value()) break;
    HostTensor target;
    const api::NamedTensors inputs = feeds.InputsOf(*batch, &target);
    TARTAN_ASSIGN_OR_RETURN(const Evaluation evaluation, trainer.Evaluate(inputs, target));
    numerator += evaluation.numerator;
    denominator += evaluation.denominator;
    validation.examples += batch->size;
    validation.classes = evaluation.classes;
    for (const auto& [name, metric] : metrics) {
      TARTAN_RETURN_IF_ERROR(metric->Add(evaluation.output, target, batch->size));
    }
  }
  validation.loss = denominator > 0 ? numerator / denominator : 0;
  validation.values["val_loss"] = validation.loss;
  for (const auto& [name, metric] : metrics)
    metric->Report(absl::StrCat("val_", name), &validation.values);
  return validation;
}

absl::StatusOr<Validation> ValidateOnFirstRank(GradientExchange& ranks, Trainer& trainer,
                                               const Feeds& feeds,
                                               std::shared_ptr<const data::Dataset> dataset,
                                               data::BatchOptions batches,
                                               const NamedMetrics& metrics) {
  Validation validation;
  std::vector<double> numbers(3);
  if (ranks.rank() == 0 || trainer.DividesParameters()) {
    // A rank has memory for its part of a batch.
    batches.batch_size = (batches.batch_size + ranks.ranks() - 1) / ranks.ranks();
    TARTAN_ASSIGN_OR_RETURN(
        validation, Validate(trainer, feeds, std::move(dataset), std::move(batches), metrics));
    if (ranks.rank() == 0)
      numbers = {validation.loss, static_cast<double>(validation.examples),
                 static_cast<double>(validation.classes.value_or(-1))};
  }
  TARTAN_RETURN_IF_ERROR(ranks.SumNumbers(absl::MakeSpan(numbers)));
  validation.loss = numbers[0];
  validation.examples = static_cast<int64_t>(numbers[1]);
  if (numbers[2] >= 0) validation.classes = static_cast<int64_t>(numbers[2]);
  return validation;
}

}  // namespace tartan::train
