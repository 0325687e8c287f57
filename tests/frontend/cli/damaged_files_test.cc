// SPDX-License-Identifier: Apache-2.0
// Tests that damaged files give an error or the contents that they declare. scripts/fuzz.sh does
// the same for longer and with sanitizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/frontend/cli/file_damage.h"
#include "tests/frontend/onnx/message_damage.h"

namespace tartan::cli {
namespace {

class DamagedFiles : public ::testing::TestWithParam<FileKind> {
 protected:
  const std::string folder_ = ::testing::TempDir() + "damaged_" + std::string(GetParam().name);
};

TEST_P(DamagedFiles, AreReadWhereNothingIsWrong) {
  std::filesystem::create_directories(folder_);
  int read = 0;
  for (const std::string& bytes : GetParam().corpus()) {
    // The seed also decides what the reader expects of the file.
    for (uint32_t seed = 0; seed < 60; ++seed) {
      const absl::Status status = GetParam().read(bytes, folder_, seed);
      EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
      read += status.ok() ? 1 : 0;
    }
  }
  EXPECT_GT(read, 10);
}

TEST_P(DamagedFiles, EndInOneError) {
  std::filesystem::create_directories(folder_);
  const std::vector<std::string> corpus = GetParam().corpus();
  onnx::Dice dice(5);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = dice.Among(corpus);
    for (size_t times = dice.Below(4) + 1; times > 0; --times) GetParam().damage(&bytes, &dice);
    const absl::Status status =
        GetParam().read(bytes, folder_, static_cast<uint32_t>(dice.Below(1 << 20)));
    EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
    if (status.ok()) continue;
    ++refused;
    EXPECT_FALSE(status.message().empty());
  }
  EXPECT_GT(refused, 100);
}

std::string NameOf(const ::testing::TestParamInfo<FileKind>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedFiles, ::testing::ValuesIn(FileKinds()), NameOf);

}  // namespace
}  // namespace tartan::cli
