// SPDX-License-Identifier: Apache-2.0
// Gradient check: compares the gradients that training uses with finite differences of the outputs,
// all in float64.
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
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

struct GradCheckOptions {
  int64_t samples = 4;      // elements checked per parameter; 0: all
  uint64_t seed = 0;        // seed of the loss, the elements and the directions
  double tolerance = 1e-5;  // relative
};

// An operation that is piecewise constant or has a non-float result, where gradients end.
struct GradientEnd {
  std::string node;
  std::string op;  // ONNX operator; empty if unknown
};

struct ParameterCheck {
  std::string name;
  GradCheckStatus status = GradCheckStatus::kKink;
  double max_abs_error = 0;
  double max_rel_error = 0;  // relative to the larger value, or to the gradient's root mean square
  double greatest = 0;       // maximum magnitude of the compared derivatives and quotients
  int64_t checked = 0;  // number of elements, plus one random direction in which all elements move
  int64_t kinks = 0;    // elements and directions without a derivative
  // Error of the gradient that training computes, in the parameter's own type, relative to float64:
  // norm of the difference divided by the gradient's norm.
  double training_error = 0;
  std::vector<GradientEnd> ends;  // kNone: the ends of the paths to the outputs
};

struct GradCheckResult {
  std::vector<ParameterCheck> parameters;
  std::vector<std::string> fixed;  // parameters that decide shapes
  // True if no parameter differs and one is ok that the outputs depend on; zero gradients alone
  // prove nothing.
  bool passed() const;
  bool has(GradCheckStatus status) const;
};

// Checks the gradients of `outputs` by `parameters`; the loss is the sum of all elements times
// random numbers. Each parameter is checked at single elements and in a random direction.
// Parameters without a derivative are reported with the applications where it ends.
//
// InvalidArgument if no output is a float or the loss is not finite. Unimplemented if the device
// has no float64, and where api::Gradient is.
absl::StatusOr<GradCheckResult> CheckGradients(const std::shared_ptr<api::Device>& device,
                                               absl::Span<const api::Tensor> outputs,
                                               absl::Span<const GivenTensor> parameters,
                                               absl::Span<const GivenTensor> inputs,
                                               const GradCheckOptions& options);

// The same for the parameters of a model loaded with parameters_as_inputs. Parameters that `rules`
// freeze are constants; outputs that are not float tensors are ignored.
absl::StatusOr<GradCheckResult> CheckModelGradients(
    const onnx::OnnxModel& model, const std::shared_ptr<api::Device>& device,
    const std::map<std::string, api::HostValue>& inputs, const ParameterRules& rules,
    const GradCheckOptions& options);

// Finds where the gradients of a model's float inputs end, for a model with integer parameters.
absl::StatusOr<std::vector<GradientEnd>> FindInputEnds(
    const onnx::OnnxModel& model, const std::map<std::string, api::HostValue>& inputs);

}  // namespace tartan::train
