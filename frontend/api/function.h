// SPDX-License-Identifier: Apache-2.0
// A Tile function that can be applied to tensors.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/tensor.h"
#include "tile/lang/ast.h"

namespace tartan::api {

// Shapes or values by the name of an input or output, as users write it ("x" for "#x").
using NamedShapes = std::map<std::string, TensorShape>;
using NamedTensors = std::map<std::string, HostTensor>;

// A lazy tensor under such a name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Function {
 public:
  // Parses the text. Equal texts share the result (a bounded, thread-safe cache). InvalidArgument
  // shows the position in `file`, the line and a caret.
  static absl::StatusOr<Function> FromTile(absl::string_view text, absl::string_view file = "tile");
  // The function of a syntax tree. `text` is the text that the tree's positions refer to; if it is
  // empty, messages show no line. Equal trees of equal texts share the result, in the same cache.
  static absl::StatusOr<Function> FromTree(lang::Function tree, absl::string_view text = "",
                                           absl::string_view file = "tile");
  // Reads the text from a file. NotFound, PermissionDenied or Unavailable if it cannot be read.
  static absl::StatusOr<Function> FromFile(const std::string& path);

  // Names in header order.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

  // Applies the function: checks shapes and types and returns one tensor per output, in header
  // order. `name` is the caller's node name, for messages and kernels. A scalar integer input with
  // a known value may be used as a size. InvalidArgument shows the Tile position.
  absl::StatusOr<std::vector<Tensor>> Apply(absl::Span<const Tensor> inputs,
                                            absl::string_view name = "") const;

  // Returns a placeholder per input, of the given shape. InvalidArgument for missing inputs and
  // unknown names.
  absl::StatusOr<std::vector<Tensor>> Placeholders(const NamedShapes& shapes) const;

  const lang::Function& ast() const { return *ast_; }
  const std::string& text() const { return *text_; }
  const std::string& file() const { return *file_; }

 private:
  Function(lang::Function ast, absl::string_view text, absl::string_view file);

  std::shared_ptr<const lang::Function> ast_;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const std::string> file_;
};

// Function::FromTile(text)->Apply(inputs) for functions with one output.
absl::StatusOr<Tensor> Apply(absl::string_view text, absl::Span<const Tensor> inputs,
                             absl::string_view name = "");

// `value` broadcast to a float shape. With 1 as the seed, the loss is the sum of all elements.
absl::StatusOr<Tensor> Filled(const TensorShape& shape, double value);

}  // namespace tartan::api
