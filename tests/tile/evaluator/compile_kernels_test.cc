// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/compile_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "hal/null_backend.h"
#include "tile/loop/build.h"

namespace tartan::evaluator {
namespace {

// A kernel is run once to make the driver compile it. If it stores at indices that an earlier
// kernel computes, these indices must be zeros, which are in bounds.
TEST(CompileKernels, RunsKernelsOnZerosWhateverTheirBuffersAreFor) {
  using compiler::BufferKind;
  compiler::KernelList list;
  const TensorShape values{DataType::kFloat32, {8}};
  const TensorShape places{DataType::kInt32, {8}};
  list.buffers = {{"O", BufferKind::kOutput, values, 32},
                  {"places", BufferKind::kTemporary, places, 32},
                  {"given", BufferKind::kInput, places, 32},
                  {"kept", BufferKind::kState, places, 32}};
  loop::Kernel kernel;
  kernel.name = "scatter";
  kernel.parameters = {{"o", DataType::kFloat32, true},
                       {"places", DataType::kInt32},
                       {"given", DataType::kInt32},
                       {"kept", DataType::kInt32}};
  kernel.body =
      loop::MakeStore("o", DataType::kFloat32,
                      loop::LoadFrom("places", DataType::kInt32, loop::Int(0)), loop::Float(1));
  list.kernels = {kernel};
  compiler::LaunchStep launch;
  launch.buffers = {0, 1, 2, 3};
  list.steps = {launch};

  int launches = 0;
  hal::NullOptions options;
  options.poisons_memory = true;
  options.kernels = [&](absl::string_view, absl::Span<const absl::Span<uint8_t>> arguments) {
    ++launches;
    for (const absl::Span<uint8_t> memory : arguments) {
      EXPECT_EQ(std::count(memory.begin(), memory.end(), 0), 32);
    }
  };
  const auto driver = hal::MakeNullDriver(options);
  const hal::DevicePtr device = driver->Open(driver->ListDevices()->front()).value();
  codegen::Dialect dialect = opencl::OpenClDialect({});
  dialect.format = "null";
  const auto built = CompiledProgram::Build(list, device, dialect);
  ASSERT_TRUE(built.ok()) << built.status();
  ASSERT_TRUE(CompileKernels(**built).ok());
  EXPECT_EQ(launches, 1);
}

}  // namespace
}  // namespace tartan::evaluator
