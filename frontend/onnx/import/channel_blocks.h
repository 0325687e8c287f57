// SPDX-License-Identifier: Apache-2.0
// Support for models that onnxruntime saved after its layout optimization. The operators of
// com.microsoft.nchwc compute on tensors whose channels are in blocks of 8 or 16. The file does not
// name the block size, which depends on the processor that saved the model.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/graph.h"
#include "tile/base/host_tensor.h"

namespace tartan::onnx {

inline constexpr absl::string_view kBlockedDomain = "com.microsoft.nchwc";

// Returns the block size, or 0 for a model without such operators. Unimplemented when the sizes and
// zeros of the filters fit both block sizes or neither.
absl::StatusOr<int64_t> FindChannelBlock(const Graph& graph);

// True if a filter [O, I, …] can have channels in blocks of that size.
bool IsBlockedFilter(const TensorShape& filter, int64_t block);

// Returns the filter in the standard's order [O, I, space]. Requires IsBlockedFilter. Blocks of
// output channels are outermost in `filter`. Within a block the order is I, space, O. If the input
// channels are in blocks too, the order is blocks of I, space, I, O.
HostTensor PlainFilter(const HostTensor& filter, int64_t block);

}  // namespace tartan::onnx
