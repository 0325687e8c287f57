// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/passes/matmul_passes.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/compiler/algorithm.h"
#include "tile/compiler/row_chunks.h"
#include "tile/graph/constant_operands/scales.h"
#include "tile/graph/constants.h"
#include "tile/graph/matmul/fuse_parallel_matmuls.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/matmul/narrow_operands.h"
#include "tile/graph/matmul/quantize_matmuls.h"
#include "tile/graph/matmul/recompute_weights.h"
#include "tile/graph/matmul/row_chunks.h"
#include "tile/graph/matmul/row_region.h"
#include "tile/graph/matmul/split_k.h"
#include "tile/graph/placements/pieces.h"

namespace tartan::compiler {

using ir::ValueId;

std::optional<MatrixFormat> MatrixUnitFormat(const Compilation& c) {
  const bool has_unit = c.options.settings.matrix_local_bytes > 0;
  return has_unit && c.options.tier == Tier::kExact ? FormatOf(c.options.precision) : std::nullopt;
}

bool MayUseMatrixUnit(const Compilation& c) {
  if (c.options.settings.matrix_local_bytes == 0 || c.options.tier != Tier::kExact) return false;
  const std::vector<ir::Value>& values = c.program.values;
  return MatrixUnitFormat(c).has_value() ||
         std::any_of(values.begin(), values.end(), [&](const ir::Value& value) {
           return graph::IsNarrowMatmul(c.program, value);
         });
}

absl::Status Analyze(Compilation* c) {
  TARTAN_ASSIGN_OR_RETURN(c->spaces, poly::AnalyzeProgram(c->program));
  c->is_constant = graph::FindConstants(c->program);
  graph::NarrowPieces(c->program, c->is_constant, &c->spaces);
  return absl::OkStatus();
}

absl::Status TakeProgram(ir::Program program, const std::vector<ValueId>& numbers, Compilation* c) {
  for (ValueId& held : c->grouping.held) held = numbers[held];
  for (ValueId& inlined : c->grouping.inlined) inlined = numbers[inlined];
  c->program = std::move(program);
  return Analyze(c);
}

absl::Status ScaleAfterMatmuls(Compilation* c) {
  // Only for matrix units, whose tiles read factors in their stored order. Without one, attention
  // is faster with keys that are transposed by the scaling kernel (ViT on an H200: 2.42 ms instead
  // of 2.90 ms).
  if (MatrixUnitFormat(*c)) c->program = graph::ScaleAfterMatmuls(c->program);
  return absl::OkStatus();
}

absl::Status ChunkRows(Compilation* c) {
  if (c->options.tier != Tier::kExact) return absl::OkStatus();
  const std::optional<graph::RowRegion> region =
      graph::FindRowRegion(c->program, kMinChunkedElements);
  if (!region.has_value()) return absl::OkStatus();
  const int64_t chunks = RowChunks(c->program, *region, c->options);
  if (chunks > 1) c->program = graph::ComputeInChunks(c->program, *region, chunks);
  return absl::OkStatus();
}

absl::Status FuseParallelMatmuls(Compilation* c) {
  // Dynamic-shape kernels are shared by matmuls of all sizes, so they are not joined.
  if (c->options.tier == Tier::kExact) c->program = graph::FuseParallelMatmuls(c->program);
  return absl::OkStatus();
}

absl::Status RecomputeAttentionWeights(Compilation* c) {
  // Smaller weights are worth neither the launch nor the second matmul.
  constexpr int64_t kMinBytes = 1 << 16;
  if (!MayUseMatrixUnit(*c)) return absl::OkStatus();
  const bool only_narrow = !MatrixUnitFormat(*c).has_value();
  c->program = graph::RecomputeWeights(c->program, kMinBytes, only_narrow);
  return absl::OkStatus();
}

absl::Status NarrowMatmulOperands(Compilation* c) {
  const std::optional<MatrixFormat> format = MatrixUnitFormat(*c);
  if (!format.has_value()) return absl::OkStatus();
  const DataType type = ElementType(*format);
  if (type != DataType::kFloat32) {
    c->program = graph::NarrowMatmulOperands(c->program, type, &c->grouping.held);
  }
  return absl::OkStatus();
}

absl::Status QuantizeFactors(Compilation* c) {
  const bool may_quantize =
      c->options.precision == Precision::kInt8 && c->options.tier == Tier::kExact;
  if (!may_quantize) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const auto products, SelectQuantizedMatmuls(c->analyzed(), &c->judge));
  if (products.empty()) return absl::OkStatus();
  graph::QuantizedProgram quantized =
      graph::QuantizeMatmuls(c->program, c->spaces, c->is_constant, products);
  TARTAN_RETURN_IF_ERROR(TakeProgram(std::move(quantized.program), quantized.numbers, c));
  c->grouping.inlined = std::move(quantized.inlined);
  return absl::OkStatus();
}

absl::Status SplitKMatmuls(Compilation* c) {
  if (!MayUseMatrixUnit(*c)) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const auto runs, SelectSplitK(c->analyzed(), &c->judge));
  if (runs.empty()) return absl::OkStatus();
  graph::SplitKMatmuls split = graph::SplitK(c->program, runs);
  return TakeProgram(std::move(split.program), split.numbers, c);
}

absl::Status SelectWinogradConvolutions(Compilation* c) {
  if (c->options.tier == Tier::kReady) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(c->algorithms, SelectWinograd(c->analyzed(), &c->judge));
  return absl::OkStatus();
}

absl::Status SelectPackedMatmulPasses(Compilation* c) {
  if (c->options.tier == Tier::kReady) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(Algorithms packed,
                          SelectPackedMatmuls(c->analyzed(), c->grouping.held, &c->judge));
  for (const auto& [root, algorithm] : packed) {
    const std::vector<ValueId>& inlined = std::get<PackedAlgorithm>(algorithm).inlined;
    c->grouping.inlined.insert(c->grouping.inlined.end(), inlined.begin(), inlined.end());
  }
  c->algorithms.merge(packed);
  TARTAN_ASSIGN_OR_RETURN(Algorithms rounded, SelectBFloat16Matmuls(c->analyzed(), &c->judge));
  c->algorithms.merge(rounded);
  return absl::OkStatus();
}

}  // namespace tartan::compiler
