// SPDX-License-Identifier: Apache-2.0
// Kernels of many programs are written once for each name, form of launch and settings.
#include "tile/evaluator/written_kernels.h"

#include <gtest/gtest.h>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tile/loop/build.h"

namespace tartan::evaluator::written_kernels_test {
namespace {

// Has a type that the prologue has to allow.
loop::Kernel Conversion(const std::string& name) {
  loop::Kernel kernel;
  kernel.name = name;
  kernel.parameters = {{"out0", DataType::kFloat64, true}, {"in0", DataType::kFloat32}};
  const loop::ExprPtr item = loop::Work(loop::WorkId::kGlobal, 0);
  kernel.body = loop::MakeStore(
      "out0", DataType::kFloat64, item,
      loop::Cast(loop::LoadFrom("in0", DataType::kFloat32, item), DataType::kFloat64));
  return kernel;
}

TEST(WrittenKernels, AreWrittenOnce) {
  const codegen::Dialect dialect = opencl::OpenClDialect();
  WrittenKernels kernels;
  const auto written = kernels.Get(Conversion("ready_1"), dialect, "settings");
  EXPECT_EQ(kernels.Get(Conversion("ready_1"), dialect, "settings"), written);
  EXPECT_EQ(written->text.kernel, codegen::WriteKernel(Conversion("ready_1"), dialect));
}

TEST(WrittenKernels, AreOthersInASequenceOrOfOtherSettings) {
  const codegen::Dialect dialect = opencl::OpenClDialect();
  WrittenKernels kernels;
  loop::Kernel kernel = Conversion("ready_1");
  const auto written = kernels.Get(kernel, dialect, "settings");
  EXPECT_NE(kernels.Get(kernel, dialect, "others"), written);
  kernel.in_launch_batch = true;
  EXPECT_EQ(kernels.Get(kernel, dialect, "settings")->text.kernel,
            codegen::WriteKernel(kernel, dialect));
  EXPECT_NE(kernels.Get(kernel, dialect, "settings")->text.kernel, written->text.kernel);
}

TEST(WrittenKernels, AreWrittenAnewWhereTheyCheckTheirAccesses) {
  const codegen::Dialect dialect = opencl::OpenClDialect();
  WrittenKernels kernels;
  loop::Kernel kernel = Conversion("ready_1");
  kernels.Get(kernel, dialect, "settings");
  kernel.parameters.push_back({"report", DataType::kInt32, true});
  kernel.sizes = {{"elements0", 8}, {"elements1", 8}, {"launch", 0}};
  kernel.checks_bounds = true;
  EXPECT_NE(kernels.Get(kernel, dialect, "settings"), kernels.Get(kernel, dialect, "settings"));
}

TEST(WrittenKernels, HaveAPrologueOfTheirDefinitionsEachOnce) {
  const codegen::Dialect dialect = opencl::OpenClDialect();
  const std::vector<loop::Kernel> kernels = {Conversion("ready_1"), Conversion("ready_2")};
  const auto first = WriteOne(kernels[0], dialect);
  const auto second = WriteOne(kernels[1], dialect);
  ASSERT_FALSE(first->text.definitions.empty());
  const std::string prologue = codegen::PrologueOf({{&first->text, &second->text}}, dialect);
  EXPECT_EQ(prologue, codegen::PrologueOf({{&first->text}}, dialect));
  EXPECT_EQ(prologue, codegen::WriteProgramParts(kernels, dialect).prologue);
}

}  // namespace
}  // namespace tartan::evaluator::written_kernels_test
