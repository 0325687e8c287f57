// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/bind_plain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Maximum number of elements of an input whose values may decide shapes.
constexpr int64_t kMaxDecidingElements = 64;

}  // namespace

absl::StatusOr<std::optional<BoundGraph>> BindPlain(const Model& model,
                                                    std::vector<InputBinding> bindings,
                                                    const InputValues& values,
                                                    std::vector<bool>* by_value) {
  while (true) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != nullptr && (*by_value)[i]) bindings[i].value = values[i];
    }
    TARTAN_ASSIGN_OR_RETURN(BoundGraph graph, model.Bind(bindings));
    for (const int input : graph.needed_values) {
      if (input < 0) return std::optional<BoundGraph>();  // the value is computed from an input
      const auto i = static_cast<size_t>(input);
      const bool decides = values[i] != nullptr && !(*by_value)[i] &&
                           values[i]->tensor().shape().element_count() <= kMaxDecidingElements;
      if (!decides) return std::optional<BoundGraph>();
      (*by_value)[i] = true;
    }
    if (!graph.needed_values.empty()) continue;
    for (const Value& output : graph.outputs) {
      if (!output.is_tensor() || output.element() != Element::kPlain) {
        return std::optional<BoundGraph>();
      }
    }
    return std::optional<BoundGraph>(std::move(graph));
  }
}

absl::Status CheckMemory(const TensorSpec& spec, const TensorShape& memory) {
  bool fits = spec.is_tensor() && spec.element == Element::kPlain &&
              (spec.type == DataType::kInvalid || spec.type == memory.type);
  if (fits && spec.has_rank) {
    fits = spec.dims.size() == memory.dims.size();
    for (size_t d = 0; fits && d < spec.dims.size(); ++d) {
      fits = spec.dims[d] < 0 || spec.dims[d] == memory.dims[d];
    }
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("memory for ", memory.ToString(), " is bound to ", spec.ToString()));
}

}  // namespace tartan::api
