// SPDX-License-Identifier: Apache-2.0
// Trains an ONNX model with a custom loss, written in Tile. Tartan differentiates the loss.
//
//   build/examples/example_train_model examples/digits/digits.onnx
#include <cstdio>
#include <random>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/trainer.h"
#include "tile/base/status_macros.h"

namespace {

using tartan::DataType;
using tartan::HostTensor;
namespace api = tartan::api;
namespace onnx = tartan::onnx;
namespace train = tartan::train;

// Squared hinge loss: the score of the right class should be above 1, all others below 0.
// Y: float32[N, C], scores. T: float32[N, C], 1 for the right class, otherwise 0. L: float32[N].
constexpr char kSquaredHinge[] = R"(
function (Y[N, C], T[N, C]) -> (L) {
  Miss = T * max(1 - Y, 0) + (1 - T) * max(Y, 0);
  Squared = Miss * Miss;
  L[n : N] = +(Squared[n, c]);
}
)";

constexpr int64_t kBatch = 50;
constexpr int64_t kPixels = 28 * 28;

// Draws pictures with one bright row each; the position of the row is the class.
void Draw(std::mt19937* random, std::vector<float>* x, std::vector<float>* t) {
  x->assign(kBatch * kPixels, 0);
  t->assign(kBatch * 10, 0);
  for (int64_t n = 0; n < kBatch; ++n) {
    const int64_t label = (*random)() % 10;
    for (int64_t column = 0; column < 28; ++column) {
      (*x)[n * kPixels + 28 * (2 * label + 4) + column] = 1;
    }
    (*t)[n * 10 + label] = 1;
  }
}

absl::Status Train(const char* path) {
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model, onnx::OnnxModel::Load(path, load));
  TARTAN_ASSIGN_OR_RETURN(const auto device, api::Device::Open());

  train::TrainerOptions options;
  options.initialize = true;
  options.output = "logits";
  options.loss.kind = train::LossKind::kFunction;
  TARTAN_ASSIGN_OR_RETURN(options.loss.function, api::Function::FromTile(kSquaredHinge));
  TARTAN_ASSIGN_OR_RETURN(const auto trainer, train::Trainer::Create(model, device, options));

  std::mt19937 random(1);
  std::vector<float> x;
  std::vector<float> t;
  for (int step = 1; step <= 60; ++step) {
    Draw(&random, &x, &t);
    const auto images = HostTensor::FromVector({DataType::kFloat32, {kBatch, 1, 28, 28}}, x);
    const auto targets = HostTensor::FromVector({DataType::kFloat32, {kBatch, 10}}, t);
    TARTAN_RETURN_IF_ERROR(trainer->Step({{"x", images}}, targets, /*rate=*/2e-3));
    if (step % 20 != 0) continue;
    TARTAN_ASSIGN_OR_RETURN(const train::Progress progress, trainer->Read());
    std::printf("step %d: loss %.4f\n", step, progress.loss);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    return 2;
  }
  const absl::Status status = Train(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
