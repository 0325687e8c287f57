// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/shard.h"

#include "absl/strings/str_cat.h"

namespace tartan::train {
namespace {

constexpr Shard kAll[] = {Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters};

}  // namespace

absl::string_view Name(Shard shard) {
  switch (shard) {
    case Shard::kNone:
      return "none";
    case Shard::kOptimizer:
      return "optimizer";
    case Shard::kGradients:
      return "gradients";
    case Shard::kParameters:
      return "parameters";
  }
  return "";
}

absl::StatusOr<Shard> ShardNamed(absl::string_view name) {
  for (const Shard shard : kAll) {
    if (Name(shard) == name) return shard;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there are no shards of '", name,
                   "'; a rank can keep its part of optimizer, gradients or parameters"));
}

}  // namespace tartan::train
