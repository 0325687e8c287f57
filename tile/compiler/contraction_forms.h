// Contractions that several kernels compute: what must be known of them before a program is divided
// into kernels.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compiler.h"
#include "tile/graph/group.h"
#include "tile/poly/packed_product.h"

namespace tartan::compiler {

// The contractions that Winograd's algorithm will compute, which sees to edges by itself.
absl::StatusOr<std::set<ir::ValueId>> FindWinograd(const ir::Program& program,
                                                   const poly::ProgramSpaces& spaces,
                                                   const ir::Grouping& grouping,
                                                   const CompileOptions& options);

// What lies between narrow integers and the products that are computed several at a time: what is
// packed is made from the narrow ones.
absl::StatusOr<std::vector<ir::ValueId>> FindFactors(const ir::Program& program,
                                                     const poly::ProgramSpaces& spaces,
                                                     const graph::GroupOptions& group_options,
                                                     const CompileOptions& options);

// The kernels that compute products of narrow integers several at a time, where that pays.
std::optional<poly::PackedProduct> PackWorthwhile(const poly::FlatContraction& flat,
                                                  const CompileOptions& options);

}  // namespace tartan::compiler
