// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/operator_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/types/span.h"
#include "frontend/onnx/families/families.h"

namespace tartan::onnx {
namespace {

using Family = absl::Span<const OperatorRow> (*)();

constexpr Family kFamilies[] = {
    AttentionOperators,
    LinearAttentionOperators,
    MicrosoftAttentionOperators,
    MicrosoftFormOperators,
    MicrosoftGroupedAttentionOperators,
    ChannelBlockOperators,
    MicrosoftTokenizerOperators,
    MicrosoftTransformerOperators,
    ActivationOperators,
    ConstantOperators,
    ControlFlowOperators,
    ConvOperators,
    DataDependentOperators,
    CastOperators,
    EinsumOperators,
    StringOperators,
    TextFeatureOperators,
    MlEncodingOperators,
    MlFeatureOperators,
    MlLinearOperators,
    MlTreeOperators,
    IndexingOperators,
    LinearOperators,
    LogicOperators,
    LossOperators,
    MathOperators,
    MicrosoftQuantizationOperators,
    MovementOperators,
    NormalizationOperators,
    PaddingOperators,
    PoolingOperators,
    QuantizationOperators,
    RecurrentOperators,
    ReductionOperators,
    ResizeOperators,
    SelectionOperators,
    SequenceOperators,
    ShapeOperators,
    SoftmaxOperators,
    WindowOperators,
    SamplingOperators,
    RegionOperators,
    SpectrumOperators,
    RandomOperators,
    TrainingOperators,
    ImageOperators,
    MlMapOperators,
    MlSvmOperators,
    MicrosoftQuantizedLayerOperators,
    LegacyOperators,
    MicrosoftElementOperators,
    MicrosoftExpertOperators,
    MicrosoftGateOperators,
    GradientOperators,
    LayerGradientOperators,
    UpdateOperators,
    TrainingFormOperators,
    TrainingDropoutOperators,
    OptimizerOperators,
};

using Key = std::pair<absl::string_view, absl::string_view>;  // domain, name

// Rows by operator, ascending in since_version. Built at first use; never changes.
const std::map<Key, std::vector<const OperatorRow*>>& Index() {
  static const auto* const index = [] {
    auto* map = new std::map<Key, std::vector<const OperatorRow*>>;
    for (const Family family : kFamilies) {
      for (const OperatorRow& row : family()) (*map)[{row.domain, row.name}].push_back(&row);
    }
    for (auto& [key, rows] : *map) {
      std::sort(rows.begin(), rows.end(), [](const OperatorRow* a, const OperatorRow* b) {
        return a->since_version < b->since_version;
      });
    }
    return map;
  }();
  return *index;
}

}  // namespace

const OperatorRow* FindOperator(absl::string_view domain, absl::string_view name, int64_t opset) {
  const auto found = Index().find({domain, name});
  if (found == Index().end()) return nullptr;
  const OperatorRow* best = domain.empty() ? found->second.front() : nullptr;
  for (const OperatorRow* row : found->second) {
    if (row->since_version <= opset) best = row;
  }
  return best;
}

std::vector<int> OperatorVersions(absl::string_view domain, absl::string_view name) {
  std::vector<int> versions;
  const auto found = Index().find({domain, name});
  if (found == Index().end()) return versions;
  for (const OperatorRow* row : found->second) versions.push_back(row->since_version);
  return versions;
}

std::vector<const OperatorRow*> AllOperators() {
  std::vector<const OperatorRow*> all;
  for (const auto& [key, rows] : Index()) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace tartan::onnx
