// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/constant_tensors.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::onnx {
namespace {

std::vector<double> CountFrom(double first, const TensorShape& shape) {
  std::vector<double> values(static_cast<size_t>(shape.element_count()));
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

absl::Status CheckTable(absl::Span<const int64_t> sizes) {
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  int64_t elements = 1;
  for (int64_t size : sizes) {
    if (size > kMaxElements || elements * size > kMaxElements) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a table of ", absl::StrJoin(sizes, " x "), " elements"));
    }
    elements *= size;
  }
  return absl::OkStatus();
}

api::Tensor ConstantOf(DataType type, absl::Span<const double> values, std::vector<int64_t> dims) {
  const TensorShape shape{type, std::move(dims)};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return api::Tensor::Constant(HostTensor(shape, bytes));
}

api::Tensor Countdown(std::vector<int64_t> dims) {
  std::vector<double> values = CountFrom(1, TensorShape{DataType::kInt32, dims});
  std::reverse(values.begin(), values.end());
  return ConstantOf(DataType::kInt32, values, std::move(dims));
}

api::Tensor CountUp(std::vector<int64_t> dims) {
  const std::vector<double> values = CountFrom(1, TensorShape{DataType::kInt32, dims});
  return ConstantOf(DataType::kInt32, values, std::move(dims));
}

api::Tensor Positions(DataType type, int64_t n) {
  return ConstantOf(type, CountFrom(0, TensorShape{type, {n}}), {n});
}

HostTensor HostInts(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)}, values);
}

}  // namespace tartan::onnx
