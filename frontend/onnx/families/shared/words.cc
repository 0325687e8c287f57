// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/words.h"

#include "tile/base/status_macros.h"

namespace tartan::onnx {

absl::Status ExpectStrings(const NodeContext& context, int i) {
  if (context.value(i).is_strings()) return absl::OkStatus();
  return Invalid("operand ", i, ": a tensor of strings is expected");
}

absl::StatusOr<Tensor> LookUp(const NodeContext& context, const Value& strings,
                              const HostTensor& per_word) {
  if (per_word.element_count() == 0) {  // without words there are no elements either
    std::vector<int64_t> dims = strings.tensor().dims();
    dims.insert(dims.end(), per_word.shape().dims.begin() + 1, per_word.shape().dims.end());
    return Tensor::Constant(HostTensor::Zeros(TensorShape{per_word.type(), dims}));
  }
  return context.ApplyOne("function (W, X) -> (Y) { Y = gather(W, X); }",
                          {Tensor::Constant(per_word), strings.tensor()});
}

absl::StatusOr<std::vector<std::string>> StringsOf(NodeContext& context, int i) {
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, i));
  const Value strings = context.value(i);
  TARTAN_ASSIGN_OR_RETURN(const HostTensor positions, context.HostValue(i));
  return api::StringsOf(api::HostValue(positions, strings.element(), strings.words()));
}

Value StringsValue(std::vector<int64_t> dims, absl::Span<const std::string> strings) {
  return api::ToLazy(api::HostStrings(std::move(dims), strings));
}

}  // namespace tartan::onnx
