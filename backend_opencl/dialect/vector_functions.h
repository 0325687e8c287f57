// SPDX-License-Identifier: Apache-2.0
// Functions of float32 vectors in OpenCL C. Drivers for CPUs compute some of them lane by lane and
// others with more care than their speed allows; these are as quick as memory. PoCL's sine is wrong
// in lanes beside a large number.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/base/scalar_op.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Whether tt_<name of the operation>_<type> is a function of this file.
bool HasVectorFunction(ScalarOp op, const loop::Type& type);

// The definition of tt_<name>_<type>, or "". signed2 and signed4 are those of
// Dialect::float_of_bits_from. Zeros, infinities, NaN and subnormal numbers are as
// the functions of OpenCL have them. round is exact. Errors of others in units in the last place,
// at most: exp 1, log 2, sin and cos 2.5, sigmoid 3, tan 4.5, erf 5, tanh 6; on processors without
// fused multiply-adds exp 1.5 and erf 8.
std::string VectorFunction(absl::string_view name, const loop::Type& type);

// The definition of TT_FMA(a, b, c): one instruction, or a product and a sum.
std::string FmaDefinition();

}  // namespace tartan::opencl
