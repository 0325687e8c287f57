// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/plain_outputs.h"

#include "absl/strings/str_cat.h"

namespace tartan::api {

absl::StatusOr<std::vector<HostTensor>> PlainOutputs(const Model& model,
                                                     absl::Span<const HostValue> values) {
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_tensor() || values[i].element() != Element::kPlain) {
      return absl::FailedPreconditionError(absl::StrCat("output '", model.outputs()[i].name,
                                                        "' is ", Describe(values[i]),
                                                        ", not a tensor of numbers"));
    }
    outputs.push_back(values[i].tensor());
  }
  return outputs;
}

}  // namespace tartan::api
