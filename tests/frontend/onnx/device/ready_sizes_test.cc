// SPDX-License-Identifier: Apache-2.0
// Tests of operators that read or write at computed positions. In a session with ready
// (dynamic-shape) kernels, new sizes use the existing kernels.
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"
#include "tests/frontend/onnx/run_text_model.h"

namespace tartan::onnx::ready_sizes_test {
namespace {

using Dims = std::vector<int64_t>;

// The sizes of a case.
struct Dims2 {
  int64_t a, b;
};
struct Dims3 {
  int64_t a, b, c;
};

// Provides random values; each test has a fixed seed, so that failures repeat.
class ReadySizes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  }

  HostTensor Floats(const Dims& dims, double least = -1, double greatest = 1) {
    std::uniform_real_distribution<double> numbers(least, greatest);
    return Drawn(dims, DataType::kFloat32, [&] { return numbers(random_); });
  }
  // Values from -size to size - 1, with repetitions. Negative positions count from the end.
  HostTensor Positions(const Dims& dims, int64_t size) {
    std::uniform_int_distribution<int64_t> numbers(-size, size - 1);
    return Drawn(dims, DataType::kInt64, [&] { return static_cast<double>(numbers(random_)); });
  }

  // Expects the results of the naive evaluator for all inputs, and new kernels only for the first.
  static void ExpectOneSetOfKernels(const std::string& graph, int opset,
                                    const std::vector<InputValues>& sizes) {
    const auto model = LoadModel("graph { " + graph + " }", opset);
    ASSERT_NE(model, nullptr);
    api::SessionOptions options;
    options.tier = api::Tier::kReady;
    const auto session = api::Session::Create(model, TestDevice(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    std::set<std::string> known;
    for (size_t s = 0; s < sizes.size(); ++s) {
      std::vector<api::KernelProfile> profile;
      const auto actual = (*session)->Run(sizes[s], nullptr, &profile);
      ASSERT_TRUE(actual.ok()) << s << ": " << actual.status();
      const auto expected = RunByDefinition(*model, sizes[s]);
      ASSERT_TRUE(expected.ok()) << s << ": " << expected.status();
      for (size_t o = 0; o < expected->size(); ++o) ExpectNear((*actual)[o], (*expected)[o], s);
      for (const api::KernelProfile& kernel : profile) {
        const bool is_new = known.insert(kernel.kernel).second;
        // The merge sort of GPUs has its sizes in the kernel text.
        EXPECT_TRUE(s == 0 || !is_new || TestDevice()->info().type != hal::DeviceType::kCpu)
            << "size " << s << " has a kernel of its own: " << kernel.description;
      }
    }
    EXPECT_FALSE(known.empty());
  }

 private:
  static HostTensor Drawn(const Dims& dims, DataType type, const std::function<double()>& draw) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(draw());
    return Values(dims, values, type);
  }

  static void ExpectNear(const HostTensor& actual, const HostTensor& expected, size_t size) {
    ASSERT_EQ(actual.shape(), expected.shape()) << "size " << size;
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      const double value = expected.GetDouble(i);
      ASSERT_NEAR(actual.GetDouble(i), value, 1e-5 * (1 + std::abs(value)))
          << "element " << i << " at size " << size;
    }
  }

  std::mt19937_64 random_{45};
};

std::string Graph(const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& fields, const std::string& declared) {
  return declared + Node("node", op, inputs, {"y"}, fields) + Output("y");
}

TEST_F(ReadySizes, OfScatterElements) {
  const std::string inputs =
      FloatInput("x", "N F") + ValueText("input", "i", kInt64, "E F") + FloatInput("u", "E F");
  for (const char* reduction : {"none", "add", "max"}) {
    std::vector<InputValues> sizes;
    for (const auto& [nodes, edges, features] :
         {Dims3{500, 900, 160}, Dims3{77, 33, 129}, Dims3{3, 2, 131}, Dims3{901, 1000, 144}}) {
      sizes.push_back({{"x", Floats({nodes, features})},
                       {"i", Positions({edges, features}, nodes)},
                       {"u", Floats({edges, features})}});
    }
    ExpectOneSetOfKernels(
        Graph("ScatterElements", {"x", "i", "u"},
              Attribute("reduction", std::string(reduction)) + Attribute("axis", int64_t{0}),
              inputs),
        18, sizes);
  }
}

TEST_F(ReadySizes, OfScatterElementsOfOneLine) {
  const std::string inputs =
      FloatInput("x", "N") + ValueText("input", "i", kInt64, "E") + FloatInput("u", "E");
  std::vector<InputValues> sizes;
  for (const auto& [nodes, edges] : {Dims2{500, 900}, Dims2{77, 33}, Dims2{1, 5}, Dims2{6, 1}}) {
    sizes.push_back(
        {{"x", Floats({nodes})}, {"i", Positions({edges}, nodes)}, {"u", Floats({edges})}});
  }
  ExpectOneSetOfKernels(
      Graph("ScatterElements", {"x", "i", "u"}, Attribute("reduction", std::string("add")), inputs),
      18, sizes);
}

TEST_F(ReadySizes, OfScatterNd) {
  const std::string inputs =
      FloatInput("x", "N F") + ValueText("input", "i", kInt64, "E 1") + FloatInput("u", "E F");
  std::vector<InputValues> sizes;
  for (const auto& [nodes, edges, features] :
       {Dims3{500, 900, 16}, Dims3{77, 33, 5}, Dims3{3, 2, 130}, Dims3{1, 7, 3}}) {
    sizes.push_back({{"x", Floats({nodes, features})},
                     {"i", Positions({edges, 1}, nodes)},
                     {"u", Floats({edges, features})}});
  }
  ExpectOneSetOfKernels(
      Graph("ScatterND", {"x", "i", "u"}, Attribute("reduction", std::string("add")), inputs), 18,
      sizes);
}

