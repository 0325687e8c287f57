// SPDX-License-Identifier: Apache-2.0
// Refuses constraints that leave nothing of a contraction, for texts that people write. Gradients
// and imported models have contractions that may well be empty for some sizes.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/lang/binder.h"

namespace tartan::lang {

// InvalidArgument, with the place of the constraint, where some indices of a contraction are in the
// range of all tensors but none satisfies its constraints, and where the bound of a constraint is
// negative. Empty tensors are no error, and what Bind refuses anyway is none here.
absl::Status CheckConstraints(const Function& function, absl::Span<const TensorShape> shapes,
                              const BindOptions& options = {});

}  // namespace tartan::lang
