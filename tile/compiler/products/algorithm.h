// SPDX-License-Identifier: Apache-2.0
// By which algorithm each contraction of a program is computed: decided from the contraction alone,
// before it is known what shares its kernel.
#pragma once

#include <map>
#include <set>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compile_options.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/packed_product.h"

namespace tartan::compiler {

// Five kernels of Winograd's algorithm (poly/winograd.h).
struct WinogradAlgorithm {
  int64_t tile = 0;
};

// Products of narrow numbers several at a time (poly/packed_product.h). Those of floats are
// computed directly where plans say that it is quicker.
struct PackedAlgorithm {
  poly::PackedForm form = poly::PackedForm::kPairs;
  // Values between the narrow integers and the products: computed where they are packed.
  std::vector<ir::ValueId> inlined;
};

// Contractions that are not here are computed directly.
using Algorithms = std::map<ir::ValueId, std::variant<WinogradAlgorithm, PackedAlgorithm>>;

// Those for which another algorithm than the direct one pays on the device of `options.settings`.
absl::StatusOr<Algorithms> SelectWinograd(const ir::Program& program,
                                          const poly::ProgramSpaces& spaces,
                                          const std::vector<bool>& is_constant,
                                          const CompileOptions& options);
// `held`: values that stay in memory as they are.
absl::StatusOr<Algorithms> SelectPackedProducts(const ir::Program& program,
                                                const poly::ProgramSpaces& spaces,
                                                const std::vector<bool>& is_constant,
                                                const std::vector<ir::ValueId>& held,
                                                const CompileOptions& options);
// Products of floats that may be rounded to bfloat16, where options allow it, on CPUs.
absl::StatusOr<Algorithms> SelectBFloat16Products(const ir::Program& program,
                                                  const poly::ProgramSpaces& spaces,
                                                  const std::vector<bool>& is_constant,
                                                  const CompileOptions& options);
// Products for a matrix unit that are best made in several runs of their depth, and in how many,
// where what reads them adds up the sums of these in passing (graph/products/split_depths.h).
absl::StatusOr<std::map<ir::ValueId, int64_t>> SelectSplitDepths(
    const ir::Program& program, const poly::ProgramSpaces& spaces,
    const std::vector<bool>& is_constant, const CompileOptions& options);
// Products of floats whose factors become int8, where options allow it and the device multiplies
// several of them at a time: those that packing pays for.
absl::StatusOr<std::set<ir::ValueId>> SelectQuantizedProducts(const ir::Program& program,
                                                              const poly::ProgramSpaces& spaces,
                                                              const std::vector<bool>& is_constant,
                                                              const CompileOptions& options);

}  // namespace tartan::compiler
