// SPDX-License-Identifier: Apache-2.0
// Names to values while a graph is imported. Internal to the importer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

struct Slot {
  api::Value value;
  bool waits = false;  // for a value that Bind has yet to ask for
};

struct Scope {
  const Scope* outer = nullptr;  // of the graph around this one; its names are visible here
  Scope* caller = nullptr;       // the scope that is being imported meanwhile, outer or not
  const Graph* graph = nullptr;
  int position = 0;  // of the node being imported
  std::unordered_map<std::string, Slot> slots;
  // Of a loop's body: what its nodes read of outer scopes is replaced by placeholders.
  LoopBody* captures = nullptr;

  // Null for a name that nothing defines.
  std::unique_ptr<Slot> Find(const std::string& name) const;
  // The value of that name that this graph or one around it has so far, as it is there; null where
  // none has one.
  const api::Value* Defined(const std::string& name) const;
};

}  // namespace tartan::onnx
