// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al., 2006): the negative log-likelihood of label
// sequences over all their alignments with the frames. Internal to this folder.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// Scores [N, T, C], or [T, N, C] if the time axis is 0. `target` has class indices [N, S]; a row's
// labels end at the first blank or ignored class. With `loss.lengths` the target is [N, 1 + S], and
// a row begins with its number of frames. Each term is divided by the number of labels, as the
// mean of PyTorch. The loss is infinite (0 with zero_infinity) if a row has no alignment, an index
// out of range, or a number of frames out of range.
//
// The recursion over the frames is unrolled: a step per frame, each over the labels of all rows.
absl::StatusOr<LossTerms> CtcLoss(const Loss& loss, const api::Tensor& output,
                                  const api::Tensor& target);

}  // namespace tartan::train
