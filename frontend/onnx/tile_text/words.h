// SPDX-License-Identifier: Apache-2.0
// Strings as operators see them: positions in a list of words that is known while a model is
// imported (api/value.h). What depends on a word alone is a table; the rest needs the positions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// InvalidArgument unless operand `i` is a tensor of strings.
absl::Status ExpectStrings(const NodeContext& context, int i);

// For each string what `per_word`, of shape [words, …], holds for its word.
absl::StatusOr<api::Tensor> LookUp(const NodeContext& context, const api::Value& strings,
                                   const HostTensor& per_word);

// The strings of operand `i`, row-major. Where they are known at run time only, fails and asks as
// NodeContext::HostValue does: return the error as it is.
absl::StatusOr<std::vector<std::string>> StringsOf(NodeContext& context, int i);

// A constant tensor of strings.
api::Value StringsValue(std::vector<int64_t> dims, absl::Span<const std::string> strings);

}  // namespace tartan::onnx
