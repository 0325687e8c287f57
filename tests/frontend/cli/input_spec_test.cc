// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/input_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/model_inputs.h"
#include "frontend/cli/process/exit_code.h"

namespace tartan::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

api::TensorSpec Input(std::string name, DataType type, std::vector<int64_t> dims) {
  api::TensorSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.dims = std::move(dims);
  return spec;
}

const std::vector<api::TensorSpec>& TwoInputs() {
  static const auto& inputs = *new std::vector<api::TensorSpec>{
      Input("x", DataType::kFloat32, {-1, 3}), Input("ids", DataType::kInt64, {2})};
  return inputs;
}

absl::StatusOr<HostTensor> Make(const std::string& text, const api::TensorSpec& input) {
  const auto spec = ParseInputSpec(text);
  if (!spec.ok()) return spec.status();
  const auto value = MakeInput(*spec, input);
  if (!value.ok()) return value.status();
  return value->tensor();
}

struct TemporaryFile {
  explicit TemporaryFile(const std::string& name) : path(::testing::TempDir() + name) {}
  ~TemporaryFile() { std::remove(path.c_str()); }
  const std::string path;
};

TEST(InputSpec, FillsWithANumber) {
  const auto x = Input("x", DataType::kFloat32, {2});
  EXPECT_THAT(Make("zeros", x)->ToDoubles(), ElementsAre(0, 0));
  EXPECT_THAT(Make("ones", x)->ToDoubles(), ElementsAre(1, 1));
  EXPECT_THAT(Make("-2.5", x)->ToDoubles(), ElementsAre(-2.5, -2.5));
}

TEST(InputSpec, DoesNotRoundANumberForAnIntegerInput) {
  const auto ids = Input("ids", DataType::kInt64, {1});
  EXPECT_THAT(Make("3", ids)->ToInts(), ElementsAre(3));
  EXPECT_THAT(std::string(Make("2.5", ids).status().message()), HasSubstr("int64"));
}

TEST(InputSpec, KeepsEveryBitOfAnInteger) {
  const auto ids = Input("ids", DataType::kInt64, {1});
  for (const char* text :
       {"9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_EQ(absl::StrCat(Make(text, ids)->GetInt(0)), text);
  }
  const auto hashes = Input("hashes", DataType::kUInt64, {1});
  const auto most = Make("18446744073709551615", hashes);
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(static_cast<uint64_t>(most->GetInt(0)), std::numeric_limits<uint64_t>::max());
}

TEST(InputSpec, RefusesNumbersThatTheTypeDoesNotHold) {
  struct Case {
    DataType type;
    std::vector<std::string> held;
    std::vector<std::string> not_held;
  };
  for (const Case& one : std::vector<Case>{
           {DataType::kBool, {"0", "1", "1.0"}, {"2", "-1", "0.5", "nan"}},
           {DataType::kUInt8, {"0", "255", "1e2"}, {"-1", "256", "inf"}},
           {DataType::kInt8, {"-128", "127"}, {"-129", "128"}},
           {DataType::kUInt16, {"65535"}, {"-1", "65536"}},
           {DataType::kInt16, {"-32768", "32767"}, {"-32769", "32768"}},
           {DataType::kUInt32, {"4294967295"}, {"-1", "4294967296"}},
           {DataType::kInt32, {"-2147483648", "2147483647"}, {"-2147483649", "2147483648"}},
           {DataType::kInt64, {"-9223372036854775808"}, {"9223372036854775808", "1e30"}},
           {DataType::kUInt64, {"9223372036854775808"}, {"-1", "18446744073709551616"}},
           {DataType::kFloat16, {"65504", "inf", "nan"}, {"65520", "-1e9"}},
           {DataType::kBFloat16, {"1e38"}, {"3.4e38"}},
           {DataType::kFloat32, {"3e38", "-inf"}, {"1e39"}},
           {DataType::kFloat64, {"1e308"}, {}}}) {
    const auto x = Input("x", one.type, {2});
    for (const std::string& text : one.held) EXPECT_TRUE(Make(text, x).ok()) << text;
    for (const std::string& text : one.not_held) {
      const auto made = Make(text, x);
      EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << text;
      EXPECT_THAT(std::string(made.status().message()),
                  AllOf(HasSubstr("input 'x' is " + std::string(Name(one.type))), HasSubstr(text)));
    }
  }
  EXPECT_FALSE(ParseInputSpec("1e309").ok());
}

TEST(InputSpec, RefusesANumberForWhatIsNoNumber) {
  auto words = Input("words", DataType::kInt64, {2});
  words.element = api::Element::kString;
  EXPECT_TRUE(MakeInput(*ParseInputSpec("zeros"), words).ok());
  EXPECT_FALSE(MakeInput(*ParseInputSpec("3"), words).ok());
}

TEST(InputSpec, NamesMayHoldEqualSigns) {
  const std::vector<std::string> names = {"a", "a=b", "=c"};
  const auto split = [&](const char* text) {
    const auto named = SplitNamed(text, "NAME=SPEC", names);
    return named.ok() ? named->name + "|" + named->text : std::string(named.status().message());
  };
  EXPECT_EQ(split("a=1"), "a|1");
  EXPECT_EQ(split("a=b=1"), "a=b|1");
  EXPECT_EQ(split("a=bc"), "a|bc");
  EXPECT_EQ(split("a=b"), "a|b");
  EXPECT_EQ(split("=c=1"), "=c|1");
  EXPECT_EQ(split("d=e=f"), "d|e=f");
  EXPECT_EQ(split("a"), "'a' is not of the form NAME=SPEC");
  EXPECT_EQ(split("=1"), "'=1' is not of the form NAME=SPEC");
}

TEST(InputSpec, RandomNumbersFollowSeedAndName) {
  const auto x = Input("x", DataType::kFloat32, {100});
  const auto y = Input("y", DataType::kFloat32, {100});
  EXPECT_EQ(Make("rand", x)->bytes(), Make("rand:0", x)->bytes());
  EXPECT_NE(Make("rand:1", x)->bytes(), Make("rand:2", x)->bytes());
  EXPECT_NE(Make("rand:1", x)->bytes(), Make("rand:1", y)->bytes());
  for (const double value : Make("rand", x)->ToDoubles()) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
  }
  for (const int64_t id : Make("rand", Input("ids", DataType::kInt64, {100}))->ToInts()) {
    EXPECT_TRUE(id == 0 || id == 1) << id;
  }
}

