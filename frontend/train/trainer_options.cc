// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/trainer_options.h"

#include "absl/strings/str_cat.h"
#include "frontend/train/graph/sparse_rows.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

absl::Status CheckShards(const TrainerOptions& options) {
  if (options.shard == Shard::kNone) return absl::OkStatus();
  if (options.exchange == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards of ", Name(options.shard), " need several ranks: one process trains"));
  }
  if (options.profile && options.shard >= Shard::kGradients) {
    return absl::InvalidArgumentError(
        absl::StrCat("a step cannot be profiled kernel by kernel with shards of ",
                     Name(options.shard), ", which ranks exchange during the step"));
  }
  if (options.optimizer.kind != OptimizerKind::kLamb) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "lamb needs norms of whole parameters, of which a rank has parts with shards of ",
      Name(options.shard)));
}

absl::Status CheckStatistics(const TrainerOptions& options) {
  if (!options.sync_batch_norm || options.exchange == nullptr) return absl::OkStatus();
  if (options.profile) {
    return absl::InvalidArgumentError(
        "a step cannot be profiled kernel by kernel with batch statistics of all ranks, which "
        "these "
        "exchange during the step");
  }
  if (options.shard < Shard::kGradients) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("batch statistics of all ranks do not exist with shards of ",
                   Name(options.shard), ", whose exchanges have another order"));
}

}  // namespace

absl::Status CheckTrainerOptions(const TrainerOptions& options) {
  TARTAN_RETURN_IF_ERROR(options.optimizer.Check());
  TARTAN_RETURN_IF_ERROR(options.loss_scale.Check());
  if (!(options.clip_norm >= 0) || !(options.clip_value >= 0)) {
    return absl::InvalidArgumentError(
        "the limits of gradients, clip_norm and clip_value, must not be negative");
  }
  if (options.accumulate < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("gradients of ", options.accumulate, " steps cannot be accumulated"));
  }
  if (options.sparse_embeddings) {
    TARTAN_RETURN_IF_ERROR(CheckRowOptimizer(options.optimizer));
    if (options.accumulate > 1 || options.exchange != nullptr) {
      return absl::InvalidArgumentError(
          "embeddings cannot be updated by rows on several ranks or with accumulated gradients, "
          "which are dense");
    }
  }
  TARTAN_RETURN_IF_ERROR(CheckShards(options));
  TARTAN_RETURN_IF_ERROR(CheckStatistics(options));
  const bool is_narrow = options.gradient_type == DataType::kBFloat16;
  if (!is_narrow && options.gradient_type != DataType::kFloat32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "gradients are exchanged in float32 or bfloat16, not ", Name(options.gradient_type)));
  }
  if (is_narrow &&
      (options.accumulate > 1 || options.exchange == nullptr || options.shard != Shard::kNone)) {
    return absl::InvalidArgumentError(
        "gradients in bfloat16 need several ranks with whole states, and an update after each "
        "step");
  }
  if (options.memory_budget < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the memory budget, ", options.memory_budget, " bytes, is negative"));
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
