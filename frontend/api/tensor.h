// SPDX-License-Identifier: Apache-2.0
// Lazy tensors: applications of Tile functions to inputs, constants and other tensors. Nothing is
// computed until Compose (composer.h) makes one program of a set of results, for an Invoker or a
// Session to run.
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

// A handle to one result of a node; cheap to copy, immutable, safe to share between threads.
class Tensor {
 public:
  Tensor() = default;
  // A result of a node; for this folder.
  Tensor(std::shared_ptr<const TensorNode> node, int result)
      : node_(std::move(node)), result_(result) {}
  Tensor(const NodeResult& result);

  // A value given at run time.
  static Tensor Placeholder(std::string name, TensorShape shape);
  // A placeholder with a value at hand: an operand of what is computed as soon as somebody asks
  // (eager/eager_runtime.h). To everything else it is a placeholder like others.
  static Tensor Leaf(HostTensor value, std::string name = "leaf");
  // A value known now; kept on the device by whatever runs it. `name` is for messages.
  static Tensor Constant(HostTensor value, std::string name = "");

  bool defined() const { return node_ != nullptr; }
  const TensorShape& shape() const;
  DataType type() const { return shape().type; }
  const std::vector<int64_t>& dims() const { return shape().dims; }
  int64_t rank() const { return shape().rank(); }

  // The value, if it is a constant; null otherwise.
  const HostTensor* constant() const;
  bool is_placeholder() const;
  // The value of a leaf; null for everything else.
  const HostTensor* leaf_value() const;
  // It is a placeholder or computed from one: its value is known at run time only.
  bool depends_on_placeholder() const;

  const std::shared_ptr<const TensorNode>& node() const { return node_; }
  int result() const { return result_; }
  bool operator==(const Tensor&) const = default;  // the same node and result

 private:
  std::shared_ptr<const TensorNode> node_;
  int result_ = 0;
};

// --- For this folder.

// The constant value, or one computed on the host before.
std::optional<HostTensor> KnownValue(const Tensor& tensor);
void RememberValue(const Tensor& tensor, HostTensor value);

}  // namespace tartan::api
