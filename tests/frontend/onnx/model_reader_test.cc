// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/model_reader.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::model_reader_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string WriteTemporary(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

std::string DigitsModel() { return ReadFile("examples/digits/digits.onnx"); }

TEST(ModelReader, ReadsAModelThatIsWhole) {
  const auto model = ReadModelFile("examples/digits/digits.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->folder, "examples/digits");
  EXPECT_GT(model->proto->graph().node_size(), 0);
}

TEST(ModelReader, NamesAFileThatDoesNotExist) {
  const auto model = ReadModelFile("no/such/model.onnx");
  EXPECT_EQ(model.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(model.status().message(), HasSubstr("no/such/model.onnx"));
}

TEST(ModelReader, RefusesAFolder) {
  const auto model = ReadModelFile("examples/digits");
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ModelReader, RefusesAnEmptyFile) {
  const auto model = ReadModelFile(WriteTemporary("empty.onnx", ""));
  EXPECT_THAT(model.status().message(), AllOf(HasSubstr("empty.onnx"), HasSubstr("is empty")));
}

TEST(ModelReader, RefusesText) {
  for (const char* text : {"{\"a\": 1}\n", "# A heading\n\nand text\n", "hello"}) {
    const auto model = ReadModelFile(WriteTemporary("notes.md", text));
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(model.status().message(),
                AllOf(HasSubstr("notes.md"), HasSubstr("not an ONNX model")));
  }
}

// The files have the first bytes that programs write, and some more.
TEST(ModelReader, SaysWhatAFileIsThatIsNoModel) {
  const std::string more(600, '\x17');
  const std::string header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  std::string safetensors(8, '\0');
  safetensors[0] = static_cast<char>(header.size());
  safetensors += header + std::string(4, '\0');
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  const std::vector<std::pair<std::string, std::string>> files = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"},
      {std::string("\x10\0\0\0ORTM", 8) + more, "onnxruntime's own format"},
      {std::string("\x1c\0\0\0TFL3", 8) + more, "TensorFlow Lite"},
      {"PK\3\4" + more, "zip archive"},
      {safetensors, "safetensors"},
      {"\x1f\x8b\x08" + more, "gzip"},
      {"BZh9" + more, "bzip2"},
      {std::string("\3757zXZ\0", 6) + more, "xz"},
      {"\x28\xb5\x2f\xfd" + more, "zstd"},
      {tar, "tar archive"},
      {"GGUF" + more, "llama.cpp"},
      {"\x89HDF\r\n\x1a\n" + more, "HDF5"},
      {"\x93NUMPY" + more, "NumPy"},
      {"\x80\2" + more, "pickle"},
      {"\n  <!DOCTYPE HTML>\n<html><body>Sign in</body></html>", "HTML"},
      {"<html lang='en'>", "HTML"},
      {"<?xml version='1.0'?><net name='a'/>", "XML"},
      {"{\"error\": \"not found\"}", "JSON"},
      {"ir_version: 8\ngraph { }\n", "as text"},
      {"", "it is empty"},
      {std::string(5000, '\0'), "zeros only"},
  };
  for (const auto& [bytes, kind] : files) {
    const auto model = ReadModelBytes(AsBytes(bytes), "file");
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << kind;
    EXPECT_THAT(model.status().message(),
                AllOf(HasSubstr("file: not an ONNX model: "), HasSubstr(kind)));
    EXPECT_THAT(model.status().message(), testing::Not(HasSubstr("protobuf")));
  }
  EXPECT_THAT(ReadModelFile(testing::TempDir()).status().message(), HasSubstr("is a folder"));
}

TEST(ModelReader, RefusesAMessageWithoutAGraph) {
  ModelProto proto;
  proto.set_ir_version(8);
  const auto model = ReadModelBytes(AsBytes(proto.SerializeAsString()), "m");
  EXPECT_THAT(model.status().message(), HasSubstr("no graph"));
}

TEST(ModelReader, RefusesVersionsNewerThanItKnows) {
  const auto ir = ReadModelBytes(AsBytes(ModelBytes("ir_version: 99 graph {}")), "m");
  EXPECT_EQ(ir.status().code(), absl::StatusCode::kUnimplemented);
  const auto opset = ReadModelBytes(AsBytes(ModelBytes("graph {}", 99)), "m");
  EXPECT_THAT(opset.status().message(), HasSubstr("operator set 99"));
}

TEST(ModelReader, AnswersEveryTruncation) {
  const std::string whole = DigitsModel();
  ASSERT_FALSE(whole.empty());
  const size_t step = std::max<size_t>(1, whole.size() / 500);
  for (size_t size = 0; size + 1 < whole.size(); size += size < 2000 ? 1 : step) {
    const std::string cut = whole.substr(0, size);
    const auto model = OnnxModel::LoadBytes(AsBytes(cut), "cut");
    EXPECT_TRUE(model.ok() || absl::StrContains(model.status().message(), "cut: "))
        << model.status();
  }
}

TEST(ModelReader, AnswersRandomDamage) {
  const std::string whole = DigitsModel();
  ASSERT_FALSE(whole.empty());
  const unsigned seed = 20261121;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  // Most of the file is raw weights; structure is near the beginning and the end.
  const size_t edge = std::min<size_t>(whole.size(), 4096);
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int flip = 0; flip < flips; ++flip) {
      const size_t offset = random() % edge;
      const size_t position = random() % 2 == 0 ? offset : whole.size() - 1 - offset;
      damaged[position] = static_cast<char>(random());
    }
    const auto model = OnnxModel::LoadBytes(AsBytes(damaged), "damaged");
    if (!model.ok()) {
      EXPECT_THAT(model.status().message(), HasSubstr("damaged"));
      continue;
    }
    std::vector<api::InputBinding> bindings((*model)->inputs().size());
    for (size_t i = 0; i < bindings.size(); ++i) {
      const api::TensorSpec& spec = (*model)->inputs()[i];
      bindings[i].shape.type = spec.type;
      for (int64_t dim : spec.dims) bindings[i].shape.dims.push_back(dim < 0 ? 1 : dim);
    }
    (void)(*model)->Bind(bindings);
  }
}

}  // namespace
}  // namespace tartan::onnx::model_reader_test
