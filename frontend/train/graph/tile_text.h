// SPDX-License-Identifier: Apache-2.0
// Helpers for the Tile text that this folder generates. Internal to it.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::train {

// Formats a float32 constant with an explicit type, independent of its context.
std::string Number(double value);

// "i0, i1, …": `count` index names.
std::string Indices(int64_t count);

}  // namespace tartan::train
