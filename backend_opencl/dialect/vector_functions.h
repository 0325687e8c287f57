// SPDX-License-Identifier: Apache-2.0
// Generates elementary functions of float32 vectors in OpenCL C. Drivers for CPUs compute some of
// them lane by lane or with more accuracy than needed; these functions run at memory speed. PoCL's
// sine is also wrong in lanes next to a large argument.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/base/scalar_op.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// True if this file defines tt_<name of the operation>_<type>.
bool HasVectorFunction(ScalarOp op, const loop::Type& type);

// Returns the definition of tt_<name>_<type>, or "" for other names. signed2 and signed4 implement
// Dialect::float_of_bits_from. Zeros, infinities, NaN and subnormal numbers give the results of the
// OpenCL functions. round is exact, and so are normal quotients by literals of magnitude 1 and
// more. Maximum errors of the others, in units in the last place: exp 1, log 2, sin and cos 2.5,
// sigmoid 3, tan 4.5, erf 5, tanh 6. Without fused multiply-add: exp 1.5, erf 8.
std::string VectorFunction(absl::string_view name, const loop::Type& type);

// Returns the definition of TT_FMA(a, b, c): a fused multiply-add if the processor has one, else a
// multiplication and an addition.
std::string FmaDefinition();

}  // namespace tartan::opencl
