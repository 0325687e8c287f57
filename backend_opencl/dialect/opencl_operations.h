// SPDX-License-Identifier: Apache-2.0
// Prints scalar operations in OpenCL C with the semantics of tile/base/scalar_value.h.
#pragma once

#include "absl/types/span.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Implement Dialect::apply and Dialect::multiply_add (dialect.h).
codegen::Code Apply(ScalarOp op, const loop::Type& type, const loop::Type& result,
                    absl::Span<const codegen::Code> operands);
codegen::Code MultiplyAdd(const codegen::Code& a, const codegen::Code& b, const codegen::Code& sum,
                          const loop::Type& type, bool has_fma);

// Implements Dialect::dot_and_add.
codegen::Code DotAndAdd(ScalarOp op, const codegen::Code& a, const codegen::Code& b,
                        const codegen::Code& sum, const loop::Type& type);

// Implements Dialect::float_of_bits_from on CPUs.
codegen::Code FloatOfBitsFrom(const codegen::Code& x, int64_t shift, int64_t bits,
                              const loop::Type& type);

// Prints the conversion between two types, or the broadcast of a scalar to a vector.
codegen::Code ConvertValue(const codegen::Code& value, const loop::Type& from,
                           const loop::Type& to);

}  // namespace tartan::opencl
