// SPDX-License-Identifier: Apache-2.0
// Which operators Tartan imports: the rows of all families (families/families.h).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

// The newest row up to `opset`, of ai.onnx else the first, used early; null when there is none.
const OperatorRow* FindOperator(absl::string_view domain, absl::string_view name, int64_t opset);

// Every since_version of an operator, ascending; empty for one we do not have.
std::vector<int> OperatorVersions(absl::string_view domain, absl::string_view name);

// Every row of every family, for listings.
std::vector<const OperatorRow*> AllOperators();

}  // namespace tartan::onnx
