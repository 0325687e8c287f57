// SPDX-License-Identifier: Apache-2.0
// Refuses texts of users whose constraints leave nothing of a contraction.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// InvalidArgument, with the place of the text, where no index satisfies a constraint of the
// function applied to such inputs (tile/lang/binder.h). What Apply refuses is no error
// here.
absl::Status CheckConstraints(const Function& function, absl::Span<const Tensor> inputs);

}  // namespace tartan::api
