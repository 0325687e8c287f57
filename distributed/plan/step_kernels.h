// SPDX-License-Identifier: Apache-2.0
// Makes a training profile from the timed kernels of a step.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "distributed/plan/forms.h"

namespace tartan::plan_cluster {

// A launch. `values` describes what it computes, as profiles do: "Fc1 float32[8, 64]; Relu1 …".
struct StepKernel {
  std::string name;
  std::string values;
  double seconds = 0;
  double flops = 0;
};

struct TrainedTensor {
  std::string name;
  std::vector<int64_t> dims;
  double bytes = 0;
};

// Fills the times, the gradients and the sizes of activations.
//
// - A kernel that stores a trained tensor ("NAME_K0"), or adjacent ones of a rank ("SpanI_K0"),
//   belongs to the update. If the name of this kernel has "_grad", it computes the gradient, too,
//   and belongs to the backward pass.
// - A kernel that stores the gradient of a tensor for other ranks ("NAME_sum") belongs to the
//   backward pass, and the gradient is ready after it.
// - Other kernels belong to the backward pass if their first value is a gradient, and else to the
//   forward pass.
// - A gradient is ready when the kernels of the backward pass up to its update have run. The
//   gradient of a tensor without such a kernel is ready at the end.
// - `step_s` is the measured time of a whole step. Time beyond the kernels is host time. Kernels
//   are timed one by one: if they take longer than the step, each is scaled.
// - Activations of tensor splits: every second matrix of a pass reduces its output. The number of
//   rows is that of the forward operations per matrix element.
//
// Other sizes stay 0.
TrainingProfile ProfileStep(absl::Span<const StepKernel> kernels,
                            absl::Span<const TrainedTensor> tensors, double step_s);

}  // namespace tartan::plan_cluster
