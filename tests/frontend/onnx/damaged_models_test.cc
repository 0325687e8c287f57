// SPDX-License-Identifier: Apache-2.0
// Tests that damaged models give an error or a correct result. scripts/fuzz.sh does the same for
// longer and with sanitizers.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_fuzzer.h"
#include "tests/frontend/onnx/run_damaged.h"

namespace tartan::onnx::damaged_models_test {
namespace {

TEST(DamagedModels, EndInOneError) {
  std::vector<std::string> corpus = ReadOfficialModels(1 << 13);
  if (corpus.empty()) GTEST_SKIP() << "libonnx-testdata is not there";
  ModelFuzzer fuzzer(std::move(corpus), 5);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const absl::Status status = LoadAndRun(fuzzer.Next());
    EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
    if (!status.ok()) {
      ++refused;
      EXPECT_FALSE(status.message().empty());
    }
  }
  // The corpus must give both refused and accepted models.
  EXPECT_GT(refused, 40);
  EXPECT_LT(refused, 360);
}

TEST(DamagedModels, AreTheSameForTheSameSeed) {
  const std::vector<std::string> corpus = {ReadOfficialModels(1 << 13)};
  if (corpus.empty()) GTEST_SKIP() << "libonnx-testdata is not there";
  ModelFuzzer one(corpus, 7);
  ModelFuzzer other(corpus, 7);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.Next(), other.Next());
}

}  // namespace
}  // namespace tartan::onnx::damaged_models_test
