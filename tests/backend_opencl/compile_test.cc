// SPDX-License-Identifier: Apache-2.0
// Compilation through the OpenCL driver: the disk cache, and messages of failed builds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/cache_file.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/cache/pocl_folder.h"
#include "backend_opencl/device/opencl_driver.h"
#include "proto/hal.pb.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

hal::ExecutableSource Source(const std::string& constant) {
  hal::ExecutableSource source;
  source.format = "opencl-c";
  source.prologue = "float Shift(float x) { return x + " + constant + "; }\n";
  for (const std::string name : {"first", "second"}) {
    source.kernels.push_back(
        {name, "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid " + name +
                   "(__global float* x) { x[get_global_id(0)] = Shift(x[get_global_id(0)]); }\n"});
  }
  return source;
}

class CompileTest : public testing::Test {
 protected:
  hal::DevicePtr Open(bool use_disk_cache = true, bool quiet = false) {
    OpenClOptions options;
    options.cache_directory = directory_.path();
    options.use_disk_cache = use_disk_cache;
    options.quiet = quiet;
    const auto driver = MakeOpenClDriver(options);
    const auto devices = driver->ListDevices();
    EXPECT_TRUE(devices.ok()) << devices.status();
    hal::DevicePtr device = *driver->Open(devices->front());
    EXPECT_TRUE(device->Settings(hal::Knowledge::kCompiler).ok());  // stores an entry
    for (const fs::path& file : Entries()) at_opening_.insert(file);
    return device;
  }

  std::vector<fs::path> Entries() {
    const std::string directory = directory_.path() + "/kernels";
    std::vector<fs::path> entries;
    if (!fs::exists(directory)) return entries;
    for (const auto& file : fs::directory_iterator(directory)) {
      if (at_opening_.count(file.path()) == 0) entries.push_back(file.path());
    }
    return entries;
  }

  // Compiles and returns the number of cache hits. The device is opened once, because PoCL takes
  // half a second for the first program of a context.
  int64_t HitsOf(const hal::ExecutableSource& source, bool use_disk_cache = true) {
    if (device_ == nullptr) device_ = Open(use_disk_cache);
    const auto executable = device_->Compile(source);
    EXPECT_TRUE(executable.ok()) << executable.status();
    const hal::CompileStatistics& statistics = (*executable)->statistics();
    EXPECT_EQ(statistics.cache_hits + statistics.cache_misses, 1);
    EXPECT_GT(statistics.compile_ms, 0);
    return statistics.cache_hits;
  }

  float Run(const hal::ExecutableSource& source) {
    if (device_ == nullptr) device_ = Open();
    return Run(*device_->Compile(source));
  }

  float Run(const hal::ExecutablePtr& executable, int entry_point = 1) {
    hal::Launch launch;
    launch.entry_point = entry_point;
    launch.arguments = {*device_->Allocate(4)};
    const auto queue = *device_->CreateQueue(false);
    float value = 1;
    const auto bytes = reinterpret_cast<uint8_t*>(&value);
    EXPECT_TRUE(queue->Write(launch.arguments[0], 0, {bytes, 4}).ok());
    EXPECT_TRUE(queue->Run(executable, launch).ok());
    EXPECT_TRUE(queue->Read(launch.arguments[0], 0, {bytes, 4}).ok());
    return value;
  }

  fs::path OnlyEntry() {
    const std::vector<fs::path> entries = Entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? fs::path() : entries.front();
  }

  // Returns the names of the files stored for PoCL's only program.
  std::vector<std::string> KeptFiles() {
    std::ifstream file(OnlyEntry(), std::ios::binary);
    const auto entry = DecodeCacheEntry(std::string(std::istreambuf_iterator<char>(file), {}));
    proto::ProgramFiles kept;
    if (!entry.has_value() || !kept.ParseFromString(entry->payload)) return {"(no entry)"};
    std::vector<std::string> names;
    for (const auto& part : kept.files()) names.push_back(fs::path(part.path()).filename());
    return names;
  }

  TemporaryDirectory directory_;
  std::set<fs::path> at_opening_;  // entries stored when the device was opened
  hal::DevicePtr device_;
};

TEST_F(CompileTest, TakesTheSecondTimeFromTheDiskCache) {
  EXPECT_EQ(HitsOf(Source("1.0f")), 0);
  EXPECT_EQ(HitsOf(Source("1.0f")), 1);
  EXPECT_EQ(HitsOf(Source("2.0f")), 0);
  EXPECT_EQ(Entries().size(), 2u);
}

