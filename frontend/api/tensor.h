// SPDX-License-Identifier: Apache-2.0
// Lazy tensors: applications of Tile functions to inputs, constants and other tensors. Nothing is
// computed until Compose (composer.h) makes one program of a set of results, which an Invoker or a
// Session runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/base/shape.h"

namespace tartan::api {

struct NodeResult;
struct TensorNode;

// A handle to one result of a node. Cheap to copy, immutable, may be shared between threads.
class Tensor {
 public:
  Tensor() = default;
  // A result of a node; for this folder only.
  Tensor(std::shared_ptr<const TensorNode> node, int result)
      : node_(std::move(node)), result_(result) {}
  Tensor(const NodeResult& result);

  // A tensor whose value is given at run time.
  static Tensor Placeholder(std::string name, TensorShape shape);
  // A placeholder with a known value, for eager evaluation (eager/eager_runtime.h). Everything else
  // treats it as an ordinary placeholder.
  static Tensor Leaf(HostTensor value, std::string name = "leaf");
  // A tensor with a fixed value, which stays on the device that runs it. `name` is for messages.
  static Tensor Constant(HostTensor value, std::string name = "");

  bool defined() const { return node_ != nullptr; }
  const TensorShape& shape() const;
  DataType type() const { return shape().type; }
  const std::vector<int64_t>& dims() const { return shape().dims; }
  int64_t rank() const { return shape().rank(); }

  // The value of a constant; null otherwise.
  const HostTensor* constant() const;
  bool is_placeholder() const;
  // The value of a leaf; null otherwise.
  const HostTensor* leaf_value() const;
  // True for a placeholder and for tensors computed from one: the value is known only at run time.
  bool depends_on_placeholder() const;
  // The same, without regard to leaves.
  bool depends_on_open_placeholder() const;

  const std::shared_ptr<const TensorNode>& node() const { return node_; }
  int result() const { return result_; }
  bool operator==(const Tensor&) const = default;  // the same node and result

 private:
  std::shared_ptr<const TensorNode> node_;
  int result_ = 0;
};

// --- For this folder.

// The value of a constant, or the value that RememberValue stored.
std::optional<HostTensor> KnownValue(const Tensor& tensor);
void RememberValue(const Tensor& tensor, HostTensor value);

}  // namespace tartan::api
