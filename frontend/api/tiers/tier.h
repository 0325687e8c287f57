// SPDX-License-Identifier: Apache-2.0
// Which kernels a session runs.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tartan::api {

enum class Tier : uint8_t {
  kAuto,   // exact kernels where they are compiled already, else ready ones until they are
  kExact,  // those for one shape alone: the quickest to run, compiled before the first run
  kReady,  // those whose sizes are arguments: soon compiled, and they stay
};

constexpr absl::string_view Name(Tier tier) {
  if (tier == Tier::kExact) return "exact";
  return tier == Tier::kReady ? "ready" : "auto";
}

}  // namespace tartan::api
