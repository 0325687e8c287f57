// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan tile` through the command line.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli::tile_command_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Example(const std::string& name) {
  return SourcePath("examples/tile/" + name + ".tile");
}

// Writes a function to a separate file.
std::string Written(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "tile_command_test_" + name + ".tile";
  EXPECT_TRUE(WriteFile(path, text).ok());
  return path;
}

ProgramResult RunTile(const std::string& file, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"tile", file};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunTartan(all);
}

proto::TileReport Report(const std::string& file, std::vector<std::string> arguments,
                         int exit_code = 0) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const ProgramResult result = RunTile(file, arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  proto::TileReport report;
  const auto status = google::protobuf::util::JsonStringToMessage(result.out, &report);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << result.out;
  return report;
}

void ExpectFailure(const ProgramResult& result, int exit_code, const std::string& message) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("tartan: "), HasSubstr(message)));
  EXPECT_EQ(result.err.find("tartan: ", 1), std::string::npos) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
}

const std::vector<std::string> kMatMulInputs = {"--input", "A=rand:1", "--shape", "A=3x5",
                                                "--input", "B=2",      "--shape", "B=5x7"};

std::vector<std::string> MatMulWith(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kMatMulInputs;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(TileCommand, RunsAFunctionWithItsGradients) {
  const auto report = Report(Example("matmul"), MatMulWith({"--grad", "A", "--grad", "B"}));
  ASSERT_EQ(report.outputs_size(), 3);
  EXPECT_EQ(report.outputs(0).name(), "C");
  EXPECT_THAT(report.outputs(0).shape(), ElementsAre(3, 7));
  EXPECT_EQ(report.outputs(1).name(), "grad(A)");
  EXPECT_THAT(report.outputs(1).shape(), ElementsAre(3, 5));
  EXPECT_THAT(report.outputs(1).data(), Each(14));  // seven columns of twos
  EXPECT_EQ(report.outputs(2).name(), "grad(B)");
  EXPECT_EQ(report.outputs(2).type(), "float32");
  EXPECT_GT(report.kernels(), 0);
  EXPECT_THAT(report.device(), Not(IsEmpty()));
}

TEST(TileCommand, GivesJsonOfTheDocumentedForm) {
  const ProgramResult result =
      RunTile(Example("matmul"), MatMulWith({"--grad", "all", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* field : {"file", "device", "outputs", "name", "type", "shape", "data",
                            "compile_ms", "latency_ms", "kernels", "cache", "hits", "misses"}) {
    EXPECT_THAT(result.out, HasSubstr("\"" + std::string(field) + "\":"));
  }
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(TileCommand, TheDeviceAgreesWithTheNaiveEvaluator) {
  const auto naive = Report(Example("matmul"), MatMulWith({"--grad", "all", "--naive"}));
  EXPECT_THAT(naive.device(), IsEmpty());
  const auto device = Report(Example("matmul"), MatMulWith({"--grad", "all", "--check"}));
  EXPECT_LT(device.max_rel_error(), 1e-5);
  ASSERT_EQ(naive.outputs_size(), device.outputs_size());
  for (int o = 0; o < naive.outputs_size(); ++o) {
    ASSERT_EQ(naive.outputs(o).data_size(), device.outputs(o).data_size());
    for (int i = 0; i < naive.outputs(o).data_size(); ++i) {
      EXPECT_NEAR(naive.outputs(o).data(i), device.outputs(o).data(i), 1e-4);
    }
  }
}

TEST(TileCommand, ACheckThatFailsEndsWith1) {
  const std::string file = Written("sum", "function (A[M, N]) -> (S) { S[i : M] = +(A[i, j]); }");
  const std::vector<std::string> arguments = {
      "--input", "A=rand", "--shape", "A=100x1003", "--check", "--rtol", "0", "--atol", "0"};
  const ProgramResult result = RunTile(file, arguments);
  // Float32 additions in another order differ in the last bits.
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("tartan: S: "), HasSubstr("of 100 elements differ")));
}

TEST(TileCommand, TakesTypesAndFiles) {
  const std::string a = ::testing::TempDir() + "tile_command_test_a.npy";
  const std::string c = ::testing::TempDir() + "tile_command_test_c.npy";
  const std::string gradient = ::testing::TempDir() + "tile_command_test_gradient.npy";
  const HostTensor value =
      HostTensor::FromVector<double>({DataType::kFloat64, {1, 2}}, {0.1, 1e10});
  ASSERT_TRUE(WriteTensor(a, "A", value).ok());
  const ProgramResult result =
      RunTile(Example("matmul"),
              {"--input", "A=@" + a, "--input", "B=ones", "--shape", "B=2x1", "--type", "B=float64",
               "--grad", "B", "--output", "C=" + c, "--output", "grad(B)=" + gradient});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto product = ReadTensor(c);
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(product->shape().ToString(), "float64[1, 1]");
  EXPECT_EQ(product->GetDouble(0), 0.1 + 1e10);
  EXPECT_THAT(ReadTensor(gradient)->ToDoubles(), ElementsAre(0.1, 1e10));
}

TEST(TileCommand, GradientsAreOfTheOutputsAskedFor) {
  const std::string file = Written("two",
                                   "function (X) -> (Square, Cube, Sign) {"
                                   "  Square = X * X; Cube = X * X * X; Sign = X < 0; }");
  const std::vector<std::string> input = {"--input", "X=2", "--shape", "X=scalar"};
  const auto gradient = [&](std::vector<std::string> more) {
    more.insert(more.begin(), input.begin(), input.end());
    const auto report = Report(file, more);
    return report.outputs(report.outputs_size() - 1).data(0);
  };
  EXPECT_EQ(gradient({"--grad", "X"}), 16);
  EXPECT_EQ(gradient({"--grad", "X", "--of", "Square"}), 4);
  EXPECT_EQ(gradient({"--grad", "X", "--of", "Cube"}), 12);
}

TEST(TileCommand, TiesAreSharedOrGivenToTheFirst) {
  const std::vector<std::string> input = {"--input", "I=1", "--shape", "I=2x1", "--grad", "I"};
  auto report = Report(Example("max_over_axis"), input);
  EXPECT_THAT(report.outputs(1).data(), ElementsAre(0.5, 0.5));
  std::vector<std::string> first = input;
  first.insert(first.end(), {"--ties", "first"});
  EXPECT_THAT(Report(Example("max_over_axis"), first).outputs(1).data(), ElementsAre(1, 0));
}

TEST(TileCommand, NanGoesThrough) {
  const std::string path = ::testing::TempDir() + "tile_command_test_nan.npy";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(
      WriteTensor(path, "I",
                  HostTensor::FromVector<float>({DataType::kFloat32, {2, 2}}, {1, nan, 2, 3}))
          .ok());
  for (const std::string engine : {"--naive", "--check"}) {
    const auto report =
        Report(Example("sum_over_axis"), {"--input", "I=@" + path, "--grad", "I", engine});
    ASSERT_EQ(report.outputs_size(), 2);
    EXPECT_EQ(report.outputs(0).data(0), 3);
    EXPECT_TRUE(std::isnan(report.outputs(0).data(1)));
    EXPECT_THAT(report.outputs(1).data(), Each(1));
  }
}

TEST(TileCommand, ShowsEveryStageOfTheCompiler) {
  for (const std::string stage :
       {"program", "channels-last", "pad-inputs", "partition", "write-kernels", "flat", "plan",
        "loops", "simplified", "fusion", "source", "graph", "sem"}) {
    const ProgramResult result =
        RunTile(Example("matmul"), {"--shape", "A=3x5", "--shape", "B=5x7", "--dump", stage});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(result.out.size(), 20u) << stage;
  }
  const auto report = Report(Example("matmul"), {"--shape", "A=3x5", "--shape", "B=5x7", "--grad",
                                                 "A", "--dump", "flat", "--dump", "source"});
  ASSERT_EQ(report.dumps_size(), 2);
  EXPECT_EQ(report.dumps(0).stage(), "flat");
  EXPECT_THAT(report.dumps(1).text(), HasSubstr("kernel"));
  ASSERT_EQ(report.outputs_size(), 2);
  EXPECT_THAT(report.outputs(1).shape(), ElementsAre(3, 5));
}

TEST(TileCommand, SaysWhyOperationsAreSeparateLaunches) {
  const ProgramResult result = RunTile(Example("matmul"), {"--shape", "A=3x5", "--shape", "B=5x7",
                                                           "--grad", "all", "--dump", "fusion"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("launch 1: "));
}

// Tests run on a CPU device, which supports rounding to bfloat16 and to integers only.
TEST(TileCommand, SaysWhereAPrecisionChangesNothing) {
  for (const std::string precision : {"tf32", "float16", "bfloat16", "float32", "int8"}) {
    std::vector<std::string> arguments = kMatMulInputs;
    arguments.insert(arguments.end(), {"--device", "pthread", "--precision", precision});
    const ProgramResult result = RunTile(Example("matmul"), arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const bool is_said = result.err.find("changes nothing") != std::string::npos;
    EXPECT_EQ(is_said, precision == "tf32" || precision == "float16")
        << precision << ": " << result.err;
  }
}

TEST(TileCommand, WrongTextEndsWith3AndShowsWhere) {
  const std::string syntax = Written("syntax", "function (A) -> (B) {\n  B = A + ;\n}\n");
  ExpectFailure(RunTile(syntax, {}), 3, syntax + ":2:11: ");
  EXPECT_THAT(RunTile(syntax, {}).err, HasSubstr("\n      B = A + ;\n              ^"));
  const std::string unknown = Written("unknown", "function (A) -> (B) {\n  B = A + Missing;\n}\n");
  ExpectFailure(RunTile(unknown, {"--input", "A=1", "--shape", "A=2"}), 3, unknown + ":2:11: ");
  ExpectFailure(RunTile(Written("empty", ""), {}), 3, ":1:1: ");
}

TEST(TileCommand, SizesAreGivenByTheNamesThatTheTextHas) {
  const ProgramResult result = RunTile(
      Example("matmul"), {"--random", "--shape", "M=2", "--shape", "L=3", "--shape", "N=4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("float32[2, 4]"));
}

TEST(TileCommand, WrongInputsEndWith2) {
  const std::string file = Example("matmul");
  ExpectFailure(RunTile(file, {"--input", "A=1", "--shape", "A=2x2"}), 2, "input 'B' is missing");
  ExpectFailure(RunTile(file, {"--input", "A=1"}), 2,
                "dimension 0 of input 'A: [M, L]' is open; give it with --shape A=1x1");
  ExpectFailure(RunTile(file, MatMulWith({"--input", "D=1"})), 2,
                "no input 'D'; the inputs are A: [M, L]");
  ExpectFailure(RunTile(file, {"--random", "--shape", "A=2x3x4", "--shape", "B=3x4"}), 2,
                "--shape A: [2, 3, 4] contradicts A: [M, L]");
  ExpectFailure(RunTile(file, {"--random", "--shape", "A=2x3", "--shape", "B=4x5"}), 2,
                "size L is 3 in input 'A' but 4 in 'B'");
  ExpectFailure(RunTile(file, MatMulWith({"--type", "A=float31"})), 2, "'float31' is not a type");
  ExpectFailure(RunTile(file, MatMulWith({"--type", "D=float32"})), 2,
                "no such input; it has A, B");
  ExpectFailure(RunTile(file, MatMulWith({"--output", "D=d.npy"})), 2, "'D'; the outputs are C");
  ExpectFailure(RunTile(Written("any", "function (A) -> (B) { B = A; }"), {"--input", "A=1"}), 2,
                "the rank of input 'A' is open");
}

TEST(TileCommand, WrongFilesEndWith2Or6) {
  const std::string path = ::testing::TempDir() + "tile_command_test_vector.npy";
  ASSERT_TRUE(WriteTensor(path, "A", HostTensor::Zeros({DataType::kFloat32, {4}})).ok());
  ExpectFailure(RunTile(Example("matmul"), {"--input", "A=@" + path}), 2,
                "is float32[4], but the input is A: [M, L]");
  ExpectFailure(RunTile(Example("matmul"), {"--input", "A=@/no/such.npy"}), 6, "/no/such.npy");
  ExpectFailure(RunTile("/no/such.tile", {}), 6, "/no/such.tile");
  ExpectFailure(RunTile(SourcePath("examples"), {}), 6, "examples");
  ExpectFailure(RunTile(Example("matmul"), MatMulWith({"--output", "C=/no/such/folder/c.npy"})), 6,
                "/no/such/folder/c.npy");
}

TEST(TileCommand, GradientsOfWhatHasNoneEndWith2) {
  const std::string file = Example("matmul");
  ExpectFailure(RunTile(file, MatMulWith({"--grad", "D"})), 2,
                "--grad D: no such tensor; the tensors are A: float32[3, 5], B: float32[5, 7]");
  ExpectFailure(RunTile(file, MatMulWith({"--grad", "A", "--type", "A=int32"})), 2,
                "'A' is int32[3, 5], but only floats have gradients");
  ExpectFailure(RunTile(file, MatMulWith({"--grad", "A", "--of", "D"})), 2, "--of D");
  ExpectFailure(RunTile(file, MatMulWith({"--of", "C"})), 2, "--grad");
  const std::vector<std::string> integers = {"--grad",  "all",    "--type",
                                             "A=int32", "--type", "B=int32"};
  ExpectFailure(RunTile(file, MatMulWith(integers)), 2, "no input is a float");
}

TEST(TileCommand, UnknownStagesEndWith2AndAreListed) {
  const ProgramResult result = RunTile(Example("matmul"), MatMulWith({"--dump", "magic"}));
  ExpectFailure(result, 2, "magic");
  EXPECT_THAT(result.err, AllOf(HasSubstr("program"), HasSubstr("flat"), HasSubstr("source")));
  ExpectFailure(RunTile(Example("matmul"), MatMulWith({"--naive", "--check"})), 2, "--naive");
}

TEST(TileCommand, HelpHasAnExample) {
  const ProgramResult result = RunTartan({"tile", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("Example:"), HasSubstr("--grad"), HasSubstr("--dump")));
}

}  // namespace
}  // namespace tartan::cli::tile_command_test