TEST_F(ReadySizes, OfGathers) {
  std::vector<InputValues> rows;
  std::vector<InputValues> elements;
  std::vector<InputValues> points;
  for (const auto& [size, taken, width] :
       {Dims3{500, 900, 16}, Dims3{77, 33, 5}, Dims3{2, 3, 130}, Dims3{90, 2, 33}}) {
    const HostTensor x = Floats({size, width});
    rows.push_back({{"x", x}, {"i", Positions({taken}, size)}});
    elements.push_back({{"x", x}, {"i", Positions({taken, width}, size)}});
    points.push_back({{"x", x}, {"i", Positions({taken, 1}, size)}});
  }
  const std::string x = FloatInput("x", "N F");
  const std::string axis = Attribute("axis", int64_t{0});
  ExpectOneSetOfKernels(Graph("Gather", {"x", "i"}, axis, x + ValueText("input", "i", kInt64, "E")),
                        13, rows);
  ExpectOneSetOfKernels(
      Graph("GatherElements", {"x", "i"}, axis, x + ValueText("input", "i", kInt64, "E F")), 13,
      elements);
  ExpectOneSetOfKernels(
      Graph("GatherND", {"x", "i"}, "", x + ValueText("input", "i", kInt64, "E 1")), 13, points);
}

TEST_F(ReadySizes, OfTopK) {
  const std::string graph =
      FloatInput("x", "N F") + " initializer { name: 'k' data_type: 7 dims: 1 int64_data: 5 } " +
      Node("node", "TopK", {"x", "k"}, {"y", "i"}) + Output("y") + Output("i");
  std::vector<InputValues> sizes;
  for (const auto& [lines, size] : {Dims2{200, 800}, Dims2{3, 41}, Dims2{7, 1001}, Dims2{2, 90}}) {
    sizes.push_back({{"x", Floats({lines, size})}});
  }
  ExpectOneSetOfKernels(graph, 13, sizes);
}

TEST_F(ReadySizes, OfCumSum) {
  std::vector<InputValues> sizes;
  for (const auto& [lines, size] : {Dims2{200, 80}, Dims2{3, 40}, Dims2{7, 1001}, Dims2{2, 5}}) {
    sizes.push_back({{"x", Floats({lines, size})}});
  }
  ExpectOneSetOfKernels(
      Graph("CumSum", {"x", "axis"}, "", FloatInput("x", "N F") + IntConstant("axis", 1)), 14,
      sizes);
}

TEST_F(ReadySizes, OfLinearResize) {
  const std::string scales =
      " initializer { name: 's' data_type: 1 dims: 4 float_data: 1 float_data: 1 "
      "float_data: 1.7 float_data: 0.6 } ";
  std::vector<InputValues> sizes;
  for (const auto& [height, width] : {Dims2{20, 33}, Dims2{11, 40}, Dims2{48, 96}, Dims2{5, 9}}) {
    sizes.push_back({{"x", Floats({1, 3, height, width})}});
  }
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    ExpectOneSetOfKernels(Graph("Resize", {"x", "", "s"}, Attribute("mode", std::string(mode)),
                                FloatInput("x", "1 3 H W") + scales),
                          13, sizes);
  }
}

TEST_F(ReadySizes, OfGridSample) {
  std::vector<InputValues> sizes;
  for (const auto& [height, width, points] :
       {Dims3{20, 33, 7}, Dims3{11, 40, 9}, Dims3{48, 96, 31}, Dims3{5, 9, 12}}) {
    sizes.push_back({{"x", Floats({2, 3, height, width})},
                     {"g", Floats({2, points, points + 3, 2}, -1.5, 1.5)}});
  }
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const int64_t align : {0, 1}) {
      ExpectOneSetOfKernels(
          Graph("GridSample", {"x", "g"},
                Attribute("padding_mode", std::string(padding)) + Attribute("align_corners", align),
                FloatInput("x", "2 3 H W") + FloatInput("g", "2 P Q 2")),
          16, sizes);
    }
  }
}

TEST_F(ReadySizes, OfRoiAlign) {
  std::vector<InputValues> sizes;
  for (const auto& [height, width, regions] :
       {Dims3{20, 33, 7}, Dims3{11, 40, 9}, Dims3{48, 96, 31}, Dims3{7, 9, 13}}) {
    std::vector<double> corners;
    std::vector<int64_t> images;
    for (int64_t r = 0; r < regions; ++r) {
      const double at = static_cast<double>(r % 5);
      corners.insert(corners.end(), {at, at / 2, at + 3.3, at / 2 + 4.7});
      images.push_back(r % 2);
    }
    sizes.push_back({{"x", Floats({2, 3, height, width})},
                     {"r", Values({regions, 4}, corners)},
                     {"b", Ints({regions}, images)}});
  }
  for (const char* mode : {"avg", "max"}) {
    ExpectOneSetOfKernels(
        Graph("RoiAlign", {"x", "r", "b"},
              Attribute("mode", std::string(mode)) + Attribute("output_height", int64_t{5}) +
                  Attribute("output_width", int64_t{4}) + Attribute("sampling_ratio", int64_t{2}),
              FloatInput("x", "2 3 H W") + FloatInput("r", "R 4") +
                  ValueText("input", "b", kInt64, "R")),
        16, sizes);
  }
}

}  // namespace
}  // namespace tartan::onnx::ready_sizes_test
