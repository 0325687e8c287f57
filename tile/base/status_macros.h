// SPDX-License-Identifier: Apache-2.0
// Early return on a failed absl::Status or StatusOr.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TARTAN_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::absl::Status tartan_status_ = (expr);          \
    if (!tartan_status_.ok()) return tartan_status_; \
  } while (false)

#define TARTAN_CONCAT_INNER_(a, b) a##b
#define TARTAN_CONCAT_(a, b) TARTAN_CONCAT_INNER_(a, b)

// TARTAN_ASSIGN_OR_RETURN(auto x, F()); leaves the function when F() failed.
#define TARTAN_ASSIGN_OR_RETURN(lhs, expr) \
  TARTAN_ASSIGN_OR_RETURN_IMPL_(TARTAN_CONCAT_(tartan_status_or_, __LINE__), lhs, expr)

#define TARTAN_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return std::move(result).status();   \
  lhs = std::move(result).value()
