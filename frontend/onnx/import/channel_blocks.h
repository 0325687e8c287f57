// SPDX-License-Identifier: Apache-2.0
// Models that onnxruntime saved after its layout optimization: the operators of com.microsoft.nchwc
// compute on tensors whose channels are in blocks of 8 or 16. The file does not name the size of a
// block, which is that of the processor the model was saved on.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/graph.h"
#include "tile/base/host_tensor.h"

namespace tartan::onnx {

inline constexpr absl::string_view kBlockedDomain = "com.microsoft.nchwc";

// The size of the blocks; 0 for a model that has none. Unimplemented where the filters' sizes and
// zeros agree with both sizes.
absl::StatusOr<int64_t> FindChannelBlock(const Graph& graph);

// Whether a filter [O, I, …] may be one for blocks of that size.
bool IsBlockedFilter(const TensorShape& filter, int64_t block);

// The filter in the standard's order. Requires IsBlockedFilter. Blocks of output channels are
// outermost; within one the elements have the order I, space, O, or where input channels are in
// blocks too, blocks of I, space, I, O.
HostTensor PlainFilter(const HostTensor& filter, int64_t block);

}  // namespace tartan::onnx
