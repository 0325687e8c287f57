// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/values/tensor_proto.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx::tensor_proto_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorProto Proto(int type, std::initializer_list<int64_t> dims) {
  TensorProto proto;
  proto.set_data_type(type);
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(TensorProto, ReturnsWhatWasWritten) {
  for (DataType type : {DataType::kBool, DataType::kInt8, DataType::kUInt16, DataType::kInt64,
                        DataType::kFloat16, DataType::kBFloat16, DataType::kFloat64}) {
    std::vector<uint8_t> bytes(static_cast<size_t>(3 * ByteWidth(type)));
    for (int64_t i = 0; i < 3; ++i) StoreElement(type, int64_t{i % 2}, i, bytes.data());
    const HostTensor tensor(TensorShape{type, {3, 1}}, bytes);
    TensorProto proto;
    ToTensorProto(tensor, &proto);
    const auto read = ToHostTensor(proto, TensorSource{});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->shape(), tensor.shape());
    EXPECT_THAT(read->ToDoubles(), ElementsAre(0, 1, 0));
  }
}

TEST(TensorProto, ReadsTypedFields) {
  TensorProto half = Proto(TensorProto::FLOAT16, {2});
  half.add_int32_data(0x3c00);  // bit patterns of 1 and -2
  half.add_int32_data(0xc000);
  EXPECT_THAT(ToHostTensor(half, {})->ToDoubles(), ElementsAre(1, -2));
  TensorProto bytes = Proto(TensorProto::INT8, {2});
  bytes.add_int32_data(-3);
  bytes.add_int32_data(127);
  EXPECT_THAT(ToHostTensor(bytes, {})->ToInts(), ElementsAre(-3, 127));
  TensorProto words = Proto(TensorProto::UINT32, {1});
  words.add_uint64_data(4294967295u);
  EXPECT_THAT(ToHostTensor(words, {})->ToInts(), ElementsAre(4294967295));
}

TEST(TensorProto, SharesRawDataWithItsOwner) {
  auto proto = std::make_shared<TensorProto>(Proto(TensorProto::FLOAT, {64}));
  proto->set_raw_data(std::string(256, '\0'));
  const auto tensor = ToHostTensor(*proto, {proto, nullptr});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(static_cast<const void*>(tensor->bytes().data()), proto->raw_data().data());
}

TEST(TensorProto, RefusesDataOfTheWrongLength) {
  TensorProto proto = Proto(TensorProto::FLOAT, {2, 2});
  proto.set_raw_data("12345678");
  EXPECT_THAT(ToHostTensor(proto, {}).status().message(), HasSubstr("raw_data holds 8"));
  proto.clear_raw_data();
  proto.add_float_data(1);
  EXPECT_THAT(ToHostTensor(proto, {}).status().message(), HasSubstr("float_data holds 1"));
}

TEST(TensorProto, AllocatesNothingForSizesWithoutData) {
  const auto huge = ToHostTensor(Proto(TensorProto::FLOAT, {1 << 30, 1 << 20}), {});
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(ToHostTensor(Proto(TensorProto::FLOAT, {INT64_MAX, INT64_MAX}), {}).ok());
  EXPECT_FALSE(ToHostTensor(Proto(TensorProto::FLOAT, {-1}), {}).ok());
}

TEST(TensorProto, NamesTypesWeDoNotHave) {
  const auto int4 = ToHostTensor(Proto(TensorProto::INT4, {1}), {});
  EXPECT_EQ(int4.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(int4.status().message(), HasSubstr("int4"));
  EXPECT_THAT(ToHostTensor(Proto(TensorProto::STRING, {1}), {}).status().message(),
              HasSubstr("string"));
  EXPECT_EQ(ToHostTensor(Proto(77, {1}), {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorProto, MakesSparseTensorsDense) {
  SparseTensorProto sparse;
  *sparse.mutable_values() = Proto(TensorProto::FLOAT, {2});
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(7);
  *sparse.mutable_indices() = Proto(TensorProto::INT64, {2, 2});
  for (int64_t i : {0, 1, 1, 0}) sparse.mutable_indices()->add_int64_data(i);
  sparse.add_dims(2);
  sparse.add_dims(2);
  EXPECT_THAT(ToHostTensor(sparse, {})->ToDoubles(), ElementsAre(0, 5, 7, 0));
  sparse.mutable_indices()->set_int64_data(0, 2);
  EXPECT_THAT(ToHostTensor(sparse, {}).status().message(), HasSubstr("outside"));
}

TEST(TensorProto, RefusesSparseTensorsThatAreGigabytesOfZeros) {
  SparseTensorProto sparse;
  *sparse.mutable_values() = Proto(TensorProto::FLOAT, {1});
  sparse.mutable_values()->add_float_data(5);
  *sparse.mutable_indices() = Proto(TensorProto::INT64, {1});
  sparse.mutable_indices()->add_int64_data(3);
  sparse.add_dims(1 << 15);
  ASSERT_TRUE(ToHostTensor(sparse, {}).ok());
  sparse.add_dims(1 << 13);
  EXPECT_EQ(ToHostTensor(sparse, {}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TensorFile, IsNoSequence) {
  SequenceProto sequence;
  sequence.set_elem_type(SequenceProto::TENSOR);
  *sequence.add_tensor_values() = Proto(TensorProto::FLOAT, {0});
  const std::string path = testing::TempDir() + "sequence.pb";
  std::ofstream(path, std::ios::binary) << sequence.SerializeAsString();
  const auto tensor = ReadTensorFile(path);
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(tensor.status().message(), HasSubstr("sequence.pb"));
}

}  // namespace
}  // namespace tartan::onnx::tensor_proto_test