hal::ExecutableSource SourceWithBuiltins(const std::string& portable) {
  hal::ExecutableSource source = Source("0.0f");
  source.prologue =
      "#ifdef TARTAN_PORTABLE\nfloat Shift(float x) { return x + " + portable +
      "; }\n#else\nfloat Shift(float x) { return __builtin_that_is_none(x); }\n#endif\n";
  return source;
}

TEST_F(CompileTest, DoesWithoutBuiltinsThatTheDriverDoesNotKnow) {
  device_ = Open();
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run(SourceWithBuiltins("10.0f")), 11);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot build compiler builtins"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run(SourceWithBuiltins("20.0f")), 21);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("tartan:")));
  // The entry belongs to the portable program; another device object builds it separately.
  EXPECT_EQ(HitsOf(SourceWithBuiltins("10.0f")), 1);
  device_ = Open();
  EXPECT_EQ(HitsOf(SourceWithBuiltins("10.0f")), 1);
  EXPECT_EQ(Run(SourceWithBuiltins("10.0f")), 11);
  // A source that builds keeps its builtins.
  EXPECT_EQ(Run(Source("1.0f")), 2);
}

TEST_F(CompileTest, DoesWithoutBuiltinsInSilenceWhereToldTo) {
  device_ = Open(/*use_disk_cache=*/true, /*quiet=*/true);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run(SourceWithBuiltins("10.0f")), 11);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("tartan:")));
}

TEST_F(CompileTest, TellsTheFirstErrorWhereASourceFailsWithoutBuiltinsToo) {
  device_ = Open();
  const auto executable = device_->Compile(SourceWithBuiltins("nothing"));
  ASSERT_FALSE(executable.ok());
  EXPECT_THAT(executable.status().message(), HasSubstr("__builtin_that_is_none"));
}

// Kernels that quantize round quotients to integers, so an error of one ulp changes the integer.
TEST_F(CompileTest, RoundsQuotientsAndRootsAsTheHostDoes) {
  constexpr int64_t kCount = 4096;
  hal::ExecutableSource source;
  source.format = "opencl-c";
  source.kernels = {{"divide",
                     "__kernel void divide(__global float* a, __global float* b) {\n"
                     "  const size_t i = get_global_id(0);\n"
                     "  const float quotient = a[i] / b[i];\n"
                     "  b[i] = sqrt(a[i]);\n"
                     "  a[i] = quotient;\n"
                     "}\n"}};
  const uint32_t seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(0.01f, 300.0f);
  std::vector<float> a(kCount), b(kCount);
  for (float& value : a) value = values(random);
  for (float& value : b) value = values(random);
  std::vector<float> quotients(kCount), roots(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    quotients[i] = a[i] / b[i];
    roots[i] = std::sqrt(a[i]);
  }
  device_ = Open();
  const auto executable = device_->Compile(source);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto queue = *device_->CreateQueue(false);
  hal::Launch launch;
  launch.global_size = {kCount, 1, 1};
  const auto bytes_of = [](std::vector<float>& values) {
    return absl::MakeSpan(reinterpret_cast<uint8_t*>(values.data()), values.size() * 4);
  };
  for (std::vector<float>* values : {&a, &b}) {
    launch.arguments.push_back(*device_->Allocate(kCount * 4));
    ASSERT_TRUE(queue->Write(launch.arguments.back(), 0, bytes_of(*values)).ok());
  }
  ASSERT_TRUE(queue->Run(*executable, launch).ok());
  ASSERT_TRUE(queue->Read(launch.arguments[0], 0, bytes_of(a)).ok());
  ASSERT_TRUE(queue->Read(launch.arguments[1], 0, bytes_of(b)).ok());
  EXPECT_EQ(a, quotients);
  EXPECT_EQ(b, roots);
}

TEST_F(CompileTest, TellsOptionsAndKernelsApart) {
  hal::ExecutableSource source = Source("3.0f");
  EXPECT_EQ(HitsOf(source), 0);
  source.options = "-cl-fast-relaxed-math";
  EXPECT_EQ(HitsOf(source), 0);
  source.kernels.pop_back();
  EXPECT_EQ(HitsOf(source), 0);
}

TEST_F(CompileTest, LeavesTheDiskAloneWhereToldTo) {
  EXPECT_EQ(HitsOf(Source("4.0f"), /*use_disk_cache=*/false), 0);
  EXPECT_EQ(HitsOf(Source("4.0f"), /*use_disk_cache=*/false), 0);
  EXPECT_FALSE(fs::exists(directory_.path() + "/kernels"));
}

