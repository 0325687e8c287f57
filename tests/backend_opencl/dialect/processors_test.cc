// SPDX-License-Identifier: Apache-2.0
// Compiles every helper function and the kernels of small programs with Clang for several
// processors. A text with builtins of one processor does not build for another.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "every_operation.h"
#include "tests/tile/compiler/products/bfloat16_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compiler.h"
#include "tile/loop/build.h"

namespace tartan::opencl {
namespace {

using namespace loop;  // NOLINT: builders

constexpr DataType kStored[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                                DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                                DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                                DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                                DataType::kFloat64};

struct Processor {
  std::string name;
  std::string flags;  // Clang's flags, and the options that device_query.cc would add
  HardwareSettings settings;
};

std::ostream& operator<<(std::ostream& out, const Processor& processor) {
  return out << processor.name;
}

HardwareSettings Settings(int64_t width, int64_t packed, bool packs_unsigned, bool has_fma,
                          bool multiplies_bfloat16 = false) {
  HardwareSettings settings;
  settings.vector_width = width;
  settings.register_bytes = (width == 16 ? 32 : 16) * width * 4;
  settings.packed_dot_width = packed;
  settings.packs_unsigned = packs_unsigned;
  settings.has_fma = has_fma;
  settings.multiplies_bfloat16 = multiplies_bfloat16;
  return settings;
}

std::vector<Processor> Processors() {
  const std::string x86 = "--target=x86_64-linux-gnu -march=";
  return {
      {"Sse42", x86 + "nehalem", Settings(4, 2, false, false)},
      {"AvxWithoutFma", x86 + "sandybridge", Settings(8, 2, false, false)},
      {"Avx2", x86 + "haswell", Settings(8, 2, false, true)},
      {"AlderLake", x86 + "alderlake", Settings(8, 4, true, true)},
      {"Avx512", x86 + "skylake-avx512", Settings(16, 2, false, true)},
      // PoCL's target for processors with further features.
      {"Avx512WithVnni", x86 + "skylake-avx512 -DTARTAN_AVX512_VNNI", Settings(16, 4, true, true)},
      {"Avx512WithBFloat16", x86 + "skylake-avx512 -DTARTAN_AVX512_VNNI -DTARTAN_AVX512_BF16",
       Settings(16, 4, true, true, true)},
      {"SapphireRapids", x86 + "sapphirerapids -DTARTAN_AVX512_VNNI -DTARTAN_AVX512_BF16",
       Settings(16, 4, true, true, true)},
      // Compiles only to LLVM IR. Clang 14 declares vload_half4 for devices with half arithmetic,
      // and LLVM cannot generate calls of OpenCL kernels, which drivers replace.
      {"Arm64", "--target=aarch64-linux-gnu -Xclang -cl-ext=+cl_khr_fp16 -emit-llvm",
       Settings(4, 1, false, true)},
      {"Portable", x86 + "skylake-avx512 -DTARTAN_PORTABLE", Settings(16, 4, true, true)}};
}

// Returns Clang's messages for the text, or "". `action` selects how far it compiles.
std::string Compile(const std::string& text, const std::string& flags, const std::string& action) {
#ifndef TARTAN_CLANG
  return "there is no clang: apt-get install clang";
#else
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string file =
      absl::StrCat(testing::TempDir(), absl::StrReplaceAll(test, {{"/", "_"}}), ".cl");
  std::ofstream(file) << text;
  const std::string command = absl::StrCat(
      TARTAN_CLANG,
      " -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Xclang -fdeclare-opencl-builtins "
      "-Xclang -cl-ext=+cl_khr_fp64,+cl_khr_int64_base_atomics -w ",
      flags, " ", action, " -o /dev/null ", file, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::StrCat("could not run ", command);
  std::string output;
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), size);
  }
  const int status = pclose(pipe);
  if (status == 0) {
    std::remove(file.c_str());
    return "";
  }
  return absl::StrCat(command, "\n", output.substr(0, 4000));
#endif
}

// Adds the operations of all types and widths.
void AddOperations(std::vector<Kernel>* kernels) {
  for (const DataType type : kStored) {
    if (ComputeType(type) != type) continue;
    for (const int lanes : {1, 2, 4, 8, 16}) {
      if (type == DataType::kBool && lanes > 1) continue;
      kernels->push_back(MakeOpsKernel(type, lanes, 16, DefinedOps(type)));
    }
  }
}

// Adds conversions between all stored types, and streaming and unaligned stores.
void AddConversions(std::vector<Kernel>* kernels) {
  for (const DataType from : kStored) {
    for (const int lanes : {1, 2, 4, 8, 16}) {
      if (from == DataType::kBool && lanes > 1) continue;
      Kernel kernel;
      kernel.name = absl::StrCat("convert_", Name(from), "_", lanes);
      kernel.parameters = {{"x", from}};
      std::vector<StmtPtr> body;
      for (const DataType to : kStored) {
        if (to == DataType::kBool && lanes > 1) continue;
        const std::string name = absl::StrCat("to_", Name(to));
        kernel.parameters.push_back({name, to, true});
        const ExprPtr value = Cast(LoadFrom("x", from, Int(0), lanes), ComputeType(to));
        body.push_back(MakeStore(name, to, Int(0), value));
      }
      kernel.body = MakeBlock(std::move(body));
      kernels->push_back(std::move(kernel));
    }
  }
}

