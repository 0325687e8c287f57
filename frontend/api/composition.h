// SPDX-License-Identifier: Apache-2.0
// Inlines applications into one Tile function, or into several around loops. Internal to
// frontend/api.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/inline.h"
#include "frontend/api/tensor.h"
#include "proto/tile.pb.h"
#include "tile/lang/ast.h"

namespace tartan::api {

struct ComposedFunction {
  lang::Function function;
  std::vector<Tensor> inputs;
};

class Composition {
 public:
  // Makes the first inputs, used or not.
  void AddPlaceholders(absl::Span<const Tensor> placeholders);
  // Tensors of other functions, which become inputs where they are read.
  void SetGiven(absl::Span<const Tensor> given);
  // Inlines all applications that the outputs need, each once.
  void AddOutputs(absl::Span<const Tensor> outputs);

  ComposedFunction Finish() && { return std::move(result_); }

 private:
  const std::string& NameOf(const Tensor& tensor) const {
    return names_.at(tensor.node().get())[tensor.result()];
  }
  void SetName(const Tensor& tensor, const std::string& name);
  bool IsNamed(const Tensor& tensor) const;
  void AddInput(const Tensor& tensor);
  void Visit(const Tensor& root);
  bool AddKnown(const Tensor& tensor);
  void AddApplication(const Tensor& tensor);

  ComposedFunction result_;
  NameScope scope_;
  // Names of a node's results; an empty name is not defined yet.
  std::unordered_map<const TensorNode*, std::vector<std::string>> names_;
  std::set<std::pair<const TensorNode*, int>> given_;
};

struct ComposedProgram {
  proto::Program program;
  // The tree that the program's code was printed from. Its positions refer to no text.
  std::shared_ptr<const lang::Function> tree;
  // The program's inputs in order: placeholders and constants.
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// Composes tensors that depend on loops into a program of several parts (proto/tile.proto). Each
// loop is a part, and so are the values that one loop and the next need. `loops` is the result of
// LoopsOf(outputs), and is not empty.
absl::StatusOr<ComposedProgram> ComposeParts(
    absl::Span<const std::shared_ptr<const TensorNode>> loops,
    absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name);

}  // namespace tartan::api
