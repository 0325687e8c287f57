// SPDX-License-Identifier: Apache-2.0
// Lookup of the operators that Tartan imports: the rows of all families (families.h).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

// The newest row up to `opset`; null if there is none. An operator of ai.onnx that is newer than
// `opset` gets its first row.
const OperatorRow* FindOperator(absl::string_view domain, absl::string_view name, int64_t opset);

// Every since_version of an operator, ascending; empty for an unknown operator.
std::vector<int> OperatorVersions(absl::string_view domain, absl::string_view name);

// Every row of every family, for listings.
std::vector<const OperatorRow*> AllOperators();

// The CMake option that leaves the operators of `domain` out of this build; empty if none does.
absl::string_view OptionWithout(absl::string_view domain);

}  // namespace tartan::onnx
