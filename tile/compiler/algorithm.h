// SPDX-License-Identifier: Apache-2.0
// Selects the algorithm of each contraction (Winograd, packed, split-K, quantized), from the
// contraction alone, before fusion is decided.
#pragma once

#include <map>
#include <set>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/fuse/judge.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/packed_matmul.h"

namespace tartan::compiler {

// Winograd convolution, in five kernels (poly/winograd.h).
struct WinogradAlgorithm {
  int64_t tile = 0;
};

// Packed low-precision matmul, several multiplications per instruction (poly/packed_matmul.h).
// Float matmuls keep the direct kernel if its plan is faster.
struct PackedAlgorithm {
  poly::PackedForm form = poly::PackedForm::kPairs;
  // Values between the integer inputs and the matmul; the packing kernels compute them.
  std::vector<ir::ValueId> inlined;
};

// Selected algorithms by contraction; other contractions are computed directly.
using Algorithms = std::map<ir::ValueId, std::variant<WinogradAlgorithm, PackedAlgorithm>>;

// A program with its index spaces and, per value, whether it is a load-time constant.
struct AnalyzedProgram {
  const ir::Program& program;
  const poly::ProgramSpaces& spaces;
  const std::vector<bool>& is_constant;
};

// Selects convolutions for which Winograd's algorithm is faster.
absl::StatusOr<Algorithms> SelectWinograd(const AnalyzedProgram& in, fuse::Judge* judge);
// Selects integer matmuls for packed kernels. `held`: values that must stay in memory as they are.
absl::StatusOr<Algorithms> SelectPackedMatmuls(const AnalyzedProgram& in,
                                               const std::vector<ir::ValueId>& held,
                                               fuse::Judge* judge);
// Selects float matmuls to round to bfloat16 on a CPU, if the options allow it.
absl::StatusOr<Algorithms> SelectBFloat16Matmuls(const AnalyzedProgram& in, fuse::Judge* judge);
// Selects matmuls on a matrix unit for split-K, and the number of K chunks. Their reader adds up
// the partial sums (graph/matmul/split_k.h).
absl::StatusOr<std::map<ir::ValueId, int64_t>> SelectSplitK(const AnalyzedProgram& in,
                                                            fuse::Judge* judge);
// Selects float matmuls to quantize to int8, if the device has packed int8
// multiplication, and packing pays.
absl::StatusOr<std::set<ir::ValueId>> SelectQuantizedMatmuls(const AnalyzedProgram& in,
                                                             fuse::Judge* judge);

}  // namespace tartan::compiler