// Adds extractions of two- and four-bit integers from words.
void AddSmallNumbers(std::vector<Kernel>* kernels) {
  for (const int lanes : {2, 4, 8, 16}) {
    for (const int64_t above : {28, 30}) {
      const ExprPtr bits = Splat(Int(above), lanes);
      const ExprPtr top =
          ApplyOp(ScalarOp::kShiftLeft, {LoadFrom("x", DataType::kInt32, Int(0), lanes), bits});
      Kernel kernel;
      kernel.name = absl::StrCat("numbers_", above, "_", lanes);
      kernel.parameters = {{"x", DataType::kInt32}, {"y", DataType::kFloat32, true}};
      kernel.body =
          MakeStore("y", DataType::kFloat32, Int(0),
                    Cast(ApplyOp(ScalarOp::kShiftRight, {top, bits}), DataType::kFloat32));
      kernels->push_back(std::move(kernel));
    }
  }
}

// Adds packing of two bfloat16 elements per word, and dot operations on them.
void AddPairsOfFloats(std::vector<Kernel>* kernels) {
  for (const int lanes : {1, 2, 4, 8, 16}) {
    Kernel kernel;
    kernel.name = absl::StrCat("pairs_", lanes);
    kernel.parameters = {{"x", DataType::kFloat32},
                         {"words", DataType::kInt32, true},
                         {"sums", DataType::kFloat32, true}};
    const ExprPtr x = LoadFrom("x", DataType::kFloat32, Int(0), lanes);
    const ExprPtr y = LoadFrom("x", DataType::kFloat32, Int(16), lanes);
    const ExprPtr word = Var("word", Type{DataType::kInt32, lanes});
    const ExprPtr sum = Var("sum", Type{DataType::kFloat32, lanes});
    const ExprPtr products = ApplyOp(ScalarOp::kDotBFloat16, {word, word});
    kernel.body = MakeBlock({
        MakeDeclare(word->type, "word", ApplyOp(ScalarOp::kPairBFloat16, {x, y})),
        MakeStore("words", DataType::kInt32, Int(0), word),
        MakeDeclare(sum->type, "sum", products, true),
        MakeAssign("sum", Add(sum, products)),
        MakeStore("sums", DataType::kFloat32, Int(0), sum),
    });
    kernels->push_back(std::move(kernel));
  }
}

void AddAtomicUpdates(std::vector<Kernel>* kernels) {
  for (const DataType type : kStored) {
    Kernel kernel;
    kernel.name = absl::StrCat("update_", Name(type));
    kernel.parameters = {{"x", type, true}};
    std::vector<StmtPtr> body;
    for (const ScalarOp op : {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMin, ScalarOp::kMax}) {
      body.push_back(MakeAtomicUpdate("x", type, op, Int(0), Cast(Int(1), ComputeType(type))));
    }
    kernel.body = MakeBlock(std::move(body));
    kernels->push_back(std::move(kernel));
  }
}

class OnEveryProcessor : public testing::TestWithParam<Processor> {};

TEST_P(OnEveryProcessor, EveryHelperFunctionCompiles) {
  std::vector<Kernel> kernels;
  AddOperations(&kernels);
  AddConversions(&kernels);
  AddAtomicUpdates(&kernels);
  AddSmallNumbers(&kernels);
  AddPairsOfFloats(&kernels);
  const std::string text = codegen::WriteProgram(kernels, DialectOf(GetParam().settings));
  EXPECT_EQ(Compile(text, GetParam().flags, "-O1 -c"), "");
}

// Compiles all programs in one text, with kernels renamed by program number.
TEST_P(OnEveryProcessor, KernelsOfProgramsCompile) {
  std::vector<Kernel> kernels;
  for (const TestProgram& program : TestPrograms()) {
    compiler::CompileOptions options;
    options.settings = GetParam().settings;
    const auto list = compiler::Compile(BindTestProgram(program), options);
    ASSERT_TRUE(list.ok()) << program.name << ": " << list.status();
    for (Kernel kernel : list->kernels) {
      kernel.name = absl::StrCat(program.name, "_", kernel.name);
      kernels.push_back(std::move(kernel));
    }
  }
  const codegen::Dialect dialect = DialectOf(GetParam().settings);
  const std::string kernels_text =
      absl::StrJoin(codegen::WriteProgramParts(kernels, dialect).kernels, "");
  const bool multiplies_bytes = absl::StrContains(kernels_text, "tt_sumdot8u_int");
  EXPECT_EQ(multiplies_bytes, GetParam().settings.packs_unsigned);
  EXPECT_EQ(absl::StrContains(kernels_text, " fma("), GetParam().settings.has_fma);
  EXPECT_EQ(Compile(codegen::WriteProgram(kernels, dialect), GetParam().flags, "-O0 -c"), "");
}

TEST_P(OnEveryProcessor, KernelsOfRoundedProductsCompile) {
  std::vector<Kernel> kernels;
  const compiler::CompileOptions options = OptionsForBFloat16(GetParam().settings);
  for (const MatrixProgram& program : BFloat16Programs()) {
    const auto list =
        compiler::Compile(Bind(program), options, PlanForBFloat16(GetParam().settings, 0));
    ASSERT_TRUE(list.ok()) << program.name << ": " << list.status();
    for (Kernel kernel : list->kernels) {
      kernel.name = absl::StrCat(program.name, "_", kernel.name);
      kernels.push_back(std::move(kernel));
    }
  }
  const std::string text = codegen::WriteProgram(kernels, DialectOf(GetParam().settings));
  EXPECT_TRUE(absl::StrContains(text, " = tt_sumdotbf16_float")) << "sums are not joined";
  EXPECT_EQ(Compile(text, GetParam().flags, "-O1 -c"), "");
}

INSTANTIATE_TEST_SUITE_P(All, OnEveryProcessor, testing::ValuesIn(Processors()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::opencl
