// SPDX-License-Identifier: Apache-2.0
// The ways in which a model is damaged that know what a model is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/message_damage.h"

namespace tartan::onnx {

// What models of the corpus consist of, to be put into others.
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

// Every kind of damage.
absl::Span<const Damage> Damages();

// Those that build something (model_structures.cc): nodes put into nested bodies, functions that
// call functions, nodes in long chains, operators whose results are as large as a number says.
void Nest(ModelProto* model, const Material& material, Dice* dice);
void AddFunctions(ModelProto* model, const Material& material, Dice* dice);
void Chain(ModelProto* model, const Material& material, Dice* dice);
void Grow(ModelProto* model, const Material& material, Dice* dice);

// Every message of a type.
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

// An element of a repeated field that is not empty.
template <class Field>
auto* Any(Field* field, Dice* dice) {
  return field->Mutable(dice->BelowInt(field->size()));
}

// Adds an initialiser of int64: a vector, or a scalar where there are no dims.
std::string AddInts(GraphProto* graph, absl::Span<const int64_t> values, bool is_scalar);

}  // namespace tartan::onnx
