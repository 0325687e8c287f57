// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/ir/run_tile.h"

#include "gtest/gtest.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::ir {

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

HostTensor Typed(DataType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  std::vector<uint8_t> bytes(values.size() * ByteWidth(type));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor({type, std::move(dims)}, bytes);
}

HostTensor Ints(DataType type, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  std::vector<uint8_t> bytes(values.size() * ByteWidth(type));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor({type, std::move(dims)}, bytes);
}

absl::StatusOr<Program> BindTile(const std::string& text, const std::vector<HostTensor>& inputs) {
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(text));
  std::vector<TensorShape> shapes;
  for (const HostTensor& input : inputs) shapes.push_back(input.shape());
  return lang::Bind(function, shapes);
}

absl::StatusOr<std::vector<HostTensor>> RunAll(const std::string& text,
                                               const std::vector<HostTensor>& inputs,
                                               const NaiveOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const Program program, BindTile(text, inputs));
  return EvaluateNaively(program, inputs, options);
}

HostTensor RunTile(const std::string& text, const std::vector<HostTensor>& inputs) {
  const auto outputs = RunAll(text, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << text;
  return outputs.ok() ? outputs->front() : HostTensor();
}

}  // namespace tartan::ir
