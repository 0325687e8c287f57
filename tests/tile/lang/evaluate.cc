// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/lang/evaluate.h"

#include <utility>

#include "gtest/gtest.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::lang {

HostTensor FloatTensor(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

HostTensor IntTensor(DataType type, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  const TensorShape shape{type, std::move(dims)};
  std::vector<uint8_t> bytes(shape.byte_size());
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor(shape, bytes);
}

std::vector<HostTensor> Evaluate(const std::string& text, const std::vector<HostTensor>& inputs) {
  std::vector<TensorShape> shapes;
  for (const HostTensor& input : inputs) shapes.push_back(input.shape());
  const absl::StatusOr<ir::Program> program = ParseAndBind(text, shapes);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return {};
  absl::StatusOr<std::vector<HostTensor>> outputs = ir::EvaluateNaively(*program, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : std::vector<HostTensor>();
}

std::vector<double> Values(const HostTensor& tensor) { return tensor.ToDoubles(); }

}  // namespace tartan::lang
