// SPDX-License-Identifier: Apache-2.0
// String tensors inside operators: positions in a list of words that is known at import
// (api/value.h). Functions of a single word become tables over the list.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// InvalidArgument unless operand `i` is a tensor of strings.
absl::Status ExpectStrings(const NodeContext& context, int i);

// Maps each string to its word's row of `per_word`, which has the shape [words, …].
absl::StatusOr<Tensor> LookUp(const NodeContext& context, const Value& strings,
                              const HostTensor& per_word);

// The strings of operand `i`, row-major. If they are only known at run time, fails as
// NodeContext::HostValue does: return the error unchanged.
absl::StatusOr<std::vector<std::string>> StringsOf(NodeContext& context, int i);

// A constant tensor of strings.
Value StringsValue(std::vector<int64_t> dims, absl::Span<const std::string> strings);

}  // namespace tartan::onnx
