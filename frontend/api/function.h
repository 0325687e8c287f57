// A Tile function that can be applied to tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/api/tensor.h"
#include "tile/lang/ast.h"

namespace tartan::api {

class Function {
 public:
  // Parses once; equal texts share the result (a bounded, thread-safe cache).
  static absl::StatusOr<Function> FromTile(absl::string_view text);

  // Applies the function: checks shapes and types and returns one tensor per output, in order of
  // the header. `name` is that of the caller's node, for messages and kernels. InvalidArgument
  // shows the Tile position.
  absl::StatusOr<std::vector<Tensor>> Apply(absl::Span<const Tensor> inputs,
                                            absl::string_view name = "") const;

  const lang::Function& ast() const { return *ast_; }
  const std::string& text() const { return *text_; }

 private:
  std::shared_ptr<const lang::Function> ast_;
  std::shared_ptr<const std::string> text_;
};

// Function::FromTile(text)->Apply(inputs) for functions of one output.
absl::StatusOr<Tensor> Apply(absl::string_view text, absl::Span<const Tensor> inputs,
                             absl::string_view name = "");

}  // namespace tartan::api
