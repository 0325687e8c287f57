// SPDX-License-Identifier: Apache-2.0
// Gradients against differences: what training takes for derivatives, beside how the outputs move
// when parameters do. All is computed in float64.
//
//   onnx::LoadOptions load;
//   load.parameters_as_inputs = true;
//   TARTAN_ASSIGN_OR_RETURN(const auto model, onnx::OnnxModel::Load("model.onnx", load));
//   TARTAN_ASSIGN_OR_RETURN(const GradCheckResult result,
//                           CheckModelGradients(*model, device, inputs, ParameterRules(), {}));
//   if (!result.passed()) …
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/tensor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/grad_check/checked_loss.h"
#include "frontend/train/grad_check/derivative_check.h"
#include "frontend/train/parameters.h"

namespace tartan::train {

struct GradCheckOptions {
  int64_t samples = 4;      // elements of each parameter; 0: all
  uint64_t seed = 0;        // of the loss, the elements and the directions
  double tolerance = 1e-5;  // relative
};

// An operation that is constant between its steps, or whose result is no float.
struct GradientEnd {
  std::string node;
  std::string op;  // of ONNX; empty where it is not known
};

struct ParameterCheck {
  std::string name;
  GradCheckStatus status = GradCheckStatus::kKink;
  double max_abs_error = 0;
  double max_rel_error = 0;  // of the greater of both, or of the gradient's root mean square
  double greatest = 0;       // derivative or quotient that was compared
  int64_t checked = 0;       // elements, and one random direction in which all elements move
  int64_t kinks = 0;         // of elements and directions where there is no derivative
  // How far the gradient as training computes it, in the parameter's own type, is from that in
  // float64: norm of the difference, relative to the gradient's.
  double training_error = 0;
  std::vector<GradientEnd> ends;  // of kNone: where the paths to the outputs end
};

struct GradCheckResult {
  std::vector<ParameterCheck> parameters;
  std::vector<std::string> fixed;  // parameters that decide shapes
  // None differs, and one is ok that the outputs depend on: zeros alone show nothing.
  bool passed() const;
  bool has(GradCheckStatus status) const;
};

// The gradients of `outputs` by `parameters`, where the loss is the sum of all elements times
// random numbers. Each parameter is checked at single elements, and in a random direction; those
// without a derivative are told with the applications at which it ends.
//
// InvalidArgument where no output is a float and where the loss is no finite number; Unimplemented
// where the device has no float64 and where api::Gradient says so.
absl::StatusOr<GradCheckResult> CheckGradients(const std::shared_ptr<api::Device>& device,
                                               absl::Span<const api::Tensor> outputs,
                                               absl::Span<const GivenTensor> parameters,
                                               absl::Span<const GivenTensor> inputs,
                                               const GradCheckOptions& options);

// The same for the parameters of a model that was loaded with parameters_as_inputs; those that
// `rules` freeze are constants. Outputs that are no tensors of floats take no part.
absl::StatusOr<GradCheckResult> CheckModelGradients(
    const onnx::OnnxModel& model, const std::shared_ptr<api::Device>& device,
    const std::map<std::string, api::HostValue>& inputs, const ParameterRules& rules,
    const GradCheckOptions& options);

// Where gradients of a model's float inputs end, for one whose parameters are integers.
absl::StatusOr<std::vector<GradientEnd>> FindInputEnds(
    const onnx::OnnxModel& model, const std::map<std::string, api::HostValue>& inputs);

}  // namespace tartan::train
