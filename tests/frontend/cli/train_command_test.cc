// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan train` through the command line: its output, interruption, resumption, and
// messages for unsuitable data.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/pages/loss_plot.h"
#include "frontend/data/npy.h"
#include "frontend/data/picture.h"
#include "frontend/onnx/model/onnx_model.h"
#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/data/data_files.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string Initializer(const std::string& name, const std::string& dims, int count) {
  std::string text = absl::StrCat(" initializer { name: '", name, "' data_type: 1 ", dims, " ");
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "float_data: ", (i * 37 % 19 - 9) / 16.0, " ");
  }
  return text + "}";
}

// The model of three scores from x[N, 4] by one layer, and their softmax.
std::string Model() {
  return onnx::ModelBytes(absl::StrCat(
      "producer_name: 'a test' graph { name: 'linear' ", ValueText("input", "x", 1, "N 4"),
      ValueText("output", "p", 1, "N 3"), Initializer("w", "dims: 4 dims: 3", 12),
      Initializer("b", "dims: 3", 3), NodeText("MatMul", {"x", "w"}, {"h"}),
      NodeText("Add", {"h", "b"}, {"y"}), NodeText("Softmax", {"y"}, {"p"}), "}"));
}

class TrainCommand : public testing::Test {
 protected:
  // Writes 60 examples, each with the index of its maximum element as its class.
  void SetUp() override {
    std::vector<float> x;
    std::vector<int64_t> y;
    for (int i = 0; i < 60; ++i) {
      y.push_back(i % 3);
      for (int k = 0; k < 4; ++k)
        x.push_back(k == i % 3 ? 1.0f : static_cast<float>(i * 7 % 5) / 8);
    }
    Write("x.npy", *data::FormatNpy(HostTensor::FromVector({DataType::kFloat32, {60, 4}}, x)));
    Write("y.npy", *data::FormatNpy(HostTensor::FromVector({DataType::kInt64, {60}}, y)));
    Write("model.onnx", Model());
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& contents) const {
    ASSERT_TRUE(WriteFile(Path(name), contents).ok());
  }
  std::string Data() const { return absl::StrCat("x=", Path("x.npy"), ",y=", Path("y.npy")); }
  std::vector<std::string> Arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"train", Path("model.onnx"), "--data", Data(), "--batch", "10"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const TemporaryDirectory folder_;
};

TEST_F(TrainCommand, WritesABetterModel) {
  const ProgramResult result = RunTartan(Arguments(
      {"--epochs", "20", "--lr", "0.05", "--val", "0.2", "--export", Path("out.onnx"), "--log",
       Path("log.jsonl"), "--page", Path("page.html"), "--plot", Path("plot.png")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Epoch 20/20"));
  EXPECT_THAT(result.err, HasSubstr("the loss sees 'y'"));
  const std::vector<std::string> lines =
      absl::StrSplit(ReadAll(Path("log.jsonl")), '\n', absl::SkipEmpty());
  proto::TrainStepReport first;
  proto::TrainReport last;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(lines.front(), &first).ok());
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(lines.back(), &last).ok());
  EXPECT_GT(first.memory().parameters(), 0);
  EXPECT_EQ(first.memory().peak(), first.memory().parameters() + first.memory().state() +
                                       first.memory().kept() + first.memory().batch() +
                                       first.memory().scratch() + first.memory().constants());
  EXPECT_THAT(result.err, HasSubstr("memory "));
  EXPECT_THAT(result.err, HasSubstr("kept values "));
  EXPECT_TRUE(last.done());
  EXPECT_EQ(last.steps(), 100);  // 48 examples make four full batches and one of 8; 20 epochs
  EXPECT_EQ(last.metrics().at("val_accuracy"), 1);
  EXPECT_LT(last.metrics().at("loss"), first.loss() / 2);
  EXPECT_THAT(ReadAll(Path("page.html")), AllOf(HasSubstr("val_loss"), HasSubstr("</html>")));
  const std::string plot = ReadAll(Path("plot.png"));
  const auto picture =
      data::DecodePng({reinterpret_cast<const uint8_t*>(plot.data()), plot.size()});
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->width, kPlotWidth);
  // The saved model has the same structure and other weights.
  const auto before = onnx::OnnxModel::Load(Path("model.onnx"));
  const auto after = onnx::OnnxModel::Load(Path("out.onnx"));
  ASSERT_TRUE(before.ok() && after.ok()) << after.status();
  EXPECT_EQ((*after)->producer(), "a test");
  EXPECT_EQ((*after)->inputs().front().ToString(), (*before)->inputs().front().ToString());
  EXPECT_NE((*after)->Initializer("w")->ToDoubles(), (*before)->Initializer("w")->ToDoubles());
}

