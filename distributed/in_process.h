// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process. Plain and slow: the oracle of the tests, which needs no
// MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "distributed/host_transport.h"

namespace tartan::distributed {

// One transport per rank. A rank that ends without Finish leaves the others waiting until one of
// them calls Fail.
std::vector<std::unique_ptr<HostTransport>> InProcessRanks(int64_t ranks);

}  // namespace tartan::distributed
