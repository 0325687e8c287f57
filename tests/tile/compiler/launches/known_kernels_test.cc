// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/known_kernels.h"

#include <gtest/gtest.h>

#include "tile/loop/build.h"

namespace tartan::compiler {
namespace {

TEST(KnownKernels, KeepApartWhatDiffersInTypesAlone) {
  loop::Kernel kernel;
  kernel.parameters = {{"out0", DataType::kFloat32, true}};
  kernel.sizes = {{"size0", 7}};
  kernel.body = loop::MakeStore("out0", DataType::kFloat32, loop::Int(0), loop::Float(1));
  KnownKernels known;
  const auto simplified = known.Get(kernel);
  kernel.sizes[0].value = 8;
  EXPECT_EQ(known.Get(kernel), simplified);
  loop::Kernel other = kernel;
  other.parameters[0].stored = DataType::kFloat64;
  EXPECT_NE(known.Get(other)->name, simplified->name);
  other = kernel;
  other.index_type = DataType::kInt64;
  EXPECT_NE(known.Get(other)->name, simplified->name);
  other = kernel;
  other.sizes.clear();  // its text has its global size
  other.global_size[0] = 2;
  const auto fixed = known.Get(other);
  other.global_size[0] = 3;
  EXPECT_NE(known.Get(other)->name, fixed->name);
}

}  // namespace
}  // namespace tartan::compiler
