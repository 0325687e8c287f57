// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/api/driver_failure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "absl/status/status.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl::driver_failure_test {
namespace {

namespace fs = std::filesystem;

TEST(DriverFailure, IsLookedIntoOnlyWhereThereIsOne) {
  const TemporaryDirectory directory;
  const fs::file_time_type before = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(directory.path(), before);
  WatchFolder(directory.path());
  EXPECT_TRUE(ExplainByShortage(absl::OkStatus()).ok());
  EXPECT_EQ(fs::last_write_time(directory.path()), before);
  // A failure is explained by a trial write to the folder.
  const absl::Status failure = absl::InternalError("the driver failed");
  EXPECT_EQ(ExplainByShortage(failure), failure);
  EXPECT_NE(fs::last_write_time(directory.path()), before);
  UnwatchFolder();
}

}  // namespace
}  // namespace tartan::opencl::driver_failure_test
