// SPDX-License-Identifier: Apache-2.0
// Texts that ranks exchange. All ranks call each function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/host_transport.h"

namespace tartan::distributed {

// Replaces the text by the text of rank 0.
absl::Status BroadcastText(HostTransport& transport, std::string* text);
// Returns the texts of all ranks.
absl::StatusOr<std::vector<std::string>> GatherTexts(HostTransport& transport, std::string text);
// InvalidArgument with the first fact that differs from rank 0's, and both values.
absl::Status CompareFacts(HostTransport& transport,
                          const std::map<std::string, std::string>& facts);

}  // namespace tartan::distributed
