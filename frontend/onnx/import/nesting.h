// SPDX-License-Identifier: Apache-2.0
// Graphs that lie deep in each other, and functions that call each other deeply: what walks them
// recurses, and gets a stack that is large enough.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tartan::onnx {

class ModelProto;

// Graphs in graphs beyond this are refused; functions may call each other as deep as they like.
inline constexpr int64_t kMaxNestedGraphs = 10'000;

// An empty message that is released without recursion.
std::shared_ptr<ModelProto> NewModelProto();

// At most so many graphs, bodies of functions included, are open at once while the model is walked.
// None of the functions counts twice: calls that come back to one are refused.
int64_t DepthOf(const ModelProto& model);

// Calls `work` with a stack that `depth` open graphs fit on: this thread's, or a thread's of its
// own while this one waits. ResourceExhausted where there is no memory for that stack; `work` is
// not called then.
absl::Status WithDeepStack(int64_t depth, absl::FunctionRef<void()> work);

}  // namespace tartan::onnx
