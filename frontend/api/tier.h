// SPDX-License-Identifier: Apache-2.0
// The kinds of kernels that a session runs.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tartan::api {

enum class Tier : uint8_t {
  kAuto,   // exact kernels if they are compiled already, otherwise ready ones until they are
  kExact,  // shape-specialised: the fastest, compiled before the first run
  kReady,  // dynamic-shape: sizes are arguments; fast to compile, and they stay
};

constexpr absl::string_view Name(Tier tier) {
  if (tier == Tier::kExact) return "exact";
  return tier == Tier::kReady ? "ready" : "auto";
}

}  // namespace tartan::api
