// SPDX-License-Identifier: Apache-2.0
// The kinds of damage that use the structure of an ONNX model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/message_damage.h"

namespace tartan::onnx {

// Parts of the models of the corpus, to be inserted into other models.
struct Material {
  std::vector<std::string> strings;  // of nodes: operators, domains, attributes and their values
  std::vector<NodeProto> nodes;
};

Material Gather(absl::Span<const std::string> corpus);

struct Damage {
  const char* name;
  size_t weight;
  void (*apply)(ModelProto* model, const Material& material, Dice* dice);
};

// All kinds of damage.
absl::Span<const Damage> Damages();

// The kinds that build large structures (model_structures.cc). They nest nodes in bodies, make
// functions call functions, chain many nodes, or add operators whose size operands make their
// results large.
void Nest(ModelProto* model, const Material& material, Dice* dice);
void AddFunctions(ModelProto* model, const Material& material, Dice* dice);
void Chain(ModelProto* model, const Material& material, Dice* dice);
void Grow(ModelProto* model, const Material& material, Dice* dice);

// Collects all messages of a type.
template <class Proto>
std::vector<Proto*> All(ModelProto* model) {
  std::vector<Proto*> found;
  for (google::protobuf::Message* message : MessagesIn(model)) {
    if (message->GetDescriptor() == Proto::descriptor()) {
      found.push_back(static_cast<Proto*>(message));
    }
  }
  return found;
}

// A random element of a non-empty repeated field.
template <class Field>
auto* Any(Field* field, Dice* dice) {
  return field->Mutable(dice->BelowInt(field->size()));
}

// Adds an int64 initializer: a vector, or a scalar when `is_scalar`.
std::string AddInts(GraphProto* graph, absl::Span<const int64_t> values, bool is_scalar);

}  // namespace tartan::onnx