TEST_F(CompileTest, ComputesTheSameFromTheCache) {
  EXPECT_EQ(Run(Source("5.0f")), 6.0f);
  EXPECT_EQ(HitsOf(Source("5.0f")), 1);
  EXPECT_EQ(Run(Source("5.0f")), 6.0f);
}

TEST_F(CompileTest, CompilesAgainWhatIsDamagedOnDisk) {
  EXPECT_EQ(HitsOf(Source("6.0f")), 0);
  const fs::path entry = OnlyEntry();
  fs::resize_file(entry, fs::file_size(entry) / 2);
  EXPECT_EQ(HitsOf(Source("6.0f")), 0);
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(100) << "damage";
  EXPECT_EQ(Run(Source("6.0f")), 7.0f);
  EXPECT_EQ(HitsOf(Source("6.0f")), 1);
}

TEST_F(CompileTest, CompilesAgainWhatTheDriverRejects) {
  EXPECT_EQ(HitsOf(Source("7.0f")), 0);
  std::ifstream file(OnlyEntry(), std::ios::binary);
  const auto entry = DecodeCacheEntry(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(entry.has_value());
  // A valid file whose contents the driver never produced.
  DiskCache(directory_.path(), int64_t{1} << 30, /*verbose=*/false)
      .Store(entry->key, "not a program");
  EXPECT_EQ(HitsOf(Source("7.0f")), 0);
  EXPECT_EQ(HitsOf(Source("7.0f")), 1);
}

TEST_F(CompileTest, KeepsAnEntryThatItHasNoPlaceToUnpack) {
  device_ = Open();
  if (device_->info().platform != "Portable Computing Language") return;
  EXPECT_EQ(Run(Source("16.0f")), 17.0f);
  std::ifstream file(OnlyEntry(), std::ios::binary);
  const auto entry = DecodeCacheEntry(std::string(std::istreambuf_iterator<char>(file), {}));
  proto::ProgramFiles kept;
  ASSERT_TRUE(entry.has_value() && kept.ParseFromString(entry->payload));
  // Creates a folder in place of a file.
  fs::create_directories(fs::path(PoclFolder::OfProcess().root()) / kept.folder() /
                         kept.files(0).path() / "folder");
  {
    const auto executable = device_->Compile(Source("16.0f"));
    ASSERT_TRUE(executable.ok()) << executable.status();
    EXPECT_EQ((*executable)->statistics().cache_hits, 0);
    EXPECT_EQ(Entries().size(), 1u) << "nothing is wrong with it";
  }
  EXPECT_EQ(HitsOf(Source("16.0f")), 1);
}

// Each kernel is stored soon after its launch, so a killed process loses few of them.
TEST_F(CompileTest, KeepsTheKernelsThatPoclCompilesAtTheirLaunch) {
  device_ = Open();
  if (device_->info().platform != "Portable Computing Language") return;
  {
    const auto executable = *device_->Compile(Source("11.0f"));
    EXPECT_THAT(Entries(), testing::IsEmpty());
    EXPECT_EQ(Run(executable, 0), 12.0f);
    EXPECT_EQ(Run(executable, 1), 12.0f);
    EXPECT_THAT(KeptFiles(), UnorderedElementsAre("program.bc", "first.so", "second.so"));
  }
  EXPECT_EQ(HitsOf(Source("11.0f")), 1);
  EXPECT_EQ(Run(Source("11.0f")), 12.0f);
}

TEST_F(CompileTest, KeepsFewKernelsInTheEnd) {
  device_ = Open();
  if (device_->info().platform != "Portable Computing Language") return;
  EXPECT_EQ(Run(*device_->Compile(Source("12.0f")), 0), 13.0f);
  EXPECT_THAT(KeptFiles(), UnorderedElementsAre("program.bc", "first.so"));
  EXPECT_EQ(Run(*device_->Compile(Source("12.0f")), 1), 13.0f);
  EXPECT_THAT(KeptFiles(), UnorderedElementsAre("program.bc", "first.so", "second.so"));
}

TEST_F(CompileTest, ComputesTheSameWithTwoExecutablesOfOneSource) {
  device_ = Open();
  auto first = *device_->Compile(Source("13.0f"));
  const auto second = *device_->Compile(Source("13.0f"));
  EXPECT_EQ(Run(first, 0), 14.0f);
  first.reset();
  EXPECT_EQ(Run(second, 0), 14.0f);
  EXPECT_EQ(Run(second, 1), 14.0f);
}

TEST_F(CompileTest, GoesOnWhereItsFilesAreDeletedMeanwhile) {
  device_ = Open();
  EXPECT_EQ(Run(Source("14.0f")), 15.0f);
  const std::string root = PoclFolder::OfProcess().root();
  if (root.empty()) return;
  fs::remove_all(fs::path(root).parent_path());
  EXPECT_EQ(Run(Source("15.0f")), 16.0f);
  EXPECT_EQ(Run(Source("14.0f")), 15.0f);
}

// The compiler's features, on which kernels depend, are found by a build in that folder.
TEST_F(CompileTest, OpensTheSameDeviceWhereItsFilesAreDeletedMeanwhile) {
  device_ = Open();
  EXPECT_EQ(HitsOf(Source("16.0f")), 0);
  const std::string root = PoclFolder::OfProcess().root();
  if (root.empty()) return;
  fs::remove_all(fs::path(root).parent_path());
  const TemporaryDirectory other;
  OpenClOptions options;
  options.cache_directory = other.path();
  const auto driver = MakeOpenClDriver(options);
  const hal::DevicePtr again = *driver->Open(driver->ListDevices()->front());
  EXPECT_EQ(*again->Settings(hal::Knowledge::kCompiler),
            *device_->Settings(hal::Knowledge::kCompiler));
}

TEST_F(CompileTest, LeavesTheEnvironmentAsItWas) {
  const char* before = std::getenv("POCL_CACHE_DIR");
  const std::string text = before == nullptr ? "(not set)" : before;
  Open();
  const char* after = std::getenv("POCL_CACHE_DIR");
  EXPECT_EQ(after == nullptr ? "(not set)" : std::string(after), text);
}

TEST_F(CompileTest, ReportsCacheHitsInAnotherProcess) {
  EXPECT_EQ(HitsOf(Source("8.0f")), 0);
  // Uses a new process, because OpenCL drivers do not survive a fork.
  const std::string command = absl::StrCat(
      "TARTAN_TEST_CACHE=", directory_.path(), " ", fs::read_symlink("/proc/self/exe").string(),
      " --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_SecondProcess >/dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(OtherProcess, DISABLED_SecondProcess) {
  OpenClOptions options;
  options.cache_directory = std::getenv("TARTAN_TEST_CACHE");
  const auto driver = MakeOpenClDriver(options);
  const hal::DevicePtr device = *driver->Open(driver->ListDevices()->front());
  const auto executable = device->Compile(Source("8.0f"));
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*executable)->statistics().cache_hits, 1);
}

