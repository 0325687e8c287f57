// SPDX-License-Identifier: Apache-2.0
// Maps names to values while a graph is imported. Internal to the importer.
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

// The value of a name, or a mark that the value is not known yet.
struct Slot {
  Value value;
  bool waits = false;  // depends on a value that Bind has yet to get
};

// The names of one graph during its import.
struct Scope {
  const Scope* outer = nullptr;  // scope of the enclosing graph; its names are visible here
  Scope* caller = nullptr;       // scope whose import is suspended meanwhile, enclosing or not
  const Graph* graph = nullptr;
  int position = 0;  // of the node being imported
  std::unordered_map<std::string, Slot> slots;
  // For a loop's body: tensors of outer scopes that its nodes read are replaced by placeholders.
  LoopBody* captures = nullptr;

  // Null for an undefined name.
  std::unique_ptr<Slot> Find(const std::string& name) const;
  // The current value of that name in this graph or an enclosing one, without replacement by
  // placeholders; null if undefined.
  const Value* Defined(const std::string& name) const;
};

}  // namespace tartan::onnx
