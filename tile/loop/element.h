// SPDX-License-Identifier: Apache-2.0
// Reads and writes elements of memory as scalars. Internal to this folder.
#pragma once

#include <cstdint>

#include "tile/base/data_type.h"
#include "tile/base/scalar_value.h"

namespace tartan::loop {

// An element of memory, converted to its computation type.
Scalar ReadElement(DataType stored, const uint8_t* bytes);

// Stores a scalar of the computation type, converted to the stored type.
void WriteElement(DataType stored, const Scalar& value, uint8_t* bytes);

}  // namespace tartan::loop
