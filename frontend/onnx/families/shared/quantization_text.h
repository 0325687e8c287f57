// SPDX-License-Identifier: Apache-2.0
// Builds the Tile functions of quantized operators, which have many operands: text that grows
// statement by statement, and the arithmetic of scales and zero points.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

class FunctionText {
 public:
  explicit FunctionText(const NodeContext& context) : context_(context) {}

  const NodeContext& context() const { return context_; }

  // The name of operand `i` of the node. Call it once per operand.
  std::string Operand(int i);
  // The name of a tensor that is not an operand of the node.
  std::string Operand(Tensor tensor);
  void Add(std::string statement) { statements_.push_back(std::move(statement)); }
  // Adds "target = value". The value consists of the parts.
  template <class Part, class... Parts>
  void Add(absl::string_view target, const Part& part, const Parts&... parts) {
    Add(absl::StrCat(target, " = ", part, parts...));
  }

  Outputs Apply(absl::string_view outputs) const;

 private:
  const NodeContext& context_;
  std::string names_;
  std::vector<Tensor> operands_;
  std::vector<std::string> statements_;
};

// The quantized value of `expr`, a float32: rounded to the nearest integer (ties to even), plus the
// zero point ("": none). It is clamped to the range of the integer type `type`, or to narrower
// limits.
std::string Quantized(absl::string_view expr, absl::string_view zero_point, DataType type);
std::string Quantized(absl::string_view expr, absl::string_view zero_point, DataType type,
                      const IntegerLimits& limits);

// Operand `i`, a scalar or a vector, as text that broadcasts along dimension `axis` of a tensor of
// sizes `dims`. InvalidArgument for a vector of another length.
absl::StatusOr<std::string> AlongAxis(FunctionText& text, int i, const std::vector<int64_t>& dims,
                                      int64_t axis);

// Adds `target` = operand `i` minus operand `zero_point` (if present), in int32. A vector of zero
// points belongs to dimension `axis`.
absl::Status AddInteger(FunctionText& text, absl::string_view target, int i, int zero_point,
                        int64_t axis);

// Adds QUANTIZED, SCALE and ZERO: operand `i` as uint8, quantized over the range of its values
// extended to contain 0.
void AddDynamicQuantization(FunctionText& text, int i);

// The statements of AddDynamicQuantization for a tensor `x` of `rank` dimensions.
std::vector<std::string> DynamicQuantizationStatements(absl::string_view x, int64_t rank);

// The axis of scales and zero points of the left matmul operand: its rows. The axis for the right
// operand is its columns, dimension -1.
int64_t RowAxis(const Tensor& a);

}  // namespace tartan::onnx
