// SPDX-License-Identifier: Apache-2.0
// Tests constants so large that the device reads them in the caller's memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/tile/evaluator/device.h"
#include "tile/base/mapped_file.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator {
namespace {

constexpr int64_t kRows = 20000;
constexpr int64_t kColumns = 1000;
constexpr int64_t kBytes = kRows * kColumns * 4;

// Gathers rows of a matrix by indices that change in every run.
TestProgram Rows() {
  return {"Rows",
          "function (W, I) -> (Y) { Y = gather(W, I); }",
          {{DataType::kFloat32, {kRows, kColumns}}, {DataType::kInt32, {3}}}};
}

// A matrix of zeros with one row of ones, `offset` bytes after a page boundary.
HostTensor Matrix(int64_t row_of_ones, int64_t offset) {
  std::shared_ptr<uint8_t> memory(
      static_cast<uint8_t*>(std::aligned_alloc(4096, kBytes + 4096 - kBytes % 4096 + 4096)),
      std::free);
  std::fill_n(memory.get(), kBytes + offset, uint8_t{0});
  float* elements = reinterpret_cast<float*>(memory.get() + offset);
  std::fill_n(elements + row_of_ones * kColumns, kColumns, 1.0f);
  return HostTensor({DataType::kFloat32, {kRows, kColumns}},
                    {memory.get() + offset, static_cast<size_t>(kBytes)}, memory);
}

void ExpectRows(int64_t offset, bool is_copied) {
  proto::Program program = ToProto(Rows());
  program.mutable_inputs(0)->set_is_constant(true);
  const auto compiled = TestProgramCache().Get(program);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_GE((*compiled)->resident_bytes(), kBytes);
  const int64_t before = TestDevice()->statistics().allocated_bytes;
  auto loaded = LoadedProgram::Load(*compiled, {Matrix(17, offset)});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(TestDevice()->statistics().allocated_bytes - before >= kBytes, is_copied);
  const auto rows = (*loaded)->Run(
      {HostTensor::FromVector<int32_t>({DataType::kInt32, {3}}, {kRows - 1, 17, 0})});
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (int64_t i = 0; i < 3 * kColumns; ++i) {
    ASSERT_EQ(rows->front().GetDouble(i), i / kColumns == 1 ? 1 : 0) << i;
  }
}

bool ReadsHostMemory() { return TestDevice()->info().type == hal::DeviceType::kCpu; }

TEST(LargeConstants, AreNotCopiedOnACpu) { ExpectRows(0, !ReadsHostMemory()); }

TEST(LargeConstants, AreCopiedWhereTheirAddressDoesNotSuitTheDevice) { ExpectRows(4, true); }

// Returns the process's resident bytes that are pages of files.
int64_t FilePages() {
  int64_t size = 0;
  int64_t resident = 0;
  int64_t of_files = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> of_files;
  return of_files * sysconf(_SC_PAGESIZE);
}

// Runs a program with a matrix in a file; the matrix is zero except for row 17.
class MatrixInAFile : public testing::Test {
 protected:
  void SetUp() override {
    if (!ReadsHostMemory()) GTEST_SKIP();
  }

  void Load(const TestProgram& test) {
    const HostTensor matrix = Matrix(17, 0);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(matrix.bytes().data()), kBytes);
    const auto file = MappedFile::Open(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    proto::Program program = ToProto(test);
    program.mutable_inputs(0)->set_is_constant(true);
    const auto compiled = TestProgramCache().Get(program);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    file_pages_ = FilePages();
    allocated_ = TestDevice()->statistics().allocated_bytes;
    const HostTensor constant(matrix.shape(), (*file)->bytes(), *file);
    auto loaded = LoadedProgram::Load(*compiled, {constant});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    program_ = *std::move(loaded);
  }

  ~MatrixInAFile() override { std::remove(path_.c_str()); }

  int64_t AddedFilePages() const { return FilePages() - file_pages_; }
  int64_t Allocated() const { return TestDevice()->statistics().allocated_bytes - allocated_; }

  std::shared_ptr<LoadedProgram> program_;

 private:
  const std::string path_ = testing::TempDir() + "/large_constants_test.bin";
  int64_t file_pages_ = 0, allocated_ = 0;
};

// The computation at load reads the whole matrix; a run reads three rows.
TEST_F(MatrixInAFile, LeavesMemoryOnceWhatIsComputedOfItIsThere) {
  TestProgram sums = Rows();
  sums.code = "function (W[R, C], I) -> (Y, S) { Y = gather(W, I); S[r : R] = +(W[r, c]); }";
  Load(sums);
  ASSERT_NE(program_, nullptr);
  const auto results =
      program_->Run({HostTensor::FromVector<int32_t>({DataType::kInt32, {3}}, {kRows - 1, 17, 0})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_LT(AddedFilePages(), kBytes / 4);
  EXPECT_LT(Allocated(), kBytes / 4);
  for (int64_t i = 0; i < 3 * kColumns; ++i) {
    ASSERT_EQ(results->front().GetDouble(i), i / kColumns == 1 ? 1 : 0) << i;
  }
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ((*results)[1].GetDouble(i), i == 17 ? kColumns : 0) << i;
  }
}

// A matmul reads the whole matrix, which is faster from memory with large pages.
TEST_F(MatrixInAFile, IsCopiedWhereAProductStreamsIt) {
  TestProgram product = Rows();
  product.code = "function (W[R, C], X[C]) -> (Y) { Y[r : R] = +(W[r, c] * X[c]); }";
  product.inputs[1] = {DataType::kFloat32, {kColumns}};
  Load(product);
  ASSERT_NE(program_, nullptr);
  EXPECT_GE(Allocated(), kBytes);
  const auto results = program_->Run({HostTensor::FromVector<float>(
      {DataType::kFloat32, {kColumns}}, std::vector<float>(kColumns, 2))});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_LT(AddedFilePages(), kBytes / 4);
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(results->front().GetDouble(i), i == 17 ? 2 * kColumns : 0) << i;
  }
}

}  // namespace
}  // namespace tartan::evaluator
