// SPDX-License-Identifier: Apache-2.0
// Fits a line to points by gradient descent. The loss is a Tile function; Tartan differentiates it
// and compiles loss and gradients for the default device.
//
//   build/examples/example_tile_function
#include <cstdio>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/invoker.h"
#include "tile/base/status_macros.h"

namespace {

using tartan::DataType;
using tartan::HostTensor;
using tartan::TensorShape;
namespace api = tartan::api;

// X, Y: float32[N], the points; Slope, Offset: float32 scalars. Loss: the mean squared error.
constexpr char kMeanSquaredError[] = R"(
function (X[N], Y[N], Slope, Offset) -> (Loss) {
  Error = Slope * X + Offset - Y;
  Squared = Error * Error;
  Sum[] = +(Squared[n]);
  Loss = Sum / N;
}
)";

HostTensor Scalar(float value) {
  return HostTensor::FromVector<float>({DataType::kFloat32, {}}, {value});
}

absl::Status FitLine() {
  TARTAN_ASSIGN_OR_RETURN(const auto device, api::Device::Open());
  TARTAN_ASSIGN_OR_RETURN(const api::Function loss, api::Function::FromTile(kMeanSquaredError));

  // Points of y = 3 x - 2.
  constexpr int64_t kPoints = 101;
  std::vector<float> x;
  std::vector<float> y;
  for (int64_t i = 0; i < kPoints; ++i) {
    x.push_back(-1 + 2 * static_cast<float>(i) / (kPoints - 1));
    y.push_back(3 * x.back() - 2);
  }
  const TensorShape points{DataType::kFloat32, {kPoints}};
  const TensorShape scalar{DataType::kFloat32, {}};

  // Lazy tensors: the loss, and its derivatives by the two parameters.
  const api::NamedShapes shapes = {
      {"X", points}, {"Y", points}, {"Slope", scalar}, {"Offset", scalar}};
  TARTAN_ASSIGN_OR_RETURN(const auto inputs, loss.Placeholders(shapes));
  TARTAN_ASSIGN_OR_RETURN(const auto results, loss.Apply(inputs));
  TARTAN_ASSIGN_OR_RETURN(const auto gradients, api::Gradient(results[0], {inputs[2], inputs[3]}));

  // One program computes all three.
  TARTAN_ASSIGN_OR_RETURN(
      const api::Invoker step,
      api::Invoker::Create(
          device, {{"x", inputs[0]}, {"y", inputs[1]}, {"slope", inputs[2]}, {"offset", inputs[3]}},
          {{"loss", results[0]}, {"d_slope", gradients[0]}, {"d_offset", gradients[1]}},
          "fit_line"));

  api::NamedTensors values = {{"x", HostTensor::FromVector(points, x)},
                              {"y", HostTensor::FromVector(points, y)}};
  float slope = 0;
  float offset = 0;
  for (int i = 0; i <= 100; ++i) {
    values["slope"] = Scalar(slope);
    values["offset"] = Scalar(offset);
    TARTAN_ASSIGN_OR_RETURN(const api::NamedTensors outputs, step.Run(values));
    if (i % 20 == 0) {
      std::printf("step %3d: loss %.6f, y = %.4f x %+.4f\n", i, outputs.at("loss").GetDouble(0),
                  slope, offset);
    }
    slope -= 0.5f * static_cast<float>(outputs.at("d_slope").GetDouble(0));
    offset -= 0.5f * static_cast<float>(outputs.at("d_offset").GetDouble(0));
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = FitLine();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
