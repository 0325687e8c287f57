// SPDX-License-Identifier: Apache-2.0
// Tests poisoned memory (hal::DeviceInfo::poisons_memory), which exposes reads of unwritten
// elements. ctest sets TARTAN_POISON=1 for all tests.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {
namespace {

hal::DevicePtr PoisonedDevice() {
  setenv("TARTAN_POISON", "1", /*overwrite=*/1);
  const auto driver = opencl::MakeOpenClDriver();
  return driver->Open(hal::PreferredDevice(driver->ListDevices().value())).value();
}

TEST(Poison, FillsNewMemory) {
  const hal::DevicePtr device = PoisonedDevice();
  const auto buffer = device->Allocate(100);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  std::vector<uint8_t> bytes(100);
  const auto queue = device->CreateQueue(/*profiling=*/false);
  ASSERT_TRUE((*queue)->Read(*buffer, 0, absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, std::vector<uint8_t>(100, hal::kPoison));
}

// The second run must fail as well, although its memory contains values of the first run.
TEST(Poison, ShowsThatNobodyWritesAnOutput) {
  compiler::KernelList list;
  const TensorShape shape{DataType::kFloat32, {4}};
  list.buffers = {{"O", compiler::BufferKind::kOutput, shape, 16}};
  list.outputs = {0};
  list.output_shapes = {shape};
  const auto built =
      CompiledProgram::Build(list, PoisonedDevice(), opencl::DialectOf(TestSettings()));
  ASSERT_TRUE(built.ok()) << built.status();
  const auto loaded = LoadedProgram::Load(*built, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (int run = 0; run < 2; ++run) {
    const auto outputs = (*loaded)->Run({});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const double value : (*outputs)[0].ToDoubles()) EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace tartan::evaluator
