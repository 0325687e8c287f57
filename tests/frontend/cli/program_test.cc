// SPDX-License-Identifier: Apache-2.0
// Tests of the program through its command line: results, JSON, exit codes and messages.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Digits() { return SourcePath("examples/digits/digits.onnx"); }
std::string Seven() { return "x=@" + SourcePath("examples/digits/seven.png"); }

// Expects one complete message that starts with the program's name.
void ExpectFailure(const ProgramResult& result, int exit_code, const std::string& message) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("tartan: "), HasSubstr(message)));
  EXPECT_EQ(result.err.find("tartan: ", 1), std::string::npos) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
}

template <class Message>
Message ParseJson(const ProgramResult& result) {
  Message message;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto status = google::protobuf::util::JsonStringToMessage(result.out, &message);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << result.out;
  return message;
}

void ExpectFields(const ProgramResult& result, const std::vector<std::string>& names) {
  for (const std::string& name : names) EXPECT_THAT(result.out, HasSubstr("\"" + name + "\":"));
}

TEST(Program, ReadsTheSeven) {
  const auto result = RunTartan({"run", Digits(), "--input", Seven(), "--topk", "3", "--labels",
                                 SourcePath("examples/digits/labels.txt")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  const size_t answer = result.out.find("seven");
  ASSERT_NE(answer, std::string::npos) << result.out;
  EXPECT_THAT(result.out.substr(0, answer), HasSubstr("100.00"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("device"), HasSubstr("compile"), HasSubstr("latency")));
}

TEST(Program, RunReportsJson) {
  const auto result = RunTartan(
      {"--format", "json", "--tier", "exact", "run", Digits(), "--input", Seven(), "--topk", "2"});
  const auto report = ParseJson<proto::RunReport>(result);
  ExpectFields(result, {"outputs", "name", "type", "shape", "compile_ms", "latency_ms", "kernels",
                        "cache", "hits", "misses", "device"});
  ASSERT_EQ(report.outputs_size(), 1);
  EXPECT_EQ(report.outputs(0).type(), "float32");
  ASSERT_EQ(report.outputs(0).data_size(), 10);
  EXPECT_GT(report.outputs(0).data(7), 0.99);
  ASSERT_EQ(report.outputs(0).top_size(), 2);
  EXPECT_EQ(report.outputs(0).top(0).index(), 7);
  EXPECT_GT(report.kernels(), 0);
}

TEST(Program, WritesOutputs) {
  const std::string path = ::testing::TempDir() + "program_test_scores.npy";
  const auto result = RunTartan({"run", Digits(), "--input", "x=rand", "--shape", "x=2x1x28x28",
                                 "--output", "scores=" + path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto scores = ReadTensor(path);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->shape().ToString(), "float32[2, 10]");
}

TEST(Program, DevicesReportsJson) {
  const auto result = RunTartan({"devices", "--format", "json"});
  const auto report = ParseJson<proto::DevicesReport>(result);
  ExpectFields(result, {"devices", "index", "platform", "name", "driver", "type", "memory_bytes",
                        "settings"});
  ASSERT_GT(report.devices_size(), 0);
  EXPECT_GT(report.devices(0).memory_bytes(), 0);
}

TEST(Program, InspectReportsJson) {
  const auto result = RunTartan({"inspect", Digits(), "--format", "json"});
  const auto report = ParseJson<proto::InspectReport>(result);
  ExpectFields(result, {"inputs", "outputs", "opsets", "parameters", "flops", "operators",
                        "kernels", "peak_bytes"});
  EXPECT_EQ(report.opsets().at("ai.onnx"), 13);
  EXPECT_EQ(report.inputs(0).shape(0), -1);
  EXPECT_GT(report.flops(), 1e5);
  EXPECT_GT(report.kernels(), 0);
  EXPECT_THAT(report.problem(), IsEmpty());
}

TEST(Program, BenchReportsJson) {
  const auto result =
      RunTartan({"bench", Digits(), "--count", "5", "--batch", "1,2", "--format", "json"});
  const auto report = ParseJson<proto::BenchReport>(result);
  ExpectFields(result, {"median_ms", "p90_ms", "p99_ms", "min_ms", "mean_ms", "runs", "throughput",
                        "load_ms", "compile_ms", "first_ms", "kernels", "peak_device_bytes",
                        "peak_host_bytes", "cache"});
  EXPECT_EQ(report.runs(), 5);
  EXPECT_LE(report.min_ms(), report.median_ms());
  EXPECT_LE(report.median_ms(), report.p99_ms());
  EXPECT_EQ(report.batches_size(), 2);
}

TEST(Program, BenchTellsWhatChecksCost) {
  const auto result =
      RunTartan({"bench", Digits(), "--count", "5", "--check-cost", "--format", "json"});
  const auto report = ParseJson<proto::BenchReport>(result);
  EXPECT_EQ(report.runs(), 5);
  EXPECT_GT(report.unchecked_median_ms(), 0);
  EXPECT_GT(report.check_cost(), -1);
  const auto text = RunTartan({"bench", Digits(), "--count", "2", "--check-cost"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("unchecked"), HasSubstr("checks cost")));
  EXPECT_THAT(RunTartan({"bench", Digits(), "--count", "2"}).out, Not(HasSubstr("unchecked")));
}

TEST(Program, BenchSaysWhyLaunchesAreSeparate) {
  const auto result =
      RunTartan({"bench", Digits(), "--count", "2", "--explain", "--format", "json"});
  const auto report = ParseJson<proto::BenchReport>(result);
  std::string text;
  for (const std::string& line : report.fusion()) text += line + "\n";
  EXPECT_THAT(text, AllOf(HasSubstr("launch 1: "), HasSubstr("  + epilogue: "),
                          HasSubstr(" refused: "), HasSubstr(" [launch 1]")));
  EXPECT_THAT(RunTartan({"bench", Digits(), "--count", "2", "--explain"}).out, HasSubstr(text));
}

TEST(Program, BenchTimesEveryKernel) {
  const auto result =
      RunTartan({"bench", Digits(), "--count", "2", "--profile", "--format", "json"});
  const auto report = ParseJson<proto::BenchReport>(result);
  ASSERT_EQ(report.profile_size(), report.kernels());
  double share = 0;
  for (const auto& kernel : report.profile()) {
    EXPECT_GT(kernel.ms(), 0);
    EXPECT_THAT(kernel.kernel(), StartsWith("k"));
    ASSERT_EQ(kernel.nodes_size(), 1);
    share += kernel.share();
  }
  EXPECT_NEAR(share, 1, 1e-6);
  // The rows per operator also add up to all time and all kernels, and name the model's operators.
  double sum = 0;
  int kernels = 0;
  std::string operators;
  for (const auto& row : report.operators()) {
    sum += row.share();
    kernels += row.kernels();
    absl::StrAppend(&operators, row.operators(), " ");
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(kernels, report.kernels());
  EXPECT_THAT(operators, AllOf(HasSubstr("Conv"), HasSubstr("Relu")));
  const auto text = RunTartan({"bench", Digits(), "--count", "2", "--profile", "--random"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("roofline"), HasSubstr(report.profile(0).kernel())));
}

TEST(Program, ASecondProcessCompilesNothing) {
  const std::vector<std::string> arguments = {"run",      Digits(), "--input", Seven(),
                                              "--format", "json",   "--tier",  "exact"};
  RunTartan(arguments);
  const auto report = ParseJson<proto::RunReport>(RunTartan(arguments));
  EXPECT_EQ(report.cache().misses(), 0);
  EXPECT_GT(report.cache().hits(), 0);
}

TEST(Program, CacheReportsJsonAndClears) {
  const ProgramOptions own{
      {"TARTAN_CACHE_DIR=" + ::testing::TempDir() + "program_test_cache"}, "", false, 0, ""};
  RunTartan({"run", Digits(), "--input", Seven(), "--tier", "exact"}, own);
  const auto full = RunTartan({"cache", "--format", "json"}, own);
  ExpectFields(full, {"entries", "bytes", "limit_bytes"});
  EXPECT_GT(ParseJson<proto::CacheReport>(full).entries(), 0);
  const auto cleared =
      ParseJson<proto::CacheReport>(RunTartan({"cache", "clear", "--format", "json"}, own));
  EXPECT_GT(cleared.removed(), 0);
  EXPECT_EQ(cleared.entries(), 0);
}

TEST(Program, TuneReportsJsonAndChangesNoAnswer) {
  const TemporaryDirectory cache;
  ProgramOptions own;
  own.environment = {"TARTAN_CACHE_DIR=" + cache.path()};
  const auto result = RunTartan(
      {"tune", Digits(), "--top", "2", "--count", "3", "--quiet", "--format", "json"}, own);
  const auto report = ParseJson<proto::TuneReport>(result);
  ExpectFields(result, {"kernels", "name", "before_ms", "after_ms", "tried"});
  ASSERT_GT(report.kernels_size(), 0);
  for (const auto& kernel : report.kernels()) {
    EXPECT_GE(kernel.tried(), 1);
    EXPECT_LE(kernel.tried(), 2);
    EXPECT_GT(kernel.before_ms(), 0);
    EXPECT_LE(kernel.after_ms(), kernel.before_ms());
    EXPECT_EQ(kernel.problems_size(), 0) << kernel.problems(0);
  }
  const auto run = ParseJson<proto::RunReport>(
      RunTartan({"run", Digits(), "--input", Seven(), "--topk", "1", "--format", "json"}, own));
  EXPECT_EQ(run.outputs(0).top(0).index(), 7);
}

TEST(Program, QuantizeWritesAModelThatAnswersTheSame) {
  const TemporaryDirectory folder;
  const std::string small = folder.path() + "/small.onnx";
  const auto result = RunTartan({"quantize", Digits(), "--weights", "int8", "-o", small, "--input",
                                 Seven(), "--format", "json"});
  const auto report = ParseJson<proto::QuantizeReport>(result);
  ExpectFields(result, {"tensors", "name", "bits", "max_error", "bytes_before", "bytes_after"});
  ASSERT_GT(report.tensors_size(), 0);
  EXPECT_EQ(report.tensors(0).bits(), 8);
  EXPECT_LT(report.bytes_after(), report.bytes_before());
  ASSERT_EQ(report.outputs_size(), 1);
  EXPECT_GT(report.outputs(0).relative_error(), 0);
  EXPECT_LT(report.outputs(0).relative_error(), 0.05);
  const auto run = ParseJson<proto::RunReport>(
      RunTartan({"run", small, "--input", Seven(), "--topk", "1", "--format", "json"}));
  EXPECT_EQ(run.outputs(0).top(0).index(), 7);
}

TEST(Program, QuantizeTellsWhatIsWrongWithItsInputs) {
  const TemporaryDirectory folder;
  const std::string small = folder.path() + "/small.onnx";
  ExpectFailure(RunTartan({"quantize", Digits(), "-o", small}), 2, "--weights");
  ExpectFailure(RunTartan({"quantize", Digits(), "--weights", "int5", "-o", small}), 2, "int5");
  ExpectFailure(
      RunTartan({"quantize", Digits(), "--weights", "int8", "-o", small, "--block", "24"}), 2,
      "24");
  ExpectFailure(RunTartan({"quantize", Digits(), "--weights", "int8", "-o",
                           folder.path() + "/missing/small.onnx"}),
                6, "missing");
}

TEST(Program, UsageErrorsEndWith2) {
  ExpectFailure(RunTartan({}), 2, "--help");
  ExpectFailure(RunTartan({"frobnicate"}), 2, "frobnicate");
  ExpectFailure(RunTartan({"run"}), 2, "model");
  ExpectFailure(RunTartan({"run", Digits(), "--frobnicate"}), 2, "--frobnicate");
  ExpectFailure(RunTartan({"devices", "--format", "xml"}), 2, "xml");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x"}), 2, "'x' is not of the form");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=seven"}), 2, "'seven' is not a value");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "y=rand"}), 2,
                "no input 'y'; the inputs are x");
  ExpectFailure(RunTartan({"run", Digits()}), 2, "input 'x' is missing");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=rand"}), 2, "--shape x=1x1x28x28");
  ExpectFailure(RunTartan({"run", Digits(), "--random", "--shape", "x=1x3x28x28"}), 2,
                "contradicts");
  ExpectFailure(RunTartan({"run", Digits(), "--input", Seven(), "--output", "y=a.npy"}), 2,
                "'y'; the outputs are scores");
  ExpectFailure(RunTartan({"run", Digits(), "--input", Seven(), "--output", "scores=a.txt"}), 2,
                ".npy or .pb");
}

