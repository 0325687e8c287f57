// SPDX-License-Identifier: Apache-2.0
// Support for deeply nested graphs and deep chains of function calls: recursive walks over them get
// a stack that is large enough.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tartan::onnx {

class ModelProto;

// Limit of graphs nested in graphs. Calls of functions have no such limit.
inline constexpr int64_t kMaxNestedGraphs = 10'000;

// An empty message that is released without recursion.
std::shared_ptr<ModelProto> NewModelProto();

// The maximum number of graphs, bodies of functions included, that are open at once during a walk
// of the model. Each function counts once, because recursive functions are refused.
int64_t DepthOf(const ModelProto& model);

// Calls `work` with a stack for `depth` open graphs: on this thread, or on a new thread while this
// one waits. ResourceExhausted if there is no memory for the stack; `work` is not called then.
absl::Status WithDeepStack(int64_t depth, absl::FunctionRef<void()> work);

}  // namespace tartan::onnx