TEST_F(CompileTest, ShowsTheSourceLinesOfAFailedBuild) {
  hal::ExecutableSource source = Source("9.0f");
  source.kernels.push_back({"third",
                            "__kernel void third(__global float* x) {\n"
                            "  x[0] = no_such_name;\n"
                            "}\n"});
  const auto executable = Open()->Compile(source);
  ASSERT_EQ(executable.status().code(), absl::StatusCode::kInternal);
  const std::string message(executable.status().message());
  EXPECT_THAT(message, HasSubstr("clBuildProgram"));
  EXPECT_THAT(message, HasSubstr("CL_BUILD_PROGRAM_FAILURE"));
  EXPECT_THAT(message, testing::ContainsRegex("\n *[0-9]+(:| \\|)   x\\[0\\] = no_such_name;"));
}

TEST_F(CompileTest, NamesAnEntryPointThatTheSourceDoesNotDefine) {
  hal::ExecutableSource source = Source("10.0f");
  source.kernels[0].name = "not_there";
  const auto executable = Open()->Compile(source);
  ASSERT_EQ(executable.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr("not_there"));
}

TEST(OpenClDriver, NamesTheRemedyWhereThereIsNoPlatform) {
  // The ICD loader reads its folder once per process, so the test uses a separate process.
  const std::string command = absl::StrCat(
      "OCL_ICD_VENDORS=/nonexistent ", fs::read_symlink("/proc/self/exe").string(),
      " --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_WithoutPlatform >/dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(OtherProcess, DISABLED_WithoutPlatform) {
  const auto devices = MakeOpenClDriver()->ListDevices();
  ASSERT_EQ(devices.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(devices.status().message()),
              HasSubstr("apt-get install pocl-opencl-icd"));
}

}  // namespace
}  // namespace tartan::opencl
