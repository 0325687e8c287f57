// SPDX-License-Identifier: Apache-2.0
// The functions of checked_tensor.h that generate Tile text.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/checked_tensor.h"
#include "frontend/api/checks/integer_range.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Formats a number as Tile text for use with int64 operands.
std::string Number(int64_t value) {
  if (value >= 0) return absl::StrCat(value);
  return absl::StrCat("(", value, ")");
}

std::string IndexList(int64_t rank) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < rank; ++d) names.push_back(absl::StrCat("i", d));
  return absl::StrJoin(names, ", ");
}

// The bounds of all elements along the last dimension, or the single common bound.
Tensor BoundsTensor(const Check& check, int64_t Bounds::*bound) {
  std::vector<int64_t> values;
  for (const Bounds& bounds : check.bounds) values.push_back(bounds.*bound);
  const TensorShape shape{DataType::kInt64, {static_cast<int64_t>(values.size())}};
  return Tensor::Constant(HostTensor::FromVector(shape, values));
}

// True if the computation of the values alone keeps every element in range.
bool IsProven(const Check& check, const Tensor& values) {
  if (values.is_placeholder()) return false;
  const IntegerRange range = RangeOf(values);
  return std::all_of(check.bounds.begin(), check.bounds.end(), [&](const Bounds& bounds) {
    return range.least >= bounds.least && range.greatest <= bounds.greatest;
  });
}

}  // namespace

absl::StatusOr<Tensor> Checked(const Tensor& values, Check check) {
  TARTAN_RETURN_IF_ERROR(CheckIfKnown(check, values));
  if (values.shape().element_count() == 0 || KnownValue(values).has_value()) return values;
  if (IsProven(check, values)) return values;
  TARTAN_ASSIGN_OR_RETURN(const Function same,
                          Function::FromTile("function (X) -> (Y) { Y = X; }"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                          same.Apply({values}, values.node()->name));
  const TensorNode& applied = *results[0].node();
  auto node = std::make_shared<TensorNode>();
  node->name = applied.name;
  node->shapes = applied.shapes;
  node->kind = applied.kind;
  node->placeholder = applied.placeholder;
  node->check = std::make_shared<const Check>(std::move(check));
  return Tensor(std::move(node), 0);
}

absl::StatusOr<Tensor> StatusOf(const CheckedTensor& checked) {
  const Check& check = *checked.check;
  const bool is_one = check.bounds.size() == 1;
  std::vector<Tensor> inputs = {checked.values};
  std::string least = Number(check.bounds[0].least);
  std::string greatest = Number(check.bounds[0].greatest);
  if (!is_one) {
    inputs.push_back(BoundsTensor(check, &Bounds::least));
    inputs.push_back(BoundsTensor(check, &Bounds::greatest));
    least = "L";
    greatest = "G";
  }
  const int64_t rank = checked.values.rank();
  const std::string all = IndexList(rank);
  std::string outside = absl::StrCat("I < ", least, " || I > ", greatest);
  if (check.exempt.has_value()) {
    outside = absl::StrCat("(", outside, ") && I != ", Number(*check.exempt));
  }
  const std::string reduced =
      is_one ? absl::StrCat("M[] = >(C[", all, "]); S = reshape(M, 1);")
             : absl::StrCat("S[i", rank - 1, " : ", check.bounds.size(), "] = >(C[", all, "]);");
  const std::string text = absl::StrCat(
      "function (X", is_one ? "" : ", L, G", ") -> (S) { I = as_int(X, 64); E = ", outside,
      " ? (I << 1) ^ (I >> 63) : 0; C = as_uint(E, 64); ", reduced, " }");
  return Apply(text, inputs, absl::StrCat(checked.values.node()->name, "_check"));
}

}  // namespace tartan::api
