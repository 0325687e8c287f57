// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/nesting.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx {
namespace {

// Nesting levels for which the stack of any thread is enough.
constexpr int64_t kDepthOfAnyStack = 64;
// Stack bytes per nesting level. A level takes 2 to 6 kB, more with sanitizers. Untouched pages
// cost nothing.
constexpr int64_t kStackPerLevel = 16 << 10;
constexpr int64_t kStackOfLastLevel = 8 << 20;

// Moves the graphs in attributes of the graph's nodes into `nested`.
void TakeNested(GraphProto* graph, std::vector<std::unique_ptr<GraphProto>>* nested) {
  for (NodeProto& node : *graph->mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) nested->emplace_back(attribute.release_g());
      while (attribute.graphs_size() > 0) {
        nested->emplace_back(attribute.mutable_graphs()->ReleaseLast());
      }
    }
  }
}

void ReleaseModel(ModelProto* model) {
  std::vector<std::unique_ptr<GraphProto>> nested;
  if (model->has_graph()) nested.emplace_back(model->release_graph());
  for (FunctionProto& function : *model->mutable_functions()) {
    GraphProto& body = *nested.emplace_back(std::make_unique<GraphProto>());
    body.mutable_node()->Swap(function.mutable_node());
  }
  while (!nested.empty()) {
    const std::unique_ptr<GraphProto> graph = std::move(nested.back());
    nested.pop_back();
    TakeNested(graph.get(), &nested);
  }
  delete model;
}

// The maximum nesting level of the graphs in attributes of these nodes, which are level 1.
int64_t DepthOf(const google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
  using Open = std::pair<const google::protobuf::RepeatedPtrField<NodeProto>*, int64_t>;
  std::vector<Open> waiting = {{&nodes, 1}};
  int64_t deepest = 0;
  while (!waiting.empty()) {
    const auto [graph, depth] = waiting.back();
    waiting.pop_back();
    deepest = std::max(deepest, depth);
    for (const NodeProto& node : *graph) {
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) waiting.emplace_back(&attribute.g().node(), depth + 1);
        for (const GraphProto& nested : attribute.graphs()) {
          waiting.emplace_back(&nested.node(), depth + 1);
        }
      }
    }
  }
  return deepest;
}

struct Work {
  absl::FunctionRef<void()> call;
  std::exception_ptr failure;
};

void* Run(void* argument) {
  Work* work = static_cast<Work*>(argument);
  try {
    work->call();
  } catch (...) {
    work->failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<ModelProto> NewModelProto() { return {new ModelProto, ReleaseModel}; }

int64_t DepthOf(const ModelProto& model) {
  int64_t depth = DepthOf(model.graph().node());
  for (const FunctionProto& function : model.functions()) depth += DepthOf(function.node());
  return depth;
}

absl::Status WithDeepStack(int64_t depth, absl::FunctionRef<void()> work) {
  if (depth <= kDepthOfAnyStack) {
    work();
    return absl::OkStatus();
  }
  const int64_t bytes = kStackOfLastLevel + depth * kStackPerLevel;
  Work on_thread = {work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    error = pthread_attr_setstacksize(&attributes, static_cast<size_t>(bytes));
    if (error == 0) error = pthread_create(&thread, &attributes, Run, &on_thread);
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("graphs and functions nest ", depth,
                                                     " levels deep, but a stack of ", bytes >> 20,
                                                     " MiB cannot be allocated"));
  }
  pthread_join(thread, nullptr);
  if (on_thread.failure != nullptr) std::rethrow_exception(on_thread.failure);
  return absl::OkStatus();
}

}  // namespace tartan::onnx
