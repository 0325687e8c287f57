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

// Shapes or values by the name of an input or output, as users know it ("x" for "#x").
using NamedShapes = std::map<std::string, TensorShape>;
using NamedTensors = std::map<std::string, HostTensor>;

// A lazy tensor under such a name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Function {
 public:
  // Parses once; equal texts share the result (a bounded, thread-safe cache). InvalidArgument shows
  // the position in `file`, the line and a caret.
  static absl::StatusOr<Function> FromTile(absl::string_view text, absl::string_view file = "tile");
  // The text of a file. NotFound, PermissionDenied or Unavailable when it cannot be read.
  static absl::StatusOr<Function> FromFile(const std::string& path);

  // In the order of the header.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

  // Applies the function: checks shapes and types and returns one tensor per output, in order of
  // the header. `name` is that of the caller's node, for messages and kernels. An input that is a
  // scalar integer with a known value may be used as a size. InvalidArgument shows the Tile
  // position.
  absl::StatusOr<std::vector<Tensor>> Apply(absl::Span<const Tensor> inputs,
                                            absl::string_view name = "") const;

  // A placeholder per input, of the shape given for it. InvalidArgument for inputs that are missing
  // and names that the function does not have.
  absl::StatusOr<std::vector<Tensor>> Placeholders(const NamedShapes& shapes) const;

  const lang::Function& ast() const { return *ast_; }
  const std::string& text() const { return *text_; }
  const std::string& file() const { return *file_; }

 private:
  std::shared_ptr<const lang::Function> ast_;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const std::string> file_;
};

// Function::FromTile(text)->Apply(inputs) for functions of one output.
absl::StatusOr<Tensor> Apply(absl::string_view text, absl::Span<const Tensor> inputs,
                             absl::string_view name = "");

}  // namespace tartan::api
