// SPDX-License-Identifier: Apache-2.0
// Rejects user texts whose constraints leave a contraction no index point.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Returns InvalidArgument with the text position if no index satisfies a constraint of the function
// applied to such inputs (tile/lang/binder.h). Functions that Apply rejects are not errors here.
absl::Status CheckConstraints(const Function& function, absl::Span<const Tensor> inputs);

}  // namespace tartan::api
