// SPDX-License-Identifier: Apache-2.0
// Decides whether a GEMM uses `dot` instructions on packed int16, int8 or bfloat16 factors.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/poly/packed_matmul.h"

namespace tartan::plan {

// The packed form of an integer GEMM. Empty if the device has no instruction for it, or if a word
// that is packed in each run is not reused often enough. `is_constant[t]`: tensor t is packed once,
// at load.
std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings,
                                                 const std::vector<bool>& is_constant);

// Returns whether a float GEMM may be packed as bfloat16, two values per word. If so, the planner
// compares plans of both forms.
bool MayPackFloats(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   const std::vector<bool>& is_constant);

// Returns whether a float GEMM is worth quantizing to int8. SelectPackedForm then returns a form
// for the integer GEMM.
bool MayQuantize(const poly::FlatContraction& flat, const HardwareSettings& settings,
                 const std::vector<bool>& is_constant);

}  // namespace tartan::plan
