// SPDX-License-Identifier: Apache-2.0
// Runs a model with one input, float32[N, …], on zeros and prints its outputs.
//
//   run_model MODEL.onnx
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"
#include "tile/base/status_macros.h"

namespace {

using tartan::HostTensor;
using tartan::TensorShape;
namespace api = tartan::api;

absl::Status RunModel(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const auto model, tartan::onnx::OnnxModel::Load(path));
  TARTAN_ASSIGN_OR_RETURN(const auto device, api::Device::Open());
  TARTAN_ASSIGN_OR_RETURN(const auto session, api::Session::Create(model, device));

  const api::TensorSpec& input = model->inputs().front();
  TensorShape shape{input.type, input.dims};
  for (int64_t& dim : shape.dims) {
    if (dim < 0) dim = 1;  // not fixed by the model
  }
  TARTAN_ASSIGN_OR_RETURN(const auto outputs,
                          session->Run({{input.name, HostTensor::Zeros(shape)}}));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s: %s\n", model->outputs()[i].name.c_str(),
                outputs[i].shape().ToString().c_str());
    for (const double value : outputs[i].ToDoubles()) std::printf("  %.6f\n", value);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL.onnx\n");
    return 2;
  }
  const absl::Status status = RunModel(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
