// SPDX-License-Identifier: Apache-2.0
// The kernel and the device that the tests of this folder plan.
#pragma once

#include <cstdint>
#include <string>

#include "tile/base/hardware_settings.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::fuse {

struct MatmulSizes {
  int64_t rows, columns, depth;
};

// Returns the kernel name = +(A[m, k] * B[n, k]) that reads and writes these values.
inline poly::FlatContraction MatmulKernel(const std::string& name, const MatmulSizes& sizes,
                                          ir::ValueId a = 0, ir::ValueId b = 1,
                                          ir::ValueId result = 2) {
  using math::Affine;
  constexpr DataType kFloat = DataType::kFloat32;
  poly::FlatContraction flat;
  flat.name = name;
  flat.indices = {{"m", sizes.rows}, {"n", sizes.columns}, {"k", sizes.depth}};
  flat.output_index_count = 2;
  flat.tensors = {{a, {kFloat, {sizes.rows, sizes.depth}}},
                  {b, {kFloat, {sizes.columns, sizes.depth}}}};
  flat.accesses = {{0, {Affine::Variable(0), Affine::Variable(2)}, {}},
                   {1, {Affine::Variable(1), Affine::Variable(2)}, {}}};
  flat.accumulator_type = kFloat;
  flat.body = poly::MakeApply(
      ScalarOp::kMul, kFloat,
      {poly::MakeExpr(kFloat, poly::Read{0}), poly::MakeExpr(kFloat, poly::Read{1})});
  flat.output_coords = {Affine::Variable(0), Affine::Variable(1)};
  flat.output_dims = {sizes.rows, sizes.columns};
  flat.outputs = {
      {result, {kFloat, flat.output_dims}, poly::MakeExpr(kFloat, poly::Accumulator{})}};
  return flat;
}

inline HardwareSettings Cpu() {
  HardwareSettings settings;
  settings.threads = 1;
  settings.vector_width = 8;
  return settings;
}

}  // namespace tartan::fuse
