// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan train` on folders of images and masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/data/data_files.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::HasSubstr;

// A parameter of one number per score: -9/16 and 9/16.
std::string Parameter(const std::string& name, int scores, const std::string& more_dims) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 1 dims: ", scores, more_dims,
                      " float_data: -0.5625", scores > 1 ? " float_data: 0.5625 }" : " }");
}

// A folder of images and masks trains a class per pixel, or a label per pixel of one score.
TEST(TrainMasks, LearnsThemFromAFolder) {
  const TemporaryDirectory temporary;
  const auto path = [&](const std::string& name) { return temporary.path() + "/" + name; };
  const auto write = [&](const std::string& name, const std::string& contents) {
    ASSERT_TRUE(WriteFile(path(name), contents).ok());
  };
  for (const char* folder : {"set", "set/images", "set/masks"})
    std::filesystem::create_directory(path(folder));
  for (int i = 0; i < 6; ++i) {
    std::vector<uint8_t> image;
    std::vector<uint8_t> mask;
    for (int pixel = 0; pixel < 12; ++pixel) {
      const int level = (pixel * 5 + i * 7) % 3;
      image.push_back(static_cast<uint8_t>(level * 127));
      mask.push_back(level == 2 ? 255 : 0);
    }
    write(absl::StrCat("set/images/", i, ".png"),
          data::EncodePng(4, 3, PNG_FORMAT_GRAY, image.data()));
    write(absl::StrCat("set/masks/", i, ".png"),
          data::EncodePng(4, 3, PNG_FORMAT_GRAY, mask.data()));
  }
  for (const int scores : {1, 2}) {
    write("pixels.onnx",
          onnx::ModelBytes(absl::StrCat(
              "graph { name: 'pixels' ", ValueText("input", "x", 1, "N 1 3 4"),
              ValueText("output", "y", 1, absl::StrCat("N ", scores, " 3 4")),
              Parameter("w", scores, " dims: 1 dims: 1 dims: 1"), Parameter("b", scores, ""),
              NodeText("Conv", {"x", "w", "b"}, {"y"}), "}")));
    std::vector<std::string> arguments = {
        "train",         path("pixels.onnx"),
        "--data",        path("set"),
        "--mask-values", "0/255",
        "--batch",       "3",
        "--epochs",      "60",
        "--lr",          "0.1",
        "--val-data",    path("set"),
        "--metrics",     "iou,dice",
        "--loss",        scores == 1 ? "dice" : "softmax_cross_entropy"};
    const ProgramResult result = RunTartan(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("val_dice 1.0000  val_iou 1.0000"));
    arguments.insert(arguments.end(), {"--augment", "noise,flip"});
    EXPECT_THAT(RunTartan(arguments).err, HasSubstr("do not change the target 'y'"));
  }
  EXPECT_THAT(
      RunTartan({"train", path("pixels.onnx"), "--data", path("set"), "--mask-values", "0/256"})
          .err,
      HasSubstr("'256' is not a number from 0 to 255"));
  // Without the option, the label 255 is out of range.
  EXPECT_THAT(RunTartan({"train", path("pixels.onnx"), "--data", path("set")}).err,
              HasSubstr("label 255 is not in [0, 2)"));
}

}  // namespace
}  // namespace tartan::cli
