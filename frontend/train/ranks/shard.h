// SPDX-License-Identifier: Apache-2.0
// The parts of the training state that ranks divide among them (ZeRO, Rajbhandari et al. 2020).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::train {

// Each stage includes those before it.
enum class Shard : uint8_t {
  kNone,        // every rank keeps the whole state
  kOptimizer,   // a rank keeps the optimiser's averages of its part of the parameters
  kGradients,   // and the gradients of its part
  kParameters,  // and the parameters of its part
};
absl::string_view Name(Shard shard);
// Parses "optimizer"; InvalidArgument lists the names.
absl::StatusOr<Shard> ShardNamed(absl::string_view name);

}  // namespace tartan::train