TEST(Program, WrongShapesAndTypesEndWith2) {
  const std::string path = ::testing::TempDir() + "program_test_wrong.npy";
  ASSERT_TRUE(WriteTensor(path, "x", HostTensor::Zeros({DataType::kFloat64, {1, 1, 28, 28}})).ok());
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@" + path}), 2,
                "is float64[1, 1, 28, 28], but the input is x: float32[N, 1, 28, 28]");
  ASSERT_TRUE(WriteTensor(path, "x", HostTensor::Zeros({DataType::kFloat32, {28, 28}})).ok());
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@" + path}), 2, "float32[28, 28]");
}

TEST(Program, MissingDevicesEndWith4) {
  const ProgramResult none =
      RunTartan({"run", Digits(), "--input", Seven(), "--device", "warp drive"});
  ExpectFailure(none, 4, "no device matches 'warp drive'");
  const ProgramOptions no_platform{{"OCL_ICD_VENDORS=/nonexistent/"}, "", false, 0, ""};
  ExpectFailure(RunTartan({"devices"}, no_platform), 4, "apt-get install pocl-opencl-icd");
  const ProgramOptions by_name{{"TARTAN_DEVICE=99"}, "", false, 0, ""};
  ExpectFailure(RunTartan({"run", Digits(), "--input", Seven()}, by_name), 4, "'99'");
}

