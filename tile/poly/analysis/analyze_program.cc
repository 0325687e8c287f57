// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/analyze_program.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/analysis/analyze_contraction.h"

namespace tartan::poly {

absl::StatusOr<ProgramSpaces> AnalyzeProgram(const ir::Program& program) {
  ProgramSpaces spaces(program.values.size());
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto* contraction = std::get_if<ir::Contraction>(&program.values[v].op);
    if (contraction == nullptr) continue;
    std::vector<std::vector<int64_t>> input_dims;
    for (const ir::Access& access : contraction->inputs) {
      input_dims.push_back(program.values[access.tensor].shape.dims);
    }
    auto space = AnalyzeContraction(*contraction, program.values[v].shape.dims, input_dims);
    if (!space.ok()) {
      return absl::Status(space.status().code(),
                          absl::StrCat(program.values[v].name, ": ", space.status().message()));
    }
    spaces[v] = *std::move(space);
  }
  return spaces;
}

}  // namespace tartan::poly
