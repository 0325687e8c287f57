// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/compiler_pages.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/device/opencl_driver.h"

namespace tartan::opencl::compiler_pages_test {
namespace {

#ifdef __linux__
std::string PathOfLoader() {
  Dl_info loader;
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&clGetPlatformIDs), &loader), 0);
  return loader.dli_fname;
}

TEST(NeededLibraries, AreThoseOfTheFile) {
  EXPECT_THAT(NeededLibraries(PathOfLoader()), testing::Contains(testing::HasSubstr("libc.so")));
}

TEST(NeededLibraries, OfWhatIsNoLibraryAreNone) {
  EXPECT_THAT(NeededLibraries("/nowhere"), testing::IsEmpty());
  EXPECT_THAT(NeededLibraries("/"), testing::IsEmpty());
  EXPECT_THAT(NeededLibraries("/proc/self/status"), testing::IsEmpty());
}

// Truncates the file at various places, or overwrites numbers in its headers.
TEST(NeededLibraries, OfDamagedFilesEndWithoutAFault) {
  std::ifstream stream(PathOfLoader(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  const std::string path = testing::TempDir() + "damaged.so";
  for (size_t i = 0; i < 60; ++i) {
    std::string damaged = whole.substr(0, i < 20 ? i * 40 : whole.size());
    if (i >= 20) damaged.replace(24 + i, 7, 7, static_cast<char>(0x80 + i));
    std::ofstream(path, std::ios::binary) << damaged;
    NeededLibraries(path);
  }
  std::remove(path.c_str());
}

int64_t ResidentFileKib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "RssFile:" && status >> kib) return kib;
  }
  return -1;
}

TEST(ReturnCompilerPages, LeavesACompilerThatWorks) {
  OpenClOptions options;
  options.use_disk_cache = false;
  const auto driver = MakeOpenClDriver(options);
  const auto devices = driver->ListDevices();
  ASSERT_TRUE(devices.ok()) << devices.status();
  const hal::DevicePtr device = *driver->Open(devices->front());
  for (int i = 0; i < 3; ++i) {
    hal::ExecutableSource source;
    source.format = "opencl-c";
    const std::string name = "k" + std::to_string(i);
    source.kernels = {{name, "__kernel void " + name + "(__global int* x) { x[0] = 7; }", false}};
    const auto compiled = device->Compile(source);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
  }
  if (dlopen("libpocl.so.2", RTLD_NOLOAD | RTLD_LAZY) == nullptr) GTEST_SKIP() << "without PoCL";
  EXPECT_LT(ResidentFileKib(), 48 * 1024);  // KiB; about 80 MB including code that has run
}
#endif

}  // namespace
}  // namespace tartan::opencl::compiler_pages_test