TEST(Program, InspectWritesAPageThatNeedsNothingElse) {
  const std::string path = ::testing::TempDir() + "program_test_page.html";
  EXPECT_EQ(RunTartan({"inspect", Digits(), "--html", path}).exit_code, 0);
  std::ifstream file(path);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* part :
       {"<!doctype html>", "<h2>Graph", ">Conv</text>", "<h2>Kernels", "<h2>Memory", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

TEST(Program, FilesThatCannotBeReadOrWrittenEndWith6) {
  ExpectFailure(RunTartan({"run", "/no/such/model.onnx"}), 6, "/no/such/model.onnx");
  ExpectFailure(RunTartan({"run", SourcePath("examples")}), 6, "is a folder");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@/no/such.png"}), 6, "/no/such.png");
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@" + SourcePath("README.md")}), 2,
                "an input file must be .npy, .pb, .png, .jpg or .bin");
  ExpectFailure(RunTartan({"run", Digits(), "--input", Seven(), "--labels", "/no/such.txt"}), 6,
                "/no/such.txt");
  ExpectFailure(
      RunTartan({"run", Digits(), "--input", Seven(), "--output", "scores=/no/such/folder/y.npy"}),
      6, "/no/such/folder/y.npy");
  ExpectFailure(RunTartan({"verify", "/no/such/folder"}), 6, "/no/such/folder");
}

TEST(Program, DamagedInputFilesEndWith6) {
  const std::string npy = ::testing::TempDir() + "program_test_damaged.npy";
  ASSERT_TRUE(WriteFile(npy, "\x93NUMPY").ok());
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@" + npy}), 6,
                "not a valid NumPy array file");
  const std::string png = ::testing::TempDir() + "program_test_damaged.png";
  ASSERT_TRUE(WriteFile(png, "\x89PNG\r\n\x1a\n").ok());
  ExpectFailure(RunTartan({"run", Digits(), "--input", "x=@" + png}), 6, "damaged");
}

