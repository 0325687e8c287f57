// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/values/external_data.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::external_data_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "model");
    const float values[] = {1, 2, 3, 4};
    for (const char* name : {"model/weights.bin", "secret.bin"}) {
      std::ofstream(folder_ / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(values), sizeof(values));
    }
  }

  // Loads a model whose initializer w, float[2], has the given external data entries.
  absl::Status Load(const std::string& location, const std::string& offset = "",
                    const std::string& length = "") {
    std::string entries = absl::StrCat("external_data { key: 'location' value: '", location, "' }");
    if (!offset.empty()) {
      absl::StrAppend(&entries, " external_data { key: 'offset' value: '", offset, "' }");
    }
    if (!length.empty()) {
      absl::StrAppend(&entries, " external_data { key: 'length' value: '", length, "' }");
    }
    const std::string bytes = ModelBytes(absl::StrCat(
        "graph { initializer { name: 'w' data_type: 1 dims: 2 data_location: EXTERNAL ", entries,
        " } ", ValueText("output", "w", 1, "2"), "}"));
    const std::string path = (folder_ / "model" / "model.onnx").string();
    std::ofstream(path, std::ios::binary) << bytes;
    const auto model = OnnxModel::Load(path);
    if (!model.ok()) return model.status();
    const auto bound = (*model)->Bind({});
    if (!bound.ok()) return bound.status();
    value_ = *bound->outputs.at(0).tensor().constant();
    return absl::OkStatus();
  }

  void ExpectError(const absl::Status& status, const std::string& why) {
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("model.onnx"), HasSubstr("tensor 'w'"), HasSubstr(why)));
  }

  std::filesystem::path folder_;
  HostTensor value_;
};

TEST_F(ExternalDataTest, ReadsFromAnOffset) {
  const absl::Status status = Load("weights.bin", "8", "8");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(value_.ToDoubles(), testing::ElementsAre(3, 4));
}

TEST_F(ExternalDataTest, ReadsWhereTheOffsetIsNotAligned) {
  EXPECT_TRUE(Load("weights.bin", "3").ok());
}

TEST_F(ExternalDataTest, StaysInsideTheFolder) {
  ExpectError(Load("../secret.bin"), "inside the model's folder");
  ExpectError(Load("sub/../../secret.bin"), "inside the model's folder");
  ExpectError(Load((folder_ / "secret.bin").string()), "inside the model's folder");
}

TEST_F(ExternalDataTest, FollowsNoLinkOutOfTheFolder) {
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  ExpectError(Load("link.bin"), "outside the model's folder");
  std::filesystem::create_directory_symlink(folder_, folder_ / "model" / "up");
  ExpectError(Load("up/secret.bin"), "outside the model's folder");
}

TEST_F(ExternalDataTest, NamesAMissingFile) { ExpectError(Load("absent.bin"), "absent.bin"); }

TEST_F(ExternalDataTest, RefusesAFileThatIsTooShort) {
  ExpectError(Load("weights.bin", "12"), "has 16 bytes, but 8 at offset 12");
  ExpectError(Load("weights.bin", "18446744073709551615"), "has 16 bytes");
}

TEST_F(ExternalDataTest, RefusesALengthThatIsNotTheTensors) {
  ExpectError(Load("weights.bin", "0", "4"), "length 4, but the tensor has 8 bytes");
  ExpectError(Load("weights.bin", "-1"), "expected a number");
}

TEST_F(ExternalDataTest, RowsOfALargeTensorAreTakenWithoutTheRest) {
  // a sparse file of 2 GiB, which is never read completely
  constexpr int64_t kRows = int64_t{1} << 20;
  const std::string weights = (folder_ / "model" / "large.bin").string();
  std::ofstream(weights, std::ios::binary) << "";
  std::filesystem::resize_file(weights, kRows * 512 * 4);
  const float ones[] = {1, 2, 3};
  std::fstream file(weights, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp((kRows - 1) * 512 * 4);
  file.write(reinterpret_cast<const char*>(ones), sizeof(ones));
  file.close();
  const std::string path = (folder_ / "model" / "model.onnx").string();
  for (const int axis : {0, 1}) {
    std::ofstream(path, std::ios::binary) << ModelBytes(absl::StrCat(
        "graph { initializer { name: 'w' data_type: 1 dims: ", axis == 0 ? kRows : 1,
        " dims: ", axis == 0 ? 512 : kRows * 512,
        " data_location: EXTERNAL external_data { key: 'location' value: 'large.bin' } }",
        "initializer { name: 'i' data_type: 7 dims: 1 dims: 2 int64_data: [-1, ",
        axis == 0 ? kRows - 1 : (kRows - 1) * 512 + 1, "] }",
        "node { op_type: 'Gather' input: 'w' input: 'i' output: 'y'",
        " attribute { name: 'axis' type: INT i: ", axis, " } } output { name: 'y' } }"));
    const auto model = OnnxModel::Load(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto bound = (*model)->Bind({});
    ASSERT_TRUE(bound.ok()) << bound.status();
    const HostTensor* value = bound->outputs.at(0).tensor().constant();
    ASSERT_NE(value, nullptr);
    const std::vector<int64_t> rows = {1, 2, 512};
    const std::vector<int64_t> elements = {1, 1, 2};
    EXPECT_EQ(value->shape().dims, axis == 0 ? rows : elements);
    EXPECT_EQ(value->GetDouble(axis == 0 ? 512 + 2 : 0), axis == 0 ? 3 : 0);
    EXPECT_EQ(value->GetDouble(1), 2);
  }
}

TEST_F(ExternalDataTest, IsNotReadForAModelInMemory) {
  ExternalData external("");
  TensorProto tensor;
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("weights.bin");
  EXPECT_THAT(external.Read(tensor, 8).status().message(), HasSubstr("in memory"));
}

}  // namespace
}  // namespace tartan::onnx::external_data_test