// The device warns as in every command (tile_command_test); CPUs have no tf32.
TEST_F(TrainCommand, PassesPrecisionsOfMatmulsToTheDevice) {
  for (const std::string precision : {"tf32", "bfloat16", "float16", "float32"}) {
    const ProgramResult result = RunTartan(Arguments(
        {"--steps", "3", "--val", "0.2", "--device", "pthread", "--precision", precision}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err.find("--precision tf32 changes nothing") != std::string::npos,
              precision == "tf32")
        << result.err;
  }
  EXPECT_THAT(RunTartan(Arguments({"--precision", "int8"})).err,
              HasSubstr("the precisions are float32, bfloat16 and float16, or tf32"));
}

// The model x[N, 4] times a small w, plus b. Its logits of `labels` labels predict 0 for every x.
std::string AlwaysZero(int labels) {
  std::string bias;
  for (int i = 0; i < labels; ++i) bias += "float_data: -20 ";
  return onnx::ModelBytes(
      absl::StrCat("graph { name: 'always 0' ", ValueText("input", "x", 1, "N 4"),
                   ValueText("output", "y", 1, absl::StrCat("N ", labels)),
                   Initializer("w", absl::StrCat("dims: 4 dims: ", labels), 4 * labels),
                   " initializer { name: 'b' data_type: 1 dims: ", labels, " ", bias, "}",
                   NodeText("MatMul", {"x", "w"}, {"h"}), NodeText("Add", {"h", "b"}, {"y"}), "}"));
}

TEST_F(TrainCommand, MeasuresLabelsByAThresholdNotByTheMaximalScore) {
  // Label 0 is 1 in every second example, label 1 in every fourth, label 2 never.
  std::vector<float> one, three;
  for (int i = 0; i < 60; ++i) {
    one.push_back(static_cast<float>(i % 2));
    three.insert(three.end(), {static_cast<float>(i % 2), i % 4 == 1 ? 1.0f : 0.0f, 0.0f});
  }
  for (const int labels : {1, 3}) {
    Write("labels.npy", *data::FormatNpy(HostTensor::FromVector({DataType::kFloat32, {60, labels}},
                                                                labels == 1 ? one : three)));
    Write("zero.onnx", AlwaysZero(labels));
    const std::string data = absl::StrCat("x=", Path("x.npy"), ",y=", Path("labels.npy"));
    const ProgramResult result =
        RunTartan({"train", Path("zero.onnx"), "--data", data, "--val-data", data, "--steps", "1",
                   "--lr", "1e-6", "--loss", "binary_cross_entropy", "--metrics",
                   "accuracy,label_accuracy,f1,f1_micro,f1_macro", "--log", Path("log.jsonl")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::vector<std::string> lines =
        absl::StrSplit(ReadAll(Path("log.jsonl")), '\n', absl::SkipEmpty());
    proto::TrainReport last;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(lines.back(), &last).ok());
    EXPECT_EQ(last.metrics().at("val_accuracy"), 0.5);
    EXPECT_EQ(last.metrics().at("val_label_accuracy"), labels == 1 ? 0.5 : 0.75);
    EXPECT_EQ(last.metrics().at("val_f1"), 0);
    // Both classes of a single label count: 30 of 60 examples are correct, all of class 0.
    EXPECT_EQ(last.metrics().at("val_f1_micro"), labels == 1 ? 0.5 : 0);
    EXPECT_NEAR(last.metrics().at("val_f1_macro"), labels == 1 ? 1.0 / 3 : 0, 1e-12);
  }
}

TEST_F(TrainCommand, NamesTheMetricsBeforeTheFirstStep) {
  const ProgramResult result = RunTartan(Arguments({"--metrics", "f2", "--val", "0.2"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("label_accuracy"));
  EXPECT_THAT(result.out, Not(HasSubstr("Epoch")));
}

TEST_F(TrainCommand, EvaluatesAModelAsTheRunThatTrainedItDid) {
  const ProgramResult trained =
      RunTartan(Arguments({"--val-data", Data(), "--metrics", "accuracy,auc,f1_per_class",
                           "--epochs", "2", "--export", Path("tuned.onnx")}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto evaluate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "train",     Path("tuned.onnx"),         "--data", Data(), "--eval",
        "--metrics", "accuracy,auc,f1_per_class"};
    all.insert(all.end(), more.begin(), more.end());
    return RunTartan(all);
  };
  const std::string before = ReadAll(Path("tuned.onnx"));
  const ProgramResult evaluated = evaluate({"--batch", "7"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out,
              ContainsRegex("^val_accuracy [01]\\.[0-9]+  val_auc [0-9.]+  val_f1_0 [0-9.]+  "
                            "val_f1_1 [0-9.]+  val_f1_2 [0-9.]+  val_loss [0-9.]+\n$"));
  // The values are those of the last line of training.
  const std::string values = evaluated.out.substr(0, evaluated.out.size() - 1);
  EXPECT_THAT(trained.out, HasSubstr(values));
  EXPECT_THAT(evaluated.err, Not(HasSubstr("compiled in")));
  EXPECT_EQ(ReadAll(Path("tuned.onnx")), before);
  const ProgramResult json = evaluate({"--format", "json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"val_auc\":"), HasSubstr("\"steps\":0"),
                              HasSubstr("\"done\":true")));
  EXPECT_EQ(evaluate({"--export", Path("again.onnx")}).exit_code, 2);
}

TEST_F(TrainCommand, GoesOnBitForBitWhereItWasInterrupted) {
  const std::vector<std::string> common = {"--epochs", "30", "--seed", "3", "--log-every", "1"};
  const auto run = [&](std::vector<std::string> more, const ProgramOptions& options = {}) {
    more.insert(more.begin(), common.begin(), common.end());
    return RunTartan(Arguments(more), options);
  };
  const ProgramResult straight =
      run({"--checkpoint", Path("straight"), "--export", Path("straight.onnx")});
  ASSERT_EQ(straight.exit_code, 0) << straight.err;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(absl::StrCat("signal ", number));
    const std::string folder = Path(absl::StrCat("broken", number));
    ProgramOptions options;
    options.interrupt_signal = number;
    options.interrupt_at = "training";
    const ProgramResult stopped = run({"--checkpoint", folder}, options);
    EXPECT_THAT(stopped.exit_code, testing::AnyOf(130, 0)) << stopped.err;
    EXPECT_TRUE(std::filesystem::exists(folder + "/last.ckpt"));
    const ProgramResult resumed =
        run({"--checkpoint", folder, "--resume", "--export", folder + ".onnx"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(ReadAll(folder + ".onnx"), ReadAll(Path("straight.onnx")));
  }
}

TEST_F(TrainCommand, ACheckpointIsNeitherOverwrittenNorMixed) {
  ASSERT_EQ(RunTartan(Arguments({"--steps", "3", "--checkpoint", Path("c")})).exit_code, 0);
  const ProgramResult again = RunTartan(Arguments({"--steps", "3", "--checkpoint", Path("c")}));
  EXPECT_EQ(again.exit_code, 6);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
  const ProgramResult other = RunTartan(
      Arguments({"--steps", "3", "--checkpoint", Path("c"), "--resume", "--optimizer", "sgd"}));
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_THAT(other.err, HasSubstr("belongs to another run: the optimizer is 'sgd', in the "
                                   "checkpoint it is 'adamw'"));
  std::string bytes = ReadAll(Path("c/last.ckpt"));
  bytes[bytes.size() - 3] ^= 1;
  Write("c/last.ckpt", bytes);
  const ProgramResult damaged =
      RunTartan(Arguments({"--steps", "3", "--checkpoint", Path("c"), "--resume"}));
  EXPECT_EQ(damaged.exit_code, 6);
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("last.ckpt"), HasSubstr("damaged")));
  const ProgramResult nowhere = RunTartan(Arguments({"--checkpoint", "/proc/nothing"}));
  EXPECT_EQ(nowhere.exit_code, 6);
  EXPECT_THAT(nowhere.err, HasSubstr("/proc/nothing"));
}

TEST_F(TrainCommand, WritesAnEventFile) {
  const ProgramResult result = RunTartan(Arguments({"--steps", "2", "--tensorboard", Path("tb")}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(std::filesystem::is_empty(Path("tb")));
  const ProgramResult nowhere = RunTartan(Arguments({"--tensorboard", "/proc/nothing"}));
  EXPECT_EQ(nowhere.exit_code, 6);
  EXPECT_THAT(nowhere.err, HasSubstr("/proc/nothing"));
}

TEST_F(TrainCommand, EarlyStoppingWithoutValidationIsAnErrorOfUse) {
  const ProgramResult result = RunTartan(Arguments({"--patience", "2"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("needs validation data"));
}

TEST_F(TrainCommand, KeepsToAMemoryBudgetOrSaysWhatItTakes) {
  const ProgramResult within =
      RunTartan(Arguments({"--steps", "3", "--memory-budget", "64M", "--format", "json"}));
  ASSERT_EQ(within.exit_code, 0) << within.err;
  EXPECT_THAT(within.out, HasSubstr("\"recomputed_kernels\":0"));
  const ProgramResult beyond = RunTartan(Arguments({"--steps", "3", "--memory-budget", "100"}));
  EXPECT_EQ(beyond.exit_code, 7);
  EXPECT_THAT(beyond.err,
              AllOf(HasSubstr("the memory budget of 100 bytes is too small: the step needs "),
                    HasSubstr("(parameters 60, optimizer ")));
  const ProgramResult nonsense = RunTartan(Arguments({"--memory-budget", "1.5G"}));
  EXPECT_EQ(nonsense.exit_code, 2);
  EXPECT_THAT(nonsense.err, HasSubstr("'1.5G' is not a number of bytes"));
}

TEST_F(TrainCommand, SaysWhatIsWrongWithTheData) {
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& message) {
    const ProgramResult result = RunTartan(arguments);
    EXPECT_NE(result.exit_code, 0) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  Write("label.npy", *data::FormatNpy(HostTensor::FromVector({DataType::kInt64, {60}},
                                                             std::vector<int64_t>(60, 7))));
  const std::string labels = absl::StrCat("x=", Path("x.npy"), ",y=", Path("label.npy"));
  fails({"train", Path("model.onnx"), "--data", labels}, "7");
  Write("wide.npy", *data::FormatNpy(HostTensor::Zeros({DataType::kFloat32, {60, 5}})));
  const std::string wide = absl::StrCat("x=", Path("wide.npy"), ",y=", Path("y.npy"));
  fails({"train", Path("model.onnx"), "--data", wide}, "the shapes do not match");
  std::vector<float> nan(240, 0);
  nan[5] = NAN;
  Write("nan.npy", *data::FormatNpy(HostTensor::FromVector({DataType::kFloat32, {60, 4}}, nan)));
  fails({"train", Path("model.onnx"), "--data",
         absl::StrCat("x=", Path("nan.npy"), ",y=", Path("y.npy"))},
        "nan");
  fails({"train", Path("model.onnx"), "--data", Path("x.npy")},
        "no column is chosen for the target");
  fails(Arguments({"--target", "z"}), "z");
  fails(Arguments({"--loss", "nothing"}), "there is no loss 'nothing'");
  fails(Arguments({"--frozen", ".*"}), "nothing is left to train");
  fails(Arguments({"--export", "/nowhere/out.onnx"}), "/nowhere/out.onnx");
  fails(Arguments({"--plot", "/nowhere/plot.png"}), "/nowhere/plot.png");
  fails(Arguments({"--augment", "blur"}), "there is no augmentation 'blur'");
  fails(Arguments({"--augment", "flip,crop:padding=2"}),
        "no input is a picture to augment, floats [N, C, H, W]; the inputs are 'x' float32[10, 4]");
}

TEST_F(TrainCommand, TakesSizesByNameOrByInputAsIfTheModelFixedThem) {
  const auto steps_of = [&](std::vector<std::string> more) -> std::string {
    more.insert(more.begin(), {"train", Path("model.onnx"), "--data", Data(), "--epochs", "1"});
    return RunTartan(std::move(more)).out;
  };
  // 60 examples in batches of 8: the last 4 are left out, because they do not fill a batch.
  EXPECT_THAT(steps_of({"--shape", "N=8"}), ContainsRegex("steps +7,"));
  EXPECT_THAT(steps_of({"--shape", "x=8x4"}), ContainsRegex("steps +7,"));
  EXPECT_THAT(steps_of({"--batch", "8"}), ContainsRegex("steps +8,"));

  const auto error_of = [&](const std::string& shape, int exit_code) -> std::string {
    const ProgramResult result = RunTartan(
        {"train", Path("model.onnx"), "--data", Data(), "--batch", "4", "--shape", shape});
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return result.err;
  };
  EXPECT_THAT(error_of("N=8", 3), HasSubstr("the model takes batches of 8, not of 4"));
  EXPECT_THAT(error_of("x=8x5", 2), HasSubstr("--shape x: [8, 5] contradicts"));
  EXPECT_THAT(error_of("M=8", 2), HasSubstr("there is no input or open size 'M'"));
}

TEST_F(TrainCommand, WritesJsonLinesForPrograms) {
  const ProgramResult result =
      RunTartan(Arguments({"--steps", "4", "--log-every", "2", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(4)) << result.out;  // lines for steps 1, 3 and 4, and the final line
  EXPECT_THAT(lines[0], AllOf(HasSubstr("\"step\":1,"), HasSubstr("\"lr\":0.001")));
  EXPECT_THAT(lines[3], AllOf(HasSubstr("\"done\":true"), HasSubstr("\"steps\":4")));
}

}  // namespace
}  // namespace tartan::cli