TEST(Program, AFullDiskAndAGoneReaderEndWith6) {
  ProgramOptions full;
  full.stdout_path = "/dev/full";
  ExpectFailure(RunTartan({"devices"}, full), 6, "No space left on device");
  ProgramOptions gone;
  gone.close_stdout = true;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"devices"},
                                             {"--help"},
                                             {"inspect", Digits(), "--format", "json", "--quiet"},
                                             {"run", Digits(), "--input", Seven()},
                                             {"cache"}}) {
    ExpectFailure(RunTartan(command, gone), 6, "the reader of standard output has gone away");
  }
}

TEST(Program, AnInterruptEndsWith130) {
  ProgramOptions options;
  options.interrupt_signal = SIGINT;
  options.interrupt_at = "measuring";
  const auto result = RunTartan({"bench", Digits(), "--time", "3600", "-v"}, options);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("tartan: interrupted"));
}

TEST(Program, HelpShowsAnExample) {
  for (const std::string command :
       {"devices", "inspect", "run", "verify", "bench", "tune", "quantize", "cache"}) {
    const auto result = RunTartan({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Usage: tartan " + command + " [OPTIONS]"));
    EXPECT_THAT(result.out, HasSubstr("Example:\n  tartan " + command));
  }
  EXPECT_THAT(RunTartan({"--help"}).out, HasSubstr("Example:\n"));
  EXPECT_THAT(RunTartan({"--version"}).out, StartsWith("tartan "));
}

}  // namespace
}  // namespace tartan::cli
