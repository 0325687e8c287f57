// SPDX-License-Identifier: Apache-2.0
// Pieces of the Tile text that this folder writes. Internal to it.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::train {

// The number as a float32 literal of its own type, whatever it is combined with.
std::string Number(double value);

// "i0, i1, …": names of `count` indices.
std::string Indices(int64_t count);

}  // namespace tartan::train