TEST(InputSpec, AsksForTheSizesThatAreOpen) {
  const auto x = Input("x", DataType::kFloat32, {-1, 3});
  EXPECT_THAT(std::string(Make("rand", x).status().message()), HasSubstr("--shape x=1x3"));
}

TEST(InputSpec, MakesNothingThatIsTooLarge) {
  const auto x = Input("x", DataType::kFloat32, {int64_t{1} << 40});
  EXPECT_EQ(Make("ones", x).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(InputSpec, RefusesOtherWords) {
  for (const char* text : {"", "@", "random", "rand:", "rand:x", "1e", "x.npy"}) {
    EXPECT_EQ(ParseInputSpec(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(InputSpec, ReadsTensorFilesOfBothKinds) {
  const HostTensor value =
      HostTensor::FromVector<float>({DataType::kFloat32, {2, 3}}, {1, 2, 3, 4, 5, 6});
  for (const char* name : {"input_spec_test.npy", "input_spec_test.pb"}) {
    const TemporaryFile file(name);
    ASSERT_TRUE(WriteTensor(file.path, "x", value).ok());
    const auto read = Make("@" + file.path, TwoInputs()[0]);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->bytes(), value.bytes());
    const auto wrong = Make("@" + file.path, TwoInputs()[1]);
    EXPECT_THAT(std::string(wrong.status().message()),
                HasSubstr("is float32[2, 3], but the input is ids: int64[2]"));
  }
}

TEST(InputSpec, RawFilesDecideOneOpenSize) {
  const TemporaryFile file("input_spec_test.bin");
  ASSERT_TRUE(WriteFile(file.path, std::string(24, '\0')).ok());
  const auto read = Make("@" + file.path, TwoInputs()[0]);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->shape().dims, ElementsAre(2, 3));
  EXPECT_THAT(std::string(Make("@" + file.path, TwoInputs()[1]).status().message()),
              HasSubstr("24 bytes, but int64[2] has 16"));
}

TEST(InputSpec, AMissingFileIsAFileError) {
  const auto read = Make("@/does/not/exist.npy", TwoInputs()[0]);
  EXPECT_EQ(ExitCodeFor(read.status()), ExitCode::kFile);
}

TEST(ParseDims, ReadsSizes) {
  EXPECT_THAT(*ParseDims("1x3x224"), ElementsAre(1, 3, 224));
  EXPECT_THAT(*ParseDims("scalar"), ElementsAre());
  for (const char* text : {"", "1x", "x1", "1,2", "-1", "1xN"}) {
    EXPECT_FALSE(ParseDims(text).ok()) << text;
  }
}

TEST(MakeInputs, NamesTheInputsThatThereAre) {
  InputOptions options;
  options.inputs = {"z=rand"};
  const auto made = MakeInputs(TwoInputs(), options);
  EXPECT_EQ(ExitCodeFor(made.status()), ExitCode::kUsage);
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("no input 'z'; the inputs are x: float32[?, 3], ids: int64[2]"));
}

TEST(MakeInputs, CountsTheInputsThatNeedNotBeGiven) {
  std::vector<api::TensorSpec> inputs = TwoInputs();
  inputs[1].is_optional = true;
  EXPECT_EQ(ListInputs(inputs), "x: float32[?, 3], 1 input with a value in the model");
}

TEST(MakeInputs, AMissingInputIsAnErrorUnlessRandom) {
  InputOptions options;
  options.shapes = {"x=4x3"};
  options.inputs = {"ids=1"};
  EXPECT_THAT(std::string(MakeInputs(TwoInputs(), options).status().message()),
              HasSubstr("input 'x' is missing"));
  options.random = true;
  const auto made = MakeInputs(TwoInputs(), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->at("x").tensor().shape().dims, ElementsAre(4, 3));
}

TEST(MakeInputs, RefusesSizesThatContradictTheModel) {
  InputOptions options;
  options.shapes = {"ids=3"};
  EXPECT_THAT(std::string(MakeInputs(TwoInputs(), options).status().message()),
              HasSubstr("--shape ids: [3] contradicts ids: int64[2]"));
}

TEST(MakeInputs, BatchFixesOnlyOpenFirstSizes) {
  InputOptions options;
  options.random = true;
  options.batch = 16;
  const auto made = MakeInputs(TwoInputs(), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->at("x").tensor().shape().dims, ElementsAre(16, 3));
  EXPECT_THAT(made->at("ids").tensor().shape().dims, ElementsAre(2));
}

TEST(MakeInputs, RefusesABatchThatNoInputHas) {
  const api::TensorSpec image = Input("x", DataType::kFloat32, {1, 3});
  const api::TensorSpec number = Input("n", DataType::kInt64, {});
  InputOptions options;
  options.random = true;
  options.batch = 32;
  const auto refused = MakeInputs({image, number}, options);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("--batch 32: no input leaves its first size open: x: float32[1, 3]"));
  options.batch = 1;
  EXPECT_TRUE(MakeInputs({image, number}, options).ok());
}

TEST(MakeInputs, OpenSizesAreOneWhereAskedForAndToldSo) {
  InputOptions options;
  options.random = true;
  EXPECT_FALSE(MakeInputs(TwoInputs(), options).ok());
  options.open_is_one = true;
  std::string note;
  const auto made = MakeInputs(TwoInputs(), options, &note);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->at("x").tensor().shape().dims, ElementsAre(1, 3));
  EXPECT_EQ(note,
            "open sizes are taken as 1: x: float32[1, 3]; give other sizes with --shape, for "
            "example --shape x=1x3");
  options.shapes = {"x=2x3"};
  std::string no_note;
  EXPECT_TRUE(MakeInputs(TwoInputs(), options, &no_note).ok());
  EXPECT_EQ(no_note, "");
}

TEST(MakeInputs, AFileTellsTheSizesThatOthersHaveInCommonWithIt) {
  const TemporaryFile file("input_spec_test_batch.npy");
  ASSERT_TRUE(WriteTensor(file.path, "x", HostTensor::Zeros({DataType::kFloat32, {4, 3}})).ok());
  std::vector<api::TensorSpec> inputs = TwoInputs();
  inputs[0].dim_names = {"N", ""};
  inputs[1].dims = {-1};
  inputs[1].dim_names = {"N"};
  InputOptions options;
  options.random = true;
  options.open_is_one = true;
  options.inputs = {"x=@" + file.path};
  const auto from_file = MakeInputs(inputs, options);
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  EXPECT_THAT(from_file->at("ids").tensor().shape().dims, ElementsAre(4));
  options.inputs = {"ids=1"};
  options.shapes = {"x=5x3"};
  const auto from_shape = MakeInputs(inputs, options);
  ASSERT_TRUE(from_shape.ok()) << from_shape.status();
  EXPECT_THAT(from_shape->at("ids").tensor().shape().dims, ElementsAre(5));
}

TEST(FixShapes, ASizeIsGivenByItsName) {
  std::vector<api::TensorSpec> inputs = TwoInputs();
  inputs[0].dim_names = {"batch size", ""};
  inputs[1].dims = {-1};
  inputs[1].dim_names = {"batch size"};
  InputOptions options;
  options.shapes = {"batch size=5"};
  const auto fixed = FixShapes(inputs, options);
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_THAT((*fixed)[0].dims, ElementsAre(5, 3));
  EXPECT_THAT((*fixed)[1].dims, ElementsAre(5));
  // Options may come in any order, and an input's shape may already give the size.
  options.shapes = {"batch size=5", "x=5x3"};
  EXPECT_TRUE(FixShapes(inputs, options).ok());
  options.shapes = {"batch size=5", "x=4x3"};
  EXPECT_THAT(std::string(FixShapes(inputs, options).status().message()),
              HasSubstr("--shape batch size=5 contradicts x: float32[4, 3]"));
  // A name shared by an input and a dimension means the input.
  inputs[1].dim_names = {"x"};
  options.shapes = {"x=4x3"};
  EXPECT_THAT((*FixShapes(inputs, options))[1].dims, ElementsAre(-1));
}

TEST(MakeInputs, RefusesAnInputGivenTwice) {
  InputOptions options;
  options.inputs = {"ids=0", "ids=1"};
  EXPECT_THAT(std::string(MakeInputs(TwoInputs(), options).status().message()),
              HasSubstr("more than once"));
}

}  // namespace
}  // namespace tartan::cli
